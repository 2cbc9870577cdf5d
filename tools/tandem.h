/* tandem.h - what the commands of the launcher share. */
#ifndef TD_TOOLS_TANDEM_H
#define TD_TOOLS_TANDEM_H

/* Exit statuses besides 0 and 1; the last two are those of shells. */
enum { EXIT_USAGE = 2, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

/* Each command gets argv from its own name on. */
int command_run(int argc, char **argv);
int command_modes(int argc, char **argv);
int command_options(int argc, char **argv);
int command_doctor(int argc, char **argv);

/* One line "tandem: ..." on stderr. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Says which argument getopt_long has refused (after it returned '?' or ':'); returns EXIT_USAGE. */
int refuse_option(char **argv);

/* Prints the command's help on stdout; returns 0. */
int print_help(const char *command);

/* For commands whose only option is --help: returns -1 to go on, with optind at the first argument, else an exit
 * status. */
int parse_help_only(int argc, char **argv);

#endif
