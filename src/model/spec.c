/* MODEL strings and the public face of models.
 *
 *   name:key=value,key=value          every key at most once, unknown ones refused with a suggestion
 *   name:VALUE,key=value              where the model says that its first key is positional
 *
 * Commas inside parentheses do not separate.  The keys tokens, noise and prenoise mean the same in every
 * model that takes them and are read here.  The registry and each model's key table drive everything; nothing
 * here knows a model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "model/keys.h"
#include "model/model.h"

static const stair_model_ops *find_model(stair_context *context, const char *name)
{
    const char *names[STAIR_MOST_MODELS + 1];
    int count = 0;
    for (; stair_model_registry[count]; count++) {
        names[count] = stair_model_registry[count]->name;
        if (!strcmp(name, names[count])) return stair_model_registry[count];
    }
    names[count] = NULL;
    const char *close = stair_closest(name, names);
    stair_fail(context, STAIR_BAD_INPUT, "unknown model '%.40s'%s%s%s; 'stair models' lists them", name,
               close ? ", did you mean '" : "", close ? close : "", close ? "'?" : "");
    return NULL;
}

/* The keys of one model on their way from text to values. */
typedef struct {
    const stair_model_ops *ops;
    const char *values[STAIR_MOST_KEYS]; /* NULL: not given yet */
} key_reader;

static stair_status set_value(stair_context *context, key_reader *r, int key, const char *value)
{
    const char *name = r->ops->keys[key].key;
    if (r->values[key])
        return stair_fail(context, STAIR_BAD_INPUT, "model '%s': key '%s' given twice", r->ops->name, name);
    if (strlen(value) >= STAIR_MOST_VALUE && !(r->ops->positional && key == 0))
        return stair_fail(context, STAIR_BAD_INPUT, "model '%s': value of '%s' is too long", r->ops->name,
                          name);
    r->values[key] = value;
    return STAIR_OK;
}

/* Position of the key that is the first `length` bytes of text, or -1. */
static int find_key(const stair_model_ops *ops, const char *text, size_t length)
{
    for (int k = 0; ops->keys[k].key; k++)
        if (strlen(ops->keys[k].key) == length && !strncmp(ops->keys[k].key, text, length)) return k;
    return -1;
}

static stair_status unknown_key(stair_context *context, const stair_model_ops *ops, const char *word)
{
    const char *names[STAIR_MOST_KEYS + 1];
    int count = 0;
    for (; ops->keys[count].key; count++) names[count] = ops->keys[count].key;
    names[count] = NULL;
    const char *close = stair_closest(word, names);
    return stair_fail(context, STAIR_BAD_INPUT,
                      "model '%s' has no key '%.40s'%s%s%s; 'stair models %s' lists them", ops->name, word,
                      close ? ", did you mean '" : "", close ? close : "", close ? "'?" : "", ops->name);
}

/* key=value; or, first and where the model has it so, the value of the first key alone. */
static stair_status read_item(stair_context *context, key_reader *r, bool first, char *item)
{
    char *equals = strchr(item, '=');
    int key = equals ? find_key(r->ops, item, (size_t)(equals - item)) : -1;
    if (first && r->ops->positional && !*item) return STAIR_OK; /* read_items() says what is missing */
    if (first && r->ops->positional && key < 0) return set_value(context, r, 0, item);
    if (!equals || equals == item || !equals[1])
        return stair_fail(context, STAIR_BAD_INPUT, "model '%s': '%.40s' is not key=value", r->ops->name,
                          item);
    *equals = 0;
    if (key < 0) return unknown_key(context, r->ops, item);
    return set_value(context, r, key, equals + 1);
}

/* The comma that ends an item, outside all parentheses, or NULL. */
static char *item_end(char *item)
{
    int depth = 0;
    for (; *item; item++) {
        depth += (*item == '(') - (*item == ')');
        if (*item == ',' && depth <= 0) return item;
    }
    return NULL;
}

static stair_status read_items(stair_context *context, key_reader *r, char *items)
{
    for (bool first = true; items; first = false) {
        char *comma = item_end(items);
        if (comma) *comma++ = 0;
        STAIR_TRY(read_item(context, r, first, items));
        items = comma;
    }
    for (int k = 0; r->ops->keys[k].key; k++)
        if (!r->values[k]) r->values[k] = r->ops->keys[k].value;
    if (r->ops->positional && !r->values[0])
        return stair_fail(context, STAIR_BAD_INPUT, "model '%s' needs its %s: %s:%s", r->ops->name,
                          r->ops->keys[0].key, r->ops->name, r->ops->keys[0].text);
    return STAIR_OK;
}

static char *canonical_spec(const key_reader *r)
{
    const stair_model_key *keys = r->ops->keys;
    size_t size = strlen(r->ops->name) + 2, used;
    for (int i = 0; keys[i].key; i++) size += strlen(keys[i].key) + strlen(r->values[i]) + 2;
    char *spec = malloc(size);
    if (!spec) return NULL;
    used = (size_t)snprintf(spec, size, "%s", r->ops->name);
    for (int i = 0; keys[i].key; i++) {
        bool bare = i == 0 && r->ops->positional;
        used += (size_t)snprintf(spec + used, size - used, "%c%s%s%s", i ? ',' : ':', bare ? "" : keys[i].key,
                                 bare ? "" : "=", r->values[i]);
    }
    return spec;
}

/* The keys that mean the same in every model; without them one token and no noise. */
static stair_status read_common(stair_context *context, const key_reader *r, stair_model_info *info)
{
    info->tokens = 1;
    for (int k = 0; r->ops->keys[k].key; k++) {
        const char *key = r->ops->keys[k].key, *value = r->values[k];
        if (!strcmp(key, STAIR_NAME_TOKENS))
            STAIR_TRY(stair_key_integer(context, key, value, 1, STAIR_MAX_TOKENS, &info->tokens));
        else if (!strcmp(key, STAIR_NAME_NOISE))
            STAIR_TRY(stair_key_real(context, key, value, 0, 1e6, &info->noise));
        else if (!strcmp(key, STAIR_NAME_PRENOISE))
            STAIR_TRY(stair_key_real(context, key, value, 0, 1e6, &info->prenoise));
    }
    info->output_noisy = info->noise > 0;
    return STAIR_OK;
}

/* Rows as they usually are. */
static void usual_rows(stair_model *model)
{
    model->blocks = 1;
    for (int i = 0; i < STAIR_MAX_INDICES; i++) {
        model->order[i] = i;
        model->layer[i] = -1;
    }
}

/* Layers of rows that create() said nothing of. */
static void name_layers(stair_model *model)
{
    int row = 0;
    for (int l = 0; l < model->info.layers; l++)
        for (int k = 0; k < model->ranks[l] && row < model->info.indices; k++, row++)
            if (model->layer[row] < 0) model->layer[row] = l;
    for (int i = 0; i < model->info.indices; i++)
        if (model->layer[i] >= model->info.row_layers) model->info.row_layers = model->layer[i] + 1;
    model->info.blocks = model->blocks;
}

static stair_status fill_model(stair_context *context, const key_reader *r, stair_model *model)
{
    model->ops = r->ops;
    model->info.name = r->ops->name;
    model->info.ranks = model->ranks;
    model->spec = canonical_spec(r);
    model->known = calloc(1, sizeof *model->known);
    if (!model->spec || !model->known) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    usual_rows(model);
    STAIR_TRY(read_common(context, r, &model->info));
    STAIR_TRY(r->ops->create(context, model, r->values));
    name_layers(model);
    return STAIR_OK;
}

stair_status stair_model_make(stair_context *context, const stair_model_ops *ops, const char *items,
                              stair_model **model)
{
    char text[STAIR_MOST_SPEC] = "";
    key_reader reader = {.ops = ops};
    *model = NULL;
    if (items && strlen(items) >= sizeof text)
        return stair_fail(context, STAIR_BAD_INPUT, "model string longer than %d characters",
                          STAIR_MOST_SPEC - 1);
    if (items) strcpy(text, items);
    STAIR_TRY(read_items(context, &reader, items ? text : NULL));
    stair_model *made = calloc(1, sizeof *made);
    if (!made) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    stair_status status = fill_model(context, &reader, made);
    if (status != STAIR_OK) {
        stair_model_destroy(&made);
        return status;
    }
    *model = made;
    return STAIR_OK;
}

stair_status stair_model_create(stair_context *context, const char *spec, stair_model **model)
{
    char name[STAIR_MOST_SPEC];
    *model = NULL;
    if (strlen(spec) >= sizeof name)
        return stair_fail(context, STAIR_BAD_INPUT, "model string longer than %d characters",
                          STAIR_MOST_SPEC - 1);
    strcpy(name, spec);
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            return stair_fail(context, STAIR_BAD_INPUT, "the model string has a control character, byte %d",
                              (int)(c - name) + 1);
    char *colon = strchr(name, ':');
    if (colon) *colon = 0;
    const stair_model_ops *ops = find_model(context, name);
    if (!ops) return STAIR_BAD_INPUT;
    return stair_model_make(context, ops, colon ? spec + (colon - name) + 1 : NULL, model);
}
