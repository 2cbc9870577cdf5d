/* fuzz_report.c - the reader of reports. */
#include "fuzz.h"
#include "tools/bench_report.h"

void fuzz_one(const uint8_t *data, size_t bytes)
{
    bench_report sums = {0};
    (void)bench_report_add(&sums, fuzz_file(data, bytes));
    (void)bench_report_add(&sums, fuzz_file(data, bytes));
}
