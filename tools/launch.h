/* launch.h - where a program runs with its products emulated, and what it needs for that in its
 * environment. */
#ifndef TD_TOOLS_LAUNCH_H
#define TD_TOOLS_LAUNCH_H

#include <limits.h>
#include <stdbool.h>

#include "lib/options/options.h"

typedef struct {
    char path[PATH_MAX]; /* of the program's file, for execvp */
    bool is_host_device; /* it will run on the host device, not on a GPU */
} launch;

/* Reads the options of this process's environment; false, after lines that say why, if a value is
 * malformed, or a file or folder that they name is of no use, where the library in the program
 * would leave products native or keep nothing. is_heard: the user sees what the library says, so
 * that warnings are left to it. */
bool launch_read_options(td_options *o, bool is_heard);

/* Finds the program and what it can run on, and sets LD_PRELOAD in this process's environment, for
 * execvp. Returns 0, or the exit status of a launcher that cannot start it, after a line that says
 * why. Lines also say that it will run on the host device, and that preloading will not work for
 * this program; nothing is preloaded into one that would not start then. */
int launch_prepare(launch *l, const char *name, bool wants_host_device);

/* Says that the program cannot be run, and returns the exit status for that; error: an errno
 * value. */
int launch_refuse(const char *name, int error);

#endif
