/* "Did you mean". */
#ifndef STAIR_CORE_TEXT_H
#define STAIR_CORE_TEXT_H

/* Closest of the candidates (ended by NULL) to `word`, or NULL when none is close. */
const char *stair_closest(const char *word, const char *const *candidates);

#endif
