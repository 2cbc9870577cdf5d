/* report_merge.h - the reports of several processes, such as the ranks of one program, as one. */
#ifndef TD_TOOLS_REPORT_MERGE_H
#define TD_TOOLS_REPORT_MERGE_H

#include "tools/report_read.h"

/* Calls of one kind in all reports: numbers are sums, errors the worst and the mean of all. */
typedef struct {
    td_report_call call;
    double seconds;    /* of all calls but the untimed; negative: none was timed */
    double timed;      /* these calls: timed ones and those that they stand for */
    long long untimed; /* calls whose time is not known */
    long long unread;  /* those among them whose time was to be read, or another's */
    int number;        /* in the order of first calls */
} merged_line;

/* Start with {0}, or with has_any_mode alone, add reports, and sum them up; merged_free frees what
 * it holds. */
typedef struct {
    bool has_any_mode; /* calls of several modes are one kind; its mode is "several" then */
    merged_line **lines;
    int count;
    report *reports;
    const char **paths; /* of the reports' files */
    int report_count;
    const char *left_out; /* the file of the last report that merged_add has left out */
    int incomplete;       /* reports of processes that had not ended */
    td_report_totals totals;
    bool is_host_device; /* one of the reports is of the host device */
    void *tree;          /* the lines by kind, for tsearch(3) */
} merged;

/* Adds the report in a file, whose name must stay; false with a reason as report_read gives it. Of
 * two reports of one process the later stays: false with EEXIST, the other's file in `left_out`,
 * and a reason for that one. */
bool merged_add(merged *m, const char *path, char why[REPORT_WHY_BYTES]);

/* Makes lines and totals of all reports, once; false without memory. */
bool merged_sum_up(merged *m);

void merged_free(merged *m);

/* The line of the same kind as the call; NULL if there is none. */
const merged_line *merged_find(const merged *m, const merged_line *like);

/* Seconds of one call on the device, on an average; negative: none was timed. */
double merged_seconds_of_one(const merged_line *line);

/* How much less than cuBLAS is predicted to take a call takes, as a ratio; negative if nobody
 * can say, as of native calls. */
double merged_gain(const merged_line *line);

/* Floating-point operations in a second, as BLAS counts them: a multiply-add two, one of complex
 * numbers eight. Negative if no call was timed. */
double merged_rate(const merged_line *line);

/* The orders of lines, and how they are called. */
typedef enum { ORDER_TIME, ORDER_CALLS, ORDER_GAIN, ORDER_ERROR, ORDERS } merged_order;
extern const char *const merged_orders[ORDERS];

/* The largest first; those without a number last. */
void merged_sort(merged *m, merged_order order);

#endif
