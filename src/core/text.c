/* "Did you mean": the candidate nearest to a word in optimal-string-alignment distance, that is
 * insertions, deletions, substitutions and swaps of neighbours (Damerau 1964, Levenshtein 1966). */
#include "core/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { LONGEST_WORD = 64 }; /* longer words have no close ones */

static int least(int a, int b)
{
    return a < b ? a : b;
}

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Three rows of the usual table are enough: a swap looks two rows back. */
static int distance(const char *a, size_t na, const char *b, size_t nb)
{
    int rows[3][LONGEST_WORD + 1];
    for (size_t j = 0; j <= nb; j++) rows[0][j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        int *now = rows[i % 3];
        const int *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        now[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            int change = above[j - 1] + !same(a[i - 1], b[j - 1]);
            now[j] = least(change, least(above[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
                now[j] = least(now[j], two_above[j - 2] + 1);
        }
    }
    return rows[na % 3][nb];
}

const char *stair_closest(const char *word, const char *const *candidates)
{
    size_t length = strlen(word);
    if (length == 0 || length > LONGEST_WORD) return NULL;
    const char *best = NULL;
    int nearest = (int)length / 3 + 1; /* one slip per three letters, plus one */
    if (nearest >= (int)length) nearest = (int)length - 1;
    for (; *candidates; candidates++) {
        size_t size = strlen(*candidates);
        if (size > LONGEST_WORD) continue;
        int away = distance(word, length, *candidates, size);
        if (away < nearest + (best == NULL)) {
            nearest = away;
            best = *candidates;
        }
        /* a word cut short is meant more often than a distant neighbour */
        if (!best && length >= 3 && size > length && distance(word, length, *candidates, length) == 0)
            best = *candidates;
    }
    return best;
}
