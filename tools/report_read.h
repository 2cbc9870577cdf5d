/* report_read.h - reports that the library has written (docs/report.md), whatever program has laid
 * them out anew. What is no report, not whole or of another schema is refused with a reason. */
#ifndef TD_TOOLS_REPORT_READ_H
#define TD_TOOLS_REPORT_READ_H

#include <stdbool.h>

#include "lib/report/fields.h"

enum { REPORT_WHY_BYTES = 512 };

/* What somebody asks for of a report: its members as lib/report/json_fields.def has them. */
typedef struct {
    td_report_head head;
    const char **command; /* its words, `words` of them */
    int words;
    td_report_device *devices;
    int device_count;
    td_report_call *calls;
    int call_count;
    struct json_t *root; /* owns all texts */
} report;

/* Reads a report, which report_free frees. False with the reason in `why` and errno set if it
 * cannot be read; EBADMSG if it is none. */
bool report_read(const char *path, report *r, char why[REPORT_WHY_BYTES]);

void report_free(report *r);

#endif
