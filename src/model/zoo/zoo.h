/* Tables of the zoo: a model is a formula (model/formula.h) made of its keys. */
#ifndef STAIR_MODEL_ZOO_ZOO_H
#define STAIR_MODEL_ZOO_ZOO_H

#include <stdio.h>

#include "model/formula.h"
#include "model/keys.h"

#define STAIR_ZOO_TEXT 1024 /* bytes of a formula: eight indices of the longest term are 300 */

/* Terms `pattern` (# is the index) of `count` indices, with `joint` between, inside before and after. */
static inline void stair_zoo_terms(int count, const char *before, const char *pattern, const char *joint,
                                   const char *after, char *text)
{
    int used = snprintf(text, STAIR_ZOO_TEXT, "%s", before);
    for (int k = 1; k <= count; k++) {
        for (const char *c = pattern; *c && used < STAIR_ZOO_TEXT - 8; c++)
            used += *c == '#' ? snprintf(text + used, 8, "%d", k) : (text[used] = *c, 1);
        for (const char *c = k < count ? joint : after; *c && used < STAIR_ZOO_TEXT - 8; c++)
            text[used++] = *c;
    }
    text[used] = 0;
}

#endif
