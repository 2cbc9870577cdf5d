/* bench_run.h - one run of a program, timed from its start to its end, with its output and its
 * reports in files. */
#ifndef TD_TOOLS_BENCH_RUN_H
#define TD_TOOLS_BENCH_RUN_H

#include <limits.h>
#include <stdbool.h>

#include "lib/options/options.h"
#include "tools/bench_report.h"

typedef struct {
    double wall_seconds;
    int status;              /* as waitpid has it */
    bool is_late;            /* it took longer than it may, and was ended */
    bool has_left_processes; /* that it started, and that ran on after its end */
    bench_report report;
    /* its last line on stderr, or on stdout if there is none, cut to what fits; "": none */
    char last_words[BENCH_TEXT_BYTES];
} bench_run;

/* What all runs of a program have in common. */
typedef struct {
    const char *path; /* the program's file */
    char **command;   /* its name and arguments, and NULL */
    /* an absolute path: where files go, STEM.out, .err and .json; with several reports
     * STEM.PID.json for each */
    const char *folder;
    int timeout; /* seconds that a run may take; 0: any number */
} bench_program;

/* Which run it is. */
enum { BENCH_STEM_BYTES = TD_MODE_BYTES + 16 };
typedef struct {
    const char *mode;
    char stem[BENCH_STEM_BYTES]; /* of its files' names */
} bench_label;

/* From now on SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGPIPE go to the program that runs, and not to
 * this process: the first as it is, others as SIGKILL. SIGTSTP halts both. Standard input is the
 * program's in every run if it can be read again, as a file can; else that is empty. */
void bench_run_open(void);

/* True after such a signal. */
bool bench_run_is_stopped(void);

/* True if standard input is something that may have text for the program, but only once, such as a
 * pipe: no run gets it. */
bool bench_run_drops_input(void);

/* True if the folder has room for what a run leaves; else errno says why not. Where it has none
 * after a run, files of that may be cut off or not there. */
bool bench_run_has_room(const bench_program *p);

/* Runs the program in a mode; false, with errno set, if it cannot be started, or if what it has
 * left may not be all. The environment has all that it needs but TANDEM_MODE and TANDEM_REPORT.
 * Mode native has no TANDEM_RULES. */
bool bench_run_once(const bench_program *p, const bench_label *label, bench_run *run);

/* The name of a run's file, with a suffix such as ".out"; cut to what fits. */
void bench_run_file(const bench_program *p, const char *stem, const char *suffix,
                    char path[PATH_MAX]);

#endif
