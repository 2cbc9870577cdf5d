/* layout.h - arrays of the public types as C++ sees them. */
#ifndef LAYOUT_H
#define LAYOUT_H

#include <stddef.h>

#include "include/tandem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Part i of element l of an array that C has written. */
double layout_df(const tandem_df *x, size_t l, int i);
double layout_ts(const tandem_ts *x, size_t l, int i);
double layout_dd(const tandem_dd *x, size_t l, int i);
double layout_ds(const tandem_ds *x, size_t l, int i);

/* By value, as scalars are passed: the sum of the parts. */
double layout_sum(tandem_df df, tandem_ts ts, tandem_dd dd, tandem_ds ds);

#ifdef __cplusplus
}
#endif

#endif
