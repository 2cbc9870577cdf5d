/* fuzz_calibration.c - the reader of calibrations. A calibration of another version is not read
 * beyond that line, so inputs have `version kept`, which stands for the version of this build. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "lib/model/calibration.h"
#include "lib/version.h"

/* The file that holds the input, with this build's version in the place of the first `kept`. */
static const char *versioned_file(const uint8_t *data, size_t bytes)
{
    static const char kept[] = "\nversion kept\n", version[] = "\nversion " TD_VERSION "\n";
    const size_t kept_bytes = sizeof kept - 1, version_bytes = sizeof version - 1;
    const uint8_t *found = bytes ? memmem(data, bytes, kept, kept_bytes) : NULL;
    if (!found) return fuzz_file(data, bytes);
    const size_t before = (size_t)(found - data), after = bytes - before - kept_bytes;
    uint8_t *text = malloc(before + version_bytes + after);
    if (!text) abort();
    memcpy(text, data, before);
    memcpy(text + before, version, version_bytes);
    memcpy(text + before + version_bytes, found + kept_bytes, after);
    const char *path = fuzz_file(text, before + version_bytes + after);
    free(text);
    return path;
}

void fuzz_one(const uint8_t *data, size_t bytes)
{
    enum { DRIVER = 13000 };
    td_calibration calibration;
    int line = 0;
    const td_card *card = td_card_known("NVIDIA H200");
    if (td_calibration_read(&calibration, card, DRIVER, versioned_file(data, bytes), &line) !=
        TD_CALIBRATION_READ)
        return;
    for (int row = 0; row < TD_ROWS; row++)
        for (int f = 0; f < TD_FACTORS; f++)
            if (calibration.is_measured[row] && abs(calibration.factors[row][f]) > TD_MOST_FACTOR)
                abort();
}
