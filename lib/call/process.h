/* process.h - what the process has once: the options in force, and what is done when it forks and
 * when it ends. */
#ifndef TD_PROCESS_H
#define TD_PROCESS_H

#include "../options/options.h"
#include "scope.h"

/* The options in force for the calling thread: at first those of the environment, which are read
 * at the first use, when log and report are opened. A call takes them once, and hands them down;
 * what they point to lives as long as the process. */
const td_options *td_options_in_force(void);

/* The options of the process, which count outside of the regions of threads. */
const td_options *td_process_options(void);

/* The path of the copy of Tandem that was loaded before this one, which intercepts nothing then;
 * NULL if there is none. */
const char *td_process_stands_aside(void);

/* td_scope_set and td_scope_push, which have the arguments and what is returned. */
td_scope_status td_process_set(const char *settings, char why[TD_WHY_BYTES]);
td_scope_status td_process_push(const char *settings, char why[TD_WHY_BYTES]);

/* Counts calls from now on, if they are not counted already, though no report was asked for at the
 * start. */
void td_process_count(void);

/* td_report_compose, with the times of all calls that have ended. */
char *td_process_report(size_t *length);

/* To be called once CUDA is in use: from then on the end of the process is noticed while events can
 * still be read. */
void td_process_watch_exit(void);

/* At the end of a call: brings the report's file up to date, if it is time. */
void td_process_keep_report(void);

/* Collects the times of all calls that have ended: where a program may end a context next, and so
 * take away the events that have them. */
void td_process_keep_times(void);

/* Collects what is known and writes the report: for the end of the process. Called again it adds
 * the calls that were made meanwhile, and asks CUDA for nothing, which may be gone. */
void td_process_finish(void);

#endif
