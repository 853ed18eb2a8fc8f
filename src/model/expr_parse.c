/* Formulas: a grammar of five levels, read from left to right by one function a level.
 *
 *   outputs    = comparison { ";" comparison }
 *   comparison = sum [ ("<" | ">" | "<=" | ">=") sum ]        1 where it holds, else 0
 *   sum        = product { ("+" | "-") product }
 *   product    = signed { ("*" | "/") signed }
 *   signed     = { "+" | "-" } power
 *   power      = atom [ "^" signed ]                          -2^2 = -4, 2^3^2 = 2^9
 *   atom       = number | z ROW [ "_" TOKEN ] | FUNCTION "(" comparison [ "," comparison ] ")" | "("
 * comparison ")"
 *
 * Nothing is evaluated but constants.  Every loop consumes a character and every recursion is counted, so
 * that what is read is bounded by the length of the text. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "model/expr.h"

typedef struct {
    stair_context *context;
    const char *text, *at;
    int nesting;
    stair_status status;
    stair_program *program;
} reader;

static const struct {
    const char *name;
    stair_op op;
    int arguments;
} functions[] = {{"sign", STAIR_OP_SIGN, 1}, {"abs", STAIR_OP_ABS, 1}, {"sqrt", STAIR_OP_SQRT, 1},
                 {"exp", STAIR_OP_EXP, 1},   {"log", STAIR_OP_LOG, 1}, {"tanh", STAIR_OP_TANH, 1},
                 {"erf", STAIR_OP_ERF, 1},   {"sin", STAIR_OP_SIN, 1}, {"cos", STAIR_OP_COS, 1},
                 {"relu", STAIR_OP_RELU, 1}, {"min", STAIR_OP_MIN, 2}, {"max", STAIR_OP_MAX, 2}};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

#define WORD 16 /* bytes of the longest name that is looked for */

/* The first failure stays; what follows it only unwinds. */
static int fail_at(reader *r, const char *at, const char *what)
{
    if (r->status == STAIR_OK)
        r->status =
            stair_fail(r->context, STAIR_BAD_INPUT, "formula, column %d: %s", (int)(at - r->text) + 1, what);
    return -1;
}

static int checked(reader *r, const char *at, int step)
{
    char what[80];
    snprintf(what, sizeof what, "more than %d steps", STAIR_MOST_NODES);
    return step < 0 ? fail_at(r, at, what) : step;
}

static void skip_space(reader *r)
{
    while (*r->at == ' ' || *r->at == '\t') r->at++;
}

static bool take(reader *r, char c)
{
    skip_space(r);
    if (*r->at != c) return false;
    r->at++;
    return true;
}

static int comparison(reader *r);
static int signed_power(reader *r);

/* Digits only: strtod would read names such as infinity, and hexadecimal. */
static int number(reader *r)
{
    const char *start = r->at;
    char *end, what[80];
    if (*start == '0' && (start[1] == 'x' || start[1] == 'X'))
        return fail_at(r, start, "numbers are decimal");
    double value = strtod(start, &end);
    r->at = end;
    if (end == start) return fail_at(r, start, "a digit is missing after '.'");
    if (!(fabs(value) <= STAIR_LARGEST_CONSTANT)) {
        snprintf(what, sizeof what, "numbers go up to %g", STAIR_LARGEST_CONSTANT);
        return fail_at(r, start, what);
    }
    if (isalpha((unsigned char)*end) || *end == '_' || *end == '.')
        return fail_at(r, end, "an operator is missing after the number");
    return checked(r, start, stair_program_constant(r->program, value));
}

/* A natural number from 1 on, or -1. */
static int counted(const char **at, int most)
{
    int value = 0;
    if (!isdigit((unsigned char)**at) || **at == '0') return -1;
    for (; isdigit((unsigned char)**at); (*at)++) {
        value = 10 * value + (**at - '0');
        if (value > most) return -1;
    }
    return value;
}

static int variable(reader *r)
{
    const char *start = r->at++;
    char what[120];
    int row = counted(&r->at, STAIR_MAX_INDICES), token = 0;
    if (row < 0) {
        snprintf(what, sizeof what, "z needs the number of an index, z1 to z%d", STAIR_MAX_INDICES);
        return fail_at(r, start, what);
    }
    if (*r->at == '_') {
        r->at++;
        token = counted(&r->at, STAIR_MAX_TOKENS);
        if (token < 0) {
            snprintf(what, sizeof what, "'_' needs the number of a token, 1 to %d", STAIR_MAX_TOKENS);
            return fail_at(r, start, what);
        }
    }
    if (isalnum((unsigned char)*r->at) || *r->at == '_' || *r->at == '.')
        return fail_at(r, r->at, "an operator is missing after the variable");
    stair_program *p = r->program;
    if (row > p->rows) p->rows = row;
    if (token > p->tokens) p->tokens = token;
    int step = stair_program_cell(p, row - 1, token ? token - 1 : 0);
    snprintf(what, sizeof what, "more than %d different numbers of Z", STAIR_FORMULA_CELLS);
    return step < 0 ? fail_at(r, start, what) : step;
}

/* What other languages write, and what stands for it here. */
static const struct {
    const char *word, *here;
} foreign[] = {{"ln", "log"},       {"pow", "a^b"},          {"fabs", "abs"},       {"heaviside", "(0 < a)"},
               {"step", "(0 < a)"}, {"pi", "3.14159265359"}, {"e", "2.71828182846"}};
enum { FOREIGN = sizeof foreign / sizeof *foreign };

static const char *written_here(const char *word)
{
    if (strchr("xXZ", word[0]) && (isdigit((unsigned char)word[1]) || !word[1])) return "z1, z2 ...";
    for (int k = 0; k < FOREIGN; k++)
        if (!strcmp(foreign[k].word, word)) return foreign[k].here;
    return NULL;
}

static int unknown_word(reader *r, const char *start, const char *word, size_t length)
{
    const char *names[FUNCTIONS + 1], *here = written_here(word);
    char what[200];
    for (int k = 0; k < FUNCTIONS; k++) names[k] = functions[k].name;
    names[FUNCTIONS] = NULL;
    const char *close = stair_closest(word, names);
    size_t used =
        (size_t)snprintf(what, sizeof what, "unknown name '%s%s'", word, length >= WORD ? "..." : "");
    if (here)
        snprintf(what + used, sizeof what - used, "; write %s", here);
    else if (close)
        snprintf(what + used, sizeof what - used, ", did you mean '%s'?", close);
    else {
        used += (size_t)snprintf(what + used, sizeof what - used, "; known are z1, z2 ...");
        for (int k = 0; k < FUNCTIONS; k++)
            used += (size_t)snprintf(what + used, sizeof what - used, " %s", functions[k].name);
    }
    return fail_at(r, start, what);
}

/* Where an operator or the end should be. */
static int no_operator(reader *r)
{
    char what[80], c = *r->at;
    if (c == ')') return fail_at(r, r->at, "this ')' closes nothing");
    if (c == ',') return fail_at(r, r->at, "',' stands only between the numbers of min and max");
    if (!ispunct((unsigned char)c) || c == '(' || c == '.' || c == '_')
        return fail_at(r, r->at, "an operator is missing before this");
    snprintf(what, sizeof what, "'%c' is no operator; + - * / ^ < > <= >= are", c);
    return fail_at(r, r->at, what);
}

static int call(reader *r)
{
    const char *start = r->at;
    char word[WORD], what[80];
    size_t length = 0;
    int k = 0, argument[2] = {-1, -1};
    for (; isalnum((unsigned char)r->at[length]) || r->at[length] == '_'; length++)
        if (length + 1 < sizeof word) word[length] = r->at[length];
    word[length < sizeof word - 1 ? length : sizeof word - 1] = 0;
    r->at += length;
    while (k < FUNCTIONS && (strlen(functions[k].name) != length || strcmp(functions[k].name, word))) k++;
    if (k == FUNCTIONS) return unknown_word(r, start, word, length);
    if (!take(r, '(')) {
        snprintf(what, sizeof what, "'(' is missing after %s", functions[k].name);
        return fail_at(r, r->at, what);
    }
    for (int i = 0; i < functions[k].arguments; i++) {
        snprintf(what, sizeof what, "%s takes two numbers, with ',' between", functions[k].name);
        if (i && !take(r, ','))
            return *r->at && *r->at != ')' && *r->at != ';' ? no_operator(r) : fail_at(r, r->at, what);
        if ((argument[i] = comparison(r)) < 0) return -1;
    }
    if (!take(r, ')')) {
        if (*r->at && *r->at != ',' && *r->at != ';') return no_operator(r);
        snprintf(what, sizeof what, *r->at == ',' ? "%s takes %s" : "')' of %s is missing%.0s",
                 functions[k].name, functions[k].arguments == 1 ? "one number" : "two numbers");
        return fail_at(r, r->at, what);
    }
    return checked(r, start, stair_program_add(r->program, functions[k].op, argument[0], argument[1]));
}

static int atom(reader *r)
{
    skip_space(r);
    char c = *r->at;
    const char *start = r->at;
    if (isdigit((unsigned char)c) || c == '.') return number(r);
    if (c == 'z' && (isdigit((unsigned char)r->at[1]) || !isalpha((unsigned char)r->at[1])))
        return variable(r);
    if (isalpha((unsigned char)c)) return call(r);
    if (take(r, '(')) {
        int inner = comparison(r);
        if (inner < 0) return -1;
        if (take(r, ')')) return inner;
        return *r->at && *r->at != ';' ? no_operator(r) : fail_at(r, start, "this '(' is not closed");
    }
    if (!c) return fail_at(r, start, "the formula ends where a number, z1 or '(' should be");
    if (c == '|') return fail_at(r, start, "|z1| is written abs(z1)");
    return fail_at(r, start, "a number, z1 or '(' should be here");
}

/* Whole constants are powers; other constants are powers of what is not negative; what is no constant is
 * exp(b log a). */
static int raised(reader *r, const char *start, int base, int exponent)
{
    stair_program *p = r->program;
    const stair_step_of *e = &p->step[exponent];
    char what[80];
    if (e->op == STAIR_OP_CONST) {
        snprintf(what, sizeof what, "exponents go from -%d to %d", STAIR_MOST_POWER, STAIR_MOST_POWER);
        if (!(fabs(e->value) <= STAIR_MOST_POWER)) return fail_at(r, start, what);
        return checked(r, start, stair_program_power(p, base, e->value));
    }
    int step = stair_program_add(p, STAIR_OP_LOG, base, -1);
    if (step >= 0) step = stair_program_add(p, STAIR_OP_MUL, exponent, step);
    if (step >= 0) step = stair_program_add(p, STAIR_OP_EXP, step, -1);
    return checked(r, start, step);
}

static int power(reader *r)
{
    int base = atom(r);
    if (base < 0) return -1;
    if (take(r, '*')) { /* 2**3 is not 2*(*3) */
        if (*r->at == '*') return fail_at(r, r->at - 1, "powers are written with '^'");
        r->at--;
        return base;
    }
    if (!take(r, '^')) return base;
    const char *start = r->at;
    int exponent = signed_power(r);
    return exponent < 0 ? -1 : raised(r, start, base, exponent);
}

static int signed_power(reader *r)
{
    char what[80];
    if (++r->nesting > STAIR_MOST_NESTING) {
        snprintf(what, sizeof what, "nested more than %d deep", STAIR_MOST_NESTING);
        return fail_at(r, r->at, what);
    }
    skip_space(r);
    const char *start = r->at;
    int result;
    if (take(r, '-')) {
        int inner = signed_power(r);
        result = inner < 0 ? -1 : checked(r, start, stair_program_add(r->program, STAIR_OP_NEG, inner, -1));
    } else if (take(r, '+'))
        result = signed_power(r);
    else
        result = power(r);
    r->nesting--;
    return result;
}

static int product(reader *r)
{
    int left = signed_power(r);
    while (left >= 0) {
        const char *start = r->at;
        stair_op op = take(r, '*') ? STAIR_OP_MUL : take(r, '/') ? STAIR_OP_DIV : STAIR_OP_CONST;
        if (op == STAIR_OP_CONST) break;
        int right = signed_power(r);
        left = right < 0 ? -1 : checked(r, start, stair_program_add(r->program, op, left, right));
    }
    return left;
}

static int sum(reader *r)
{
    int left = product(r);
    while (left >= 0) {
        const char *start = r->at;
        stair_op op = take(r, '+') ? STAIR_OP_ADD : take(r, '-') ? STAIR_OP_SUB : STAIR_OP_CONST;
        if (op == STAIR_OP_CONST) break;
        int right = product(r);
        left = right < 0 ? -1 : checked(r, start, stair_program_add(r->program, op, left, right));
    }
    return left;
}

/* a <= b and a < b differ on a set that no sample hits, but in whole numbers: 1 - (b < a). */
static int comparison(reader *r)
{
    int left = sum(r);
    if (left < 0) return -1;
    skip_space(r);
    const char *start = r->at;
    if (*start == '=' || (*start == '!' && start[1] == '='))
        return fail_at(r, start, "numbers are compared by '<' and '>' only, not for being equal");
    bool less = take(r, '<'), more = !less && take(r, '>');
    if (!less && !more) return left;
    bool equal = *r->at == '=';
    r->at += equal;
    int right = sum(r);
    if (right < 0) return -1;
    skip_space(r);
    if (*r->at == '<' || *r->at == '>')
        return fail_at(r, r->at, "comparisons do not chain: multiply (a < b) * (b < c)");
    bool swapped = more != equal;
    int step =
        checked(r, start,
                stair_program_add(r->program, STAIR_OP_LESS, swapped ? right : left, swapped ? left : right));
    if (step < 0 || !equal) return step;
    int one = checked(r, start, stair_program_constant(r->program, 1));
    return one < 0 ? -1 : checked(r, start, stair_program_add(r->program, STAIR_OP_SUB, one, step));
}

static void outputs(reader *r)
{
    char what[80];
    stair_program *p = r->program;
    do {
        skip_space(r);
        const char *start = r->at;
        snprintf(what, sizeof what, "more than %d outputs", STAIR_MOST_OUTPUTS);
        if (p->outputs == STAIR_MOST_OUTPUTS) {
            fail_at(r, start, what);
            return;
        }
        int step = comparison(r);
        if (step < 0) return;
        skip_space(r);
        if (*r->at && *r->at != ';') {
            no_operator(r);
            return;
        }
        if (!p->step[step].needs) {
            fail_at(r, start, "this output is a constant and tells nothing of Z");
            return;
        }
        p->output[p->outputs++] = step;
    } while (take(r, ';'));
}

stair_status stair_program_parse(stair_context *context, const char *text, stair_program *program)
{
    reader r = {.context = context, .text = text, .at = text, .program = program};
    memset(program, 0, sizeof *program);
    outputs(&r);
    return r.status;
}
