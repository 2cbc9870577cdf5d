#include "report_run.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../options/environment.h"
#include "../options/options.h"

/* A process, as /proc/PID/stat has it. */
typedef struct {
    long id, parent;
    unsigned long long start; /* in clock ticks since the machine's start */
} process;

static bool find_process(long id, process *found)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", id);
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = descriptor < 0 ? 0 : read(descriptor, text, sizeof text - 1);
    if (descriptor >= 0) close(descriptor);
    text[length > 0 ? length : 0] = '\0';
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
    char setting[TD_PATH_BYTES + 32];
    snprintf(setting, sizeof setting, "%s=%s", td_option_table[TD_OPTION_REPORT].name, name);
    return td_environment_has(id, setting);
}

void td_report_run_find(const char *name, char run[TD_RUN_BYTES])
{
    process first = {.id = getpid()}, next;
    if (!find_process(first.id, &first)) first.parent = 0;
    while (first.parent > 0 && is_of_run(first.parent, name) && find_process(first.parent, &next))
        first = next;
    snprintf(run, TD_RUN_BYTES, "%ld-%llu", first.id, first.start);
}
