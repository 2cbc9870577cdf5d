/* report_merge.h - the reports of several processes, such as the ranks of one program, as one. */
#ifndef TD_TOOLS_REPORT_MERGE_H
#define TD_TOOLS_REPORT_MERGE_H

#include "tools/report_read.h"

/* Start with {0}; merged_free frees what it holds. */
typedef struct {
    /* Calls of one kind are one line: numbers are sums, errors the worst and the mean of all. */
    report_call *calls;
    int count;
    int reports;
    unsigned long long intercepted, emulated, native, unlisted;
    char program[REPORT_SITE_BYTES]; /* of the first report that has one, as the next */
    char device[REPORT_TEXT_BYTES];
    bool is_host_device; /* one of the reports is of the host device */
} merged;

/* Adds the report in a file; false with errno set as report_read does. */
bool merged_add(merged *m, const char *path);

void merged_free(merged *m);

/* Seconds of all calls of a line on the device: those that were timed stand for the others.
 * Negative: none was. */
double merged_seconds(const report_call *c);

/* How much less than cuBLAS is predicted to take a call takes, as a ratio; negative if nobody
 * can say, as of native calls. */
double merged_gain(const report_call *c);

/* Operations in a second, a multiply-add counting two; negative if no call was timed or the call
 * is no product. */
double merged_rate(const report_call *c);

/* The orders of lines, and how they are called. */
typedef enum { ORDER_TIME, ORDER_CALLS, ORDER_GAIN, ORDER_ERROR, ORDERS } merged_order;
extern const char *const merged_orders[ORDERS];

/* The largest first; those without a number last. */
void merged_sort(merged *m, merged_order order);

#endif
