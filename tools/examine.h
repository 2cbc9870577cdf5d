/* examine.h - whether a preloaded library can take over a program's cuBLAS calls, from its files
 * alone. */
#ifndef TD_TOOLS_EXAMINE_H
#define TD_TOOLS_EXAMINE_H

#include <stdbool.h>
#include <stdio.h>

#include "tools/examine_file.h"

typedef enum {
    LOADING_WORKS,
    LOADING_IDLES, /* nothing is preloaded, or of no use; the program itself is none the worse */
    LOADING_BREAKS /* its loader refuses what is to be preloaded, and does not start it */
} loading;

/* Looks at the program's file, or its interpreter's, alone: will the loader preload anything, and
 * can it then run on the host device (if on_host_device)? The reason, if it does not work. */
loading examine_loading(const char *path, bool on_host_device, char reason[EXAMINE_REASON_BYTES]);

typedef enum {
    PRELOAD_WORKS,
    PRELOAD_MAY_WORK, /* nothing was found, but libraries that are loaded later may use cuBLAS */
    PRELOAD_FAILS
} preload_verdict;

/* Looks at the program and all libraries that it needs, and prints what it finds, lines of a name
 * and a text with a colon between; the reason is the verdict's, whichever it is. */
preload_verdict examine_program(FILE *out, const char *path, bool on_host_device,
                                char reason[EXAMINE_REASON_BYTES]);

#endif
