/* report_columns.h - what `tandem report` shows of a line: of reports alone, or beside others. */
#ifndef TD_TOOLS_REPORT_COLUMNS_H
#define TD_TOOLS_REPORT_COLUMNS_H

#include "tools/columns.h"
#include "tools/report_merge.h"

/* Calls of one kind; in a difference one of both may be NULL, else `before` is. */
typedef struct {
    const merged_line *before, *now;
} report_row;

/* The columns of lib/report/columns.def. */
extern const column report_columns[], report_difference_columns[];

#endif
