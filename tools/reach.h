/* reach.h - what attaching Tandem to a running process would reach. */
#ifndef TD_TOOLS_REACH_H
#define TD_TOOLS_REACH_H

#include <stdbool.h>
#include <stdio.h>

/* What was found of a process. */
typedef struct {
    int reached;   /* libraries that import functions of cuBLAS, which an attach redirects */
    int uncertain; /* libraries that may have looked such functions up, and keep them */
    int unread;    /* files with code that cannot be read, such as deleted ones */
    bool has_tandem;
} reach;

/* Writes a line for each library of process `pid` that calls cuBLAS, or of which nobody can say, as
 * it cannot be read. False, after a line that says why, if the process is not there or may not be
 * read. */
bool reach_print(FILE *facts, long pid, reach *found);

#endif
