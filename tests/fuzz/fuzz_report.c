/* fuzz_report.c - the reader of reports, and what is made of several. */
#include "fuzz.h"
#include "tools/report_merge.h"

void fuzz_one(const uint8_t *data, size_t bytes)
{
    char why[REPORT_WHY_BYTES];
    merged m = {.has_any_mode = bytes % 2};
    const char *path = fuzz_file(data, bytes);
    if (merged_add(&m, path, why)) (void)merged_add(&m, path, why);
    (void)merged_sum_up(&m);
    for (int i = 0; i < m.count; i++) (void)merged_rate(m.lines[i]);
    merged_sort(&m, ORDER_TIME);
    merged_free(&m);
}
