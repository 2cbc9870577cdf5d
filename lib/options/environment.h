/* environment.h - the environment as the library reads it, which is nowhere else. A program that
 * runs with more rights than the user who started it (set-user-ID, set-group-ID, capabilities of
 * its file: AT_SECURE) has none: else that user would name files that it writes. Pure: no CUDA
 * calls. */
#ifndef TD_ENVIRONMENT_H
#define TD_ENVIRONMENT_H

#include <stdbool.h>

/* Strings "NAME=value", ending with NULL. */
char *const *td_environment(void);

/* The value of a variable; NULL if it is not set. */
const char *td_environment_value(const char *name);

/* True if a process was started with the setting "NAME=value". What cannot be read, for want of
 * /proc, of rights or of memory, is none. */
bool td_environment_has(long process, const char *setting);

#endif
