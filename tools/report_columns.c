#include "tools/report_columns.h"

/* The line that says what the calls of the row are. */
static const td_report_call *kind_of_row(const report_row *row)
{
    return &(row->now ? row->now : row->before)->call;
}

/* ---- how a column's kind is shown ---- */

static value value_of_INTEGER(long long x) { return (value){.kind = COUNT_VALUE, .count = x}; }

#define value_of_TEXT     value_text
#define value_of_COUNT    value_count
#define value_of_SHORT    value_number
#define value_of_FIXED(n) value_number

/* Decimals, and whether a column is aligned to the left. */
#define LOOK_TEXT     0, true
#define LOOK_INTEGER  0, false
#define LOOK_COUNT    0, false
#define LOOK_SHORT    SHORT_NUMBER, false
#define LOOK_FIXED(n) n, false

#define ROW(id, title, name, silence, kind) {title, name, silence, LOOK_##kind, column_##id},

/* ---- of the reports alone ---- */

#define COLUMN(id, title, name, silence, kind, value_)                                             \
    static value column_##id(const void *of)                                                       \
    {                                                                                              \
        const report_row *row = of;                                                                \
        const td_report_call *call = kind_of_row(row);                                             \
        const merged_line *line = row->now;                                                        \
        (void)call, (void)line;                                                                    \
        return value_of_##kind(value_);                                                            \
    }
#define REPORT_COLUMN COLUMN
#include "lib/report/columns.def"

const column report_columns[] = {
#define COLUMN(id, title, name, silence, kind, value) ROW(id, title, name, silence, kind)
#define REPORT_COLUMN                                 COLUMN
#include "lib/report/columns.def"
    {.of = NULL}};

/* ---- of a difference; nothing where there are no such calls ---- */

static const char *mode_of(const merged_line *line) { return line ? line->call.mode : ""; }
static long long count_of(const merged_line *line) { return line ? line->call.count : 0; }
static double seconds_of(const merged_line *line) { return line ? line->seconds : TD_UNKNOWN; }

static double worst_of(const merged_line *line)
{
    return line ? td_report_error(&line->call, line->call.verified.worst) : TD_UNKNOWN;
}

/* Of one call, so that it says something where there are more or fewer. */
static double speed_up_of(const merged_line *before, const merged_line *now)
{
    const double was = before ? merged_seconds_of_one(before) : TD_UNKNOWN;
    const double is = now ? merged_seconds_of_one(now) : TD_UNKNOWN;
    return was > 0.0 && is > 0.0 ? was / is : TD_UNKNOWN;
}

#define DIFFERENCE_COLUMN(id, title, name, silence, kind, value_)                                  \
    static value column_##id(const void *of)                                                       \
    {                                                                                              \
        const merged_line *before = ((const report_row *)of)->before;                              \
        const merged_line *now = ((const report_row *)of)->now;                                    \
        (void)before, (void)now;                                                                   \
        return value_of_##kind(value_);                                                            \
    }
#include "lib/report/columns.def"

const column report_difference_columns[] = {
#define KIND_COLUMN(id, title, name, silence, kind, value) ROW(id, title, name, silence, kind)
#define REPORT_KIND_COLUMN                                 KIND_COLUMN
#define DIFFERENCE_COLUMN                                  KIND_COLUMN
#include "lib/report/columns.def"
    {.of = NULL}};
