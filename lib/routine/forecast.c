#include "forecast.h"

#include <stdio.h>

char *td_forecast_print(const td_forecast *f, int decimals, char text[TD_FORECAST_TEXT])
{
    const double milli = 1e3;
    const int used = snprintf(text, TD_FORECAST_TEXT, "%s %.*f ms, native %.*f ms", f->mode,
                              decimals, milli * f->emulated, decimals, milli * f->native);
    if (f->found_out > 0.0 && used < TD_FORECAST_TEXT)
        snprintf(text + used, (size_t)(TD_FORECAST_TEXT - used), ", found out %.*f ms", decimals,
                 milli * f->found_out);
    return text;
}
