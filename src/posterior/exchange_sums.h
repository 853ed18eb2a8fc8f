/* What exchange.c and its hot loop share. */
#ifndef STAIR_POSTERIOR_EXCHANGE_SUMS_H
#define STAIR_POSTERIOR_EXCHANGE_SUMS_H

#include "posterior/committee_law.h"

/* Of a row of the grid: the law's numbers weighted by the last row's prior, and its mass times the first and
 * second power of the deviation from its mean. */
enum { EXCHANGE_FIRST = COMMITTEE_NUMBERS, EXCHANGE_SECOND, EXCHANGE_SUMS };

#endif
