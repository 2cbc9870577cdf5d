/* report_columns.h - what `tandem report` shows of a line: of reports alone, or beside others. */
#ifndef TD_TOOLS_REPORT_COLUMNS_H
#define TD_TOOLS_REPORT_COLUMNS_H

#include "tools/columns.h"
#include "tools/report_merge.h"

/* Calls of one kind; in a difference one of both may be NULL, else `before` is. */
typedef struct {
    const merged_line *before, *now;
} report_row;

extern const column report_columns[], report_difference_columns[];

/* The function without what all begin with, for tables. */
value report_short_name(const void *row);

/* BLAS's letters for what is done to the operands. */
value report_letters(const void *row);

#endif
