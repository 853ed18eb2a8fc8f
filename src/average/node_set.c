/* A hash table with linear probing beside the list; at most half full. */
#include "average/node_set.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 4096 /* doubled when half of them are taken */

static size_t hash(const stair_node *n)
{
    uint64_t x = (uint64_t)(uint32_t)n->group * 0x9E3779B97F4A7C15u ^
                 (uint64_t)(uint32_t)n->i * 0xC2B2AE3D27D4EB4Fu ^
                 (uint64_t)(uint32_t)n->j * 0x165667B19E3779F9u;
    return (size_t)(x ^ x >> 29);
}

/* The slot of a node, or the free one where it belongs. */
static size_t *find(const stair_node_set *set, const stair_node *node)
{
    for (size_t at = hash(node) & (set->slot_count - 1);; at = (at + 1) & (set->slot_count - 1)) {
        const stair_node *other = set->slots[at] ? &set->list[set->slots[at] - 1] : NULL;
        if (!other || (other->group == node->group && other->i == node->i && other->j == node->j))
            return &set->slots[at];
    }
}

static stair_status grow(stair_context *context, stair_node_set *set)
{
    size_t slots = set->slot_count ? 2 * set->slot_count : FIRST_SLOTS;
    stair_node *list = realloc(set->list, slots / 2 * sizeof *list);
    if (list) set->list = list;
    size_t *fresh = calloc(slots, sizeof *fresh);
    if (!list || !fresh) {
        free(fresh);
        return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    }
    free(set->slots);
    set->slots = fresh;
    set->slot_count = slots;
    for (size_t i = 0; i < set->count; i++) *find(set, &set->list[i]) = i + 1;
    return STAIR_OK;
}

stair_status stair_node_set_add(stair_context *context, stair_node_set *set, const stair_node *node)
{
    if (2 * set->count >= set->slot_count) STAIR_TRY(grow(context, set));
    size_t *slot = find(set, node);
    if (*slot) return STAIR_OK;
    set->list[set->count] = *node;
    *slot = ++set->count;
    return STAIR_OK;
}

void stair_node_set_clear(stair_node_set *set)
{
    set->count = 0;
    if (set->slots) memset(set->slots, 0, set->slot_count * sizeof *set->slots);
}

void stair_node_set_free(stair_node_set *set)
{
    free(set->list);
    free(set->slots);
    *set = (stair_node_set){0};
}
