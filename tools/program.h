/* program.h - which file a program name means. */
#ifndef TD_TOOLS_PROGRAM_H
#define TD_TOOLS_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

/* Looks for name in PATH, or takes it as a path if it has a slash, as execvp does. Returns 0 if the
 * file can be executed, else an errno value; path is set if a file was found at all, else "". */
int program_find(const char *name, char path[PATH_MAX]);

/* The interpreter of a script: its "#!" line's, looked up in PATH where the script asks env(1) to;
 * of a text without one program_runner's, or else, if it can be executed, sh, as execvp(3) has it.
 * False: no script. */
bool program_interpreter(const char *path, char interpreter[PATH_MAX]);

/* For a text without a "#!" line, the program that its suffix suggests to run it with; else
 * NULL. */
const char *program_runner(const char *path);

#endif
