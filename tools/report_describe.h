/* report_describe.h - lib/report/json_fields.def for others: docs/report.schema.json, by which
 * programs check a report, and docs/report-fields.md, which says what each member means. */
#ifndef TD_TOOLS_REPORT_DESCRIBE_H
#define TD_TOOLS_REPORT_DESCRIBE_H

/* Print to stdout. */
void report_print_schema(void);
void report_print_fields(void);

#endif
