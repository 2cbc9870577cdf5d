/* fuzz_calibration.c - the reader of calibrations. */
#include <stdlib.h>

#include "fuzz.h"
#include "lib/model/calibration.h"

void fuzz_one(const uint8_t *data, size_t bytes)
{
    enum { DRIVER = 13000 };
    td_calibration calibration;
    int line = 0;
    const td_card *card = td_card_known("NVIDIA H200");
    if (td_calibration_read(&calibration, card, DRIVER, fuzz_file(data, bytes), &line) !=
        TD_CALIBRATION_READ)
        return;
    for (int row = 0; row < TD_ROWS; row++)
        for (int f = 0; f < TD_FACTORS; f++)
            if (calibration.is_measured[row] && abs(calibration.factors[row][f]) > TD_MOST_FACTOR)
                abort();
}
