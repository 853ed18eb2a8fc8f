/* Runs a fuzz target without libFuzzer: the inputs that are kept for it, then seeds and a fixed stream of
 * mutations of them.  The same inputs on every machine, so a failure can be repeated.
 *
 *   smoke_NAME [corpus/NAME.txt]          runs
 *   smoke_NAME corpus/NAME.txt FOLDER     writes each kept input to a file, for libFuzzer to begin with
 *
 * A line of the corpus is an input: \\ and \n as in C, \xHH for what is no printable letter. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef ROUNDS /* fewer where an input takes long */
#define ROUNDS 1500
#endif
#define LARGEST 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* has zero bytes within */
static const char numpy[] =
    "\x93NUMPY\x01\x00\x46\x00{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }            "
    "\n0123456701234567";
static const char *const seeds[] = {
    numpy,
    "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2, 2), }",
    "{'descr': '>i2', 'fortran_order': True, 'shape': (0,), }",
    "attention:layers=2,tokens=2,rank=1,skip=1",
    "attention:layers=3,rank=1+2+1,skip=-0.5,activation=linear,mixing=literal",
    "attention:layers=2,noise=0.1,prenoise=1e-3",
    "expr:min(z1,2*z2^3)-sign(z1*z3)/abs(z2),noise=0.1",
    "z1^2+sign(z1*z2*z3);tanh(z1_2)*exp(-z2)+(z1<=0.5)",
    "relu(sin(z1)-cos(z2))^2.5+log(1+z1^2)-sqrt(erf(z2)+2)",
    "1,2,3e-1",
    "0:10:0.5",
    "NUM:date When ?\nHUM:ind Who is \xC3\xA9\xE4\xB8\xAD ?\n",
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n##b\n",
    "{\"command\": \"evolve\", \"options\": {\"alpha\": [0.1, 0.2]}, \"results\": [{\"alpha\": 0.1, "
    "\"start\": \"a\", "
    "\"Q\": [[1.0, 0.5], [0.5, 2.0]], \"learns\": [1, 2], \"history\": [{\"iteration\": 1, \"M\": "
    "[[1.0]]}]}, "
    "{\"alpha\": 0.2, \"start\": \"b\", \"Q\": [[1.0]], \"errors\": {\"bayes\": 1e-3, \"bayes_error\": "
    "null}}]}",
    "\x05"
    "attention:layers=2\n--alpha\n0.1,0.2\n--set\nskip=0.5:2:0.5\n--precision\n1e-3\n--json",
    "\x03"
    "attention\n--set\nlayers=1,2\n--steps\n2",
    "skip,kind,alpha,error,learns\n1,weak,0.2,1e-3,2\n1,perfect,1.0,nan,1 2\n",
};

static uint64_t next(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static size_t mutate(uint8_t *data, size_t size, uint64_t *state)
{
    static const char alphabet[] = "0123456789,:=+-.'(){} <>|fiuO\nz^*/;_";
    for (uint64_t changes = 1 + next(state) % 4; changes > 0; changes--) {
        size_t at = size ? next(state) % size : 0;
        switch (next(state) % 5) {
        case 0:
            data[at] = (uint8_t)next(state);
            break;
        case 1:
            data[at] = (uint8_t)alphabet[next(state) % (sizeof alphabet - 1)];
            break;
        case 2:
            size = at;
            break;
        case 3:
            if (size) memmove(data + at, data + at + 1, --size - at);
            break;
        default:
            if (size + 1 > LARGEST) break;
            memmove(data + at + 1, data + at, size - at);
            data[at] = (uint8_t)alphabet[next(state) % (sizeof alphabet - 1)];
            size++;
        }
    }
    return size;
}

/* Runs an input from memory of just its size, so that a sanitizer sees one byte too many. */
static bool run(const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size ? size : 1);
    if (!exact) return false;
    memcpy(exact, data, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    return true;
}

static bool keep(const char *folder, int number, const uint8_t *data, size_t size)
{
    char name[4096];
    snprintf(name, sizeof name, "%s/%04d", folder, number);
    FILE *file = fopen(name, "wb");
    bool written = file && fwrite(data, 1, size, file) == size;
    return file && fclose(file) == 0 && written;
}

/* Reads a line in place; what is no escape stays as it is. */
static size_t plain(char *line)
{
    char *to = line;
    for (const char *at = line; *at && *at != '\n'; to++) {
        unsigned byte;
        if (at[0] == '\\' && at[1] == 'x' && sscanf(at + 2, "%2x", &byte) == 1) {
            *to = (char)byte;
            at += 4;
        } else if (at[0] == '\\' && (at[1] == 'n' || at[1] == '\\')) {
            *to = at[1] == 'n' ? '\n' : '\\';
            at += 2;
        } else
            *to = *at++;
    }
    return (size_t)(to - line);
}

/* Number of inputs, or -1. */
static int run_kept(const char *path, const char *folder)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    int count = 0;
    for (bool good = file; good && getline(&line, &room, file) > 0; count++) {
        size_t size = plain(line);
        good = folder ? keep(folder, count, (uint8_t *)line, size) : run((uint8_t *)line, size);
        if (!good) count = -2;
    }
    free(line);
    if (!file || fclose(file)) count = -1;
    return count;
}

static int run_stream(void)
{
    uint64_t state = 1;
    uint8_t data[LARGEST + 1];
    int runs = 0;
    for (size_t s = 0; s < sizeof seeds / sizeof *seeds; s++)
        for (int i = 0; i < ROUNDS; i++, runs++) {
            size_t size = s ? strlen(seeds[s]) : sizeof numpy - 1;
            memcpy(data, seeds[s], size);
            if (i) size = mutate(data, size, &state);
            if (!run(data, size)) return -1;
        }
    return runs;
}

int main(int argc, char **argv)
{
    int kept = argc > 1 ? run_kept(argv[1], argc > 2 ? argv[2] : NULL) : 0;
    int runs = argc > 2 ? 0 : run_stream();
    if (kept < 0 || runs < 0) {
        fprintf(stderr, "%s: the inputs could not be read or written\n", argc > 1 ? argv[1] : argv[0]);
        return 1;
    }
    printf("%d inputs that are kept, %d others\n", kept, runs);
    return 0;
}
