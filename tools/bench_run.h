/* bench_run.h - one run of a program, timed from its start to its end, with its output and its
 * reports in files. */
#ifndef TD_TOOLS_BENCH_RUN_H
#define TD_TOOLS_BENCH_RUN_H

#include <limits.h>
#include <stdbool.h>

#include "tools/bench_report.h"

typedef struct {
    double wall_seconds;
    int status; /* as waitpid has it */
    bench_report report;
    char last_words[BENCH_TEXT_BYTES]; /* its last line on stderr, cut to what fits; "": none */
} bench_run;

/* What all runs of a program have in common. */
typedef struct {
    const char *path; /* the program's file */
    char **command;   /* its name and arguments, and NULL */
    /* an absolute path: where files go, MODE-N.out, .err and .json; with several
     *        reports MODE-N.PID.json for each */
    const char *folder;
} bench_program;

/* From now on SIGINT, SIGTERM and SIGHUP go to the program that runs, and not to this process: the
 * first as it is, others as SIGKILL. Standard input is the program's in every run if it is a file;
 * else that is empty. */
void bench_run_open(void);

/* True after such a signal. */
bool bench_run_is_stopped(void);

/* Runs the program in a mode for the number-th time; false, with errno set, if it cannot be
 * started. The environment has all that it needs but TANDEM_MODE and TANDEM_REPORT. */
bool bench_run_once(const bench_program *p, const char *mode, int number, bench_run *run);

/* The name of a run's file, with a suffix such as ".out"; cut to what fits. */
void bench_run_file(const bench_program *p, const char *mode, int number, const char *suffix,
                    char path[PATH_MAX]);

#endif
