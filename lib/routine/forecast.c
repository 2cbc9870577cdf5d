#include "forecast.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Appends a name and its milliseconds, with 1 to 9 decimals behind a point, whatever the locale's
 * decimal sign is. */
static void append(char text[TD_FORECAST_TEXT], const char *name, double seconds, int decimals)
{
    enum { MOST = 9 };
    const size_t used = strlen(text);
    const int places = decimals < 1 ? 1 : decimals < MOST ? decimals : MOST;
    long long unit = 1;
    for (int i = 0; i < places; i++) unit *= 10;
    const long long units = llround(seconds * 1e3 * (double)unit);
    snprintf(text + used, TD_FORECAST_TEXT - used, "%s %lld.%0*lld ms", name, units / unit, places,
             units % unit);
}

char *td_forecast_print(const td_forecast *f, int decimals, char text[TD_FORECAST_TEXT])
{
    text[0] = '\0';
    append(text, f->mode, f->emulated, decimals);
    append(text, ", native", f->native, decimals);
    if (f->found_out > 0.0) append(text, ", found out", f->found_out, decimals);
    return text;
}
