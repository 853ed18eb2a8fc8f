/* A card that is none, for tests: card_on_host.c. */
#ifndef CARD_ON_HOST_H
#define CARD_ON_HOST_H

#include <stdbool.h>
#include <stddef.h>

extern size_t card_free_bytes; /* what it says is left, and the most of one allocation */
extern size_t card_most;       /* bytes that were in use at once */
extern int card_alive;         /* allocations that were not freed */
extern bool card_once;         /* a pass over stored X reads it once; */
extern size_t card_hard;       /* samples of such passes that were left to others */

#endif
