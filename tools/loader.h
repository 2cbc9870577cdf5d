/* loader.h - which libraries the dynamic loader would find, as it says itself: under
 * LD_TRACE_LOADED_OBJECTS it maps the files and runs nothing of them (ld.so(8)). Its --list is the
 * same, but ends at the first that is missing. */
#ifndef TD_TOOLS_LOADER_H
#define TD_TOOLS_LOADER_H

#include <limits.h>
#include <stdbool.h>

typedef struct {
    char *name; /* as it was asked for */
    char *path; /* where it is; NULL: not found */
} loaded_library;

typedef struct {
    loaded_library *libraries; /* in the order of loading */
    int count;
    char complaint[PATH_MAX]; /* why the loader gives up, in its words; "": it does not */
} loaded_set;

/* The libraries that a program needs, and those that these need; false, with nothing to close, if
 * the loader cannot be asked. */
bool loaded_set_open(loaded_set *set, const char *program);
void loaded_set_close(loaded_set *set);

/* The libraries of some names (with colons between) that the loader finds for a program that has no
 * RPATH; what these need follows them. */
bool loaded_set_find(loaded_set *set, const char *names);

#endif
