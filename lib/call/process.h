/* process.h - what the process has once: the options in force, and what is done when it forks and
 * when it ends. */
#ifndef TD_PROCESS_H
#define TD_PROCESS_H

#include "../options/options.h"

/* The options in force, read from the environment at the first use; opens log and report. A call
 * takes them once, and hands them down. */
const td_options *td_options_in_force(void);

/* To be called once CUDA is in use: from then on the end of the process is noticed while events can
 * still be read. */
void td_process_watch_exit(void);

/* At the end of a call: brings the report's file up to date, if it is time. */
void td_process_keep_report(void);

/* Collects the times of all calls that have ended: where a program may end a context next, and so
 * take away the events that have them. */
void td_process_keep_times(void);

/* Collects what is known and writes the report: for the end of the process. */
void td_process_finish(void);

#endif
