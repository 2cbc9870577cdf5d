#include "number_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *special(double x) { return isnan(x) ? "nan" : x > 0.0 ? "inf" : "-inf"; }

/* printf's decimal sign is whatever stands between the first digit and the next. */
td_number td_number_short(double x)
{
    td_number n, printed;
    if (!isfinite(x)) {
        snprintf(n.text, sizeof n.text, "%s", special(x));
        return n;
    }
    snprintf(printed.text, sizeof printed.text, "%.2e", x);
    const char *first = printed.text + (printed.text[0] == '-'), *next = first + 1;
    while (*next && !isdigit((unsigned char)*next)) next++;
    snprintf(n.text, sizeof n.text, "%.*s.%s", (int)(first + 1 - printed.text), printed.text, next);
    return n;
}

td_number td_number_exact(double x)
{
    enum { FRACTION_BITS = 52, BIAS = 1023 };
    td_number n;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint64_t fraction = bits & ((UINT64_C(1) << FRACTION_BITS) - 1);
    const int field = (int)(bits >> FRACTION_BITS & 0x7ff);
    if (!isfinite(x))
        snprintf(n.text, sizeof n.text, "%s", special(x));
    else
        snprintf(n.text, sizeof n.text, "%s0x%d.%013" PRIx64 "p%+d", bits >> 63 ? "-" : "",
                 field != 0, fraction, (field ? field : 1) - BIAS);
    return n;
}
