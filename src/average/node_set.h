/* Nodes of plane grids, each once, in the order in which they were added. */
#ifndef STAIR_AVERAGE_NODE_SET_H
#define STAIR_AVERAGE_NODE_SET_H

#include "core/context.h"

typedef struct {
    int group, i, j; /* which grid, and where on it */
} stair_node;

typedef struct {
    stair_node *list; /* (count) */
    size_t count;
    size_t *slots, slot_count; /* open addressing: position in the list plus one, or 0 */
} stair_node_set;

stair_status stair_node_set_add(stair_context *context, stair_node_set *set, const stair_node *node);
void stair_node_set_clear(stair_node_set *set);
void stair_node_set_free(stair_node_set *set);

#endif
