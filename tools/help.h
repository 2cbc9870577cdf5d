/* help.h - the launcher's words about itself, made from the tables of commands, modes and
 * options. */
#ifndef TD_TOOLS_HELP_H
#define TD_TOOLS_HELP_H

#include "tools/command.h"

extern const command command_help;

/* What is there to read: each of these functions prints on stdout and returns 0. */
int help_manual(void); /* tandem.1, for man(1) */
int help_bash(void);   /* completion, for bash(1) */
int help_zsh(void);    /* the same for zsh(1): the file _tandem of a folder in fpath */
int help_fish(void);   /* and for fish(1) */

#endif
