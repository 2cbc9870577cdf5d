/* report_run.h - which run of a program this process belongs to: the processes that were started,
 * directly or by others, by the first one that was given the same name of a report. Pure: no CUDA
 * calls. */
#ifndef TD_REPORT_RUN_H
#define TD_REPORT_RUN_H

enum { TD_RUN_BYTES = 48 };

/* Sets `run` to the process id and the start (clock ticks since the machine's) of that first
 * process, "PID-TICKS": the oldest of this process's ancestors, in an unbroken line, whose
 * environment says that reports go to `name`, else this process. What cannot be known, for want of
 * /proc, of rights or of memory, ends the line. */
void td_report_run_find(const char *name, char run[TD_RUN_BYTES]);

#endif
