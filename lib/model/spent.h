/* spent.h - what an emulated call took, by what its kernels counted. Pure: no CUDA calls. */
#ifndef TD_MODEL_SPENT_H
#define TD_MODEL_SPENT_H

#include <stdbool.h>

#include "../../kernels/device/outcome.h"
#include "../routine/mode.h"

/* The fields of a word that the device left (../../kernels/device/outcome.h). */
typedef struct {
    unsigned ticket, planes, work, tiles, singles;
} td_outcome;

td_outcome td_outcome_of(unsigned long long word);

/* What is known of a call before it runs: predicted seconds in cuBLAS and in its mode, for numbers
 * of like size; and the prices by which its data choose moduli, zeros if they do not. */
typedef struct {
    double native, emulated;
    td_prices prices;
} td_expected;

/* Seconds of a call that ended so. */
double td_seconds_spent(const td_expected *expected, const td_outcome *outcome);

/* True if cuBLAS's call would have been the better choice: all of C was left to binary64, or the
 * call took longer than native's. */
bool td_has_lost(const td_expected *expected, const td_outcome *outcome);

#endif
