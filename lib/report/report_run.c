#include "report_run.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../options/options.h"

/* A process, as /proc/PID/stat has it. */
typedef struct {
    long id, parent;
    unsigned long long start; /* in clock ticks since the machine's start */
} process;

/* Reads a file of a process; returns how many bytes, with a zero behind them, at most `room` - 1. */
static size_t read_file(long id, const char *name, char *text, size_t room)
{
    char path[64];
    size_t length = 0;
    ssize_t more = 1;
    snprintf(path, sizeof path, "/proc/%ld/%s", id, name);
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    while (descriptor >= 0 && more > 0) {
        more = read(descriptor, text + length, room - 1 - length);
        if (more > 0) length += (size_t)more;
    }
    if (descriptor >= 0) close(descriptor);
    text[length] = '\0';
    return length;
}

static bool find_process(long id, process *found)
{
    char text[1024];
    (void)read_file(id, "stat", text, sizeof text);
    const char *rest = strrchr(text, ')'); /* the name before it may hold anything */
    found->id = id;
    return rest && sscanf(rest,
                          ") %*c %ld %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
                          "%*d %*d %llu",
                          &found->parent, &found->start) == 2;
}

/* True if the process was started with this name of a report. */
static bool is_of_run(long id, const char *name)
{
    enum { ROOM = 1 << 20 };
    char wanted[TD_PATH_BYTES + 32];
    bool is_found = false;
    char *text = malloc(ROOM);
    if (!text) return false;
    snprintf(wanted, sizeof wanted, "%s=%s", td_option_table[TD_OPTION_REPORT].name, name);
    const size_t length = read_file(id, "environ", text, ROOM);
    for (const char *at = text; at < text + length && !is_found; at += strlen(at) + 1)
        is_found = strcmp(at, wanted) == 0;
    free(text);
    return is_found;
}

void td_report_run_find(const char *name, char run[TD_RUN_BYTES])
{
    process first = {.id = getpid()}, next;
    if (!find_process(first.id, &first)) first.parent = 0;
    while (first.parent > 0 && is_of_run(first.parent, name) && find_process(first.parent, &next))
        first = next;
    snprintf(run, TD_RUN_BYTES, "%ld-%llu", first.id, first.start);
}
