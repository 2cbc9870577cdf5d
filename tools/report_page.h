/* report_page.h - merged reports, alone or beside those of before, as people and programs read
 * them. */
#ifndef TD_TOOLS_REPORT_PAGE_H
#define TD_TOOLS_REPORT_PAGE_H

#include "tools/report_columns.h"

typedef struct {
    const merged *now;
    const merged *before; /* NULL: `now` is shown alone */
    const table *table;   /* of report_rows */
    const sheet *sheet;   /* the table for people */
} report_page;

/* Each takes a report_page. */
void report_page_print_text(FILE *out, const void *page);
void report_page_print_html(FILE *out, const void *page);
void report_page_print_csv(FILE *out, const void *page);
void report_page_print_json(FILE *out, const void *page);

#endif
