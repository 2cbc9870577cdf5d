/* result_file.h - files that a command leaves results in, on request: whether they can be written
 * is found out before the work, and each is written in one step. */
#ifndef TD_TOOLS_RESULT_FILE_H
#define TD_TOOLS_RESULT_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "lib/report/report_internal.h"
#include "tools/command.h"

typedef struct {
    int option;                                    /* of the command, which names the file */
    void (*print)(FILE *out, const void *results); /* what is in it */
    const char *name;                              /* NULL: not asked for; "-": stdout */
    td_report_file file;
} result_file;

/* Opens those of `count` files that the command line names. False, after a line, if one cannot be
 * written, or would replace another. */
bool result_files_open(result_file files[], int count, const command_line *line);

/* True if one of them is stdout. */
bool result_files_have_stdout(const result_file files[], int count);

/* Writes those that are asked for; false, after a line for each, if some cannot be written. */
bool result_files_write(result_file files[], int count, const void *results);

#endif
