/* forecast.h - the times that decide whether a call is emulated. Pure: no CUDA calls. */
#ifndef TD_FORECAST_H
#define TD_FORECAST_H

/* Predicted seconds of cuBLAS and of `mode`, the emulated mode that was considered, whose data are
 * ordinary; and of the call under `auto` if its data turn out to be bad
 * (../model/found_out.h), when a few lines are looked at, or late, when all are: 0 if that is no
 * question. Valid if `mode` is not NULL. */
typedef struct {
    const char *mode;
    double native, emulated, found_out, found_late;
} td_forecast;

enum { TD_FORECAST_TEXT = 256 };

/* Writes a valid forecast for people, in milliseconds with 1 to 9 decimals: `ozaki2 1.4 ms, native
 * 2.5 ms, found out 2.6 ms`, the last of them if it is a question. Returns text. */
char *td_forecast_print(const td_forecast *f, int decimals, char text[TD_FORECAST_TEXT]);

#endif
