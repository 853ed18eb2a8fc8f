/* 15 digits tell all decimals of 15 digits apart, so %.15g is the shortest text wherever it reads back; where
 * it does not, the nearest decimal of 16 digits is tried, and 17 always do.  Below DBL_MIN there are fewer.
 */
#include "number.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SURE_DIGITS 15 /* that a double holds of any decimal */

const char *number_text(double value, char *text)
{
    if (!isfinite(value)) return strcpy(text, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    for (int digits = fabs(value) < DBL_MIN ? 1 : SURE_DIGITS; digits <= 17; digits++) {
        snprintf(text, NUMBER_MOST, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    return text;
}

/* Digits behind the point of a decimal, its exponent taken into account: 2 for 0.05 and for 5e-2. */
static int decimals(const char *text)
{
    const char *point = strchr(text, '.'), *power = strpbrk(text, "eE");
    int count = point ? (int)strspn(point + 1, "0123456789") : 0;
    if (power) count -= atoi(power + 1);
    return count > 0 ? count : 0;
}

double number_on_grid(const char *from, const char *step, const double value[2], size_t i)
{
    char text[400];
    double plain = value[0] + (double)i * value[1];
    int first = decimals(from), second = decimals(step), most = first > second ? first : second;
    double before = fabs(plain) < 1 ? 0 : floor(log10(fabs(plain))) + 1;
    if (most + before > SURE_DIGITS) return plain; /* no room for rounding errors to be rounded away */
    snprintf(text, sizeof text, "%.*f", most, plain);
    return strtod(text, NULL) + 0.0; /* no -0 */
}
