/* result_file.h - files that a command leaves results in, on request: whether they can be written
 * is found out before the work, and they are written in one step. */
#ifndef TD_TOOLS_RESULT_FILE_H
#define TD_TOOLS_RESULT_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "lib/report/report_internal.h"

typedef struct {
    const char *name; /* NULL: not asked for; "-": stdout */
    td_report_file file;
} result_file;

/* name: what the option has, NULL if it is not given. False, and a line, if it cannot be
 * written. */
bool result_file_open(result_file *f, const char *option, const char *name);

/* Writes what `print` prints, if the file is asked for. False, and a line, if it cannot. */
bool result_file_write(result_file *f, void (*print)(FILE *out, const void *context),
                       const void *context);

#endif
