/* options.h - the command line of a bench. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>

/* An option of a bench: a flag, or one with a value. */
typedef struct {
    const char *name, *value; /* as "--csv" and "FILE"; value NULL: a flag */
    const char **text;        /* where its value goes */
    bool *flag;               /* or that it was given */
} bench_option;

/* Takes the options out of argv, which argv[0] is none of; what is left are *count words from
 * argv[0] on. The list ends with a name that is NULL. False, with a message, if an option is
 * unknown or lacks its value. */
bool bench_options(const bench_option *options, int argc, char **argv, int *count);

/* main of a program whose only option is --csv FILE: runs `run`, with NULL if that is not given.
 * Returns the program's exit status. */
int bench_main(int argc, char **argv, bool (*run)(const char *csv));

#endif
