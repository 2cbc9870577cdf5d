#include "pivots.h"

#include <stdlib.h>
#include <string.h>

#include "tests/kernels/support/device.h"
#include "tests/support/random.h"
#include "tests/support/test.h"

number drawn_number(uint64_t *state, bool is_complex)
{
    const double re = random_signed(state), im = random_signed(state);
    return is_complex ? re + im * I : re;
}

bool is_same_number(number x, number y) { return memcmp(&x, &y, sizeof x) == 0; }

void *upload_pivots(pivot_kind kind, const int64_t *pivots, int n)
{
    int *narrow = test_memory((size_t)n * sizeof *narrow);
    for (int i = 0; i < n; i++) narrow[i] = (int)pivots[i];
    void *device = kind == NO_PIVOTS ? NULL
                   : kind == PIVOTS  ? device_copy(narrow, (size_t)n * sizeof *narrow)
                                     : device_copy(pivots, (size_t)n * sizeof *pivots);
    free(narrow);
    return device;
}

void exchange_rows(const int64_t *pivots, int n, bool is_backward, number *column)
{
    for (int step = 0; step < n; step++) {
        const int i = is_backward ? n - 1 - step : step;
        const number kept = column[i];
        column[i] = column[pivots[i] - 1];
        column[pivots[i] - 1] = kept;
    }
}
