/* command.h - a command of the launcher: the row that its parser, --help, the manual page and the
 * shell's completion all come from. */
#ifndef TD_TOOLS_COMMAND_H
#define TD_TOOLS_COMMAND_H

#include <stdbool.h>

enum { COMMAND_OPTIONS = 10, COMMAND_ALONE = 5 };

typedef struct {
    const char *name; /* without its dashes */
    /* what it takes: MODE, FILE (the completion knows these); NULL: nothing */
    const char *argument;
    const char *summary;
} command_option;

/* An option with which a command does something else, so that most others have no effect. */
typedef struct {
    int option;       /* its place */
    const char *with; /* the options that go with it: "--json or --markdown"; "": none */
} command_alone;

typedef struct command command;

/* A command line that has been parsed. */
typedef struct {
    const command *command;
    /* of each option: NULL if it is not given, "" if it takes nothing */
    const char *values[COMMAND_OPTIONS];
    char **arguments; /* the others, `count` of them and NULL */
    int count;
} command_line;

struct command {
    const char *name;
    const char *arguments; /* after the options: "[PROGRAM]" */
    int most;              /* of them; -1: any number */
    const char *summary;   /* one line */
    const char *details;   /* sentences, or "" */
    command_option options[COMMAND_OPTIONS];
    /* such options are refused beside arguments and other options; the last one's `with` is NULL */
    command_alone alone[COMMAND_ALONE];
    int (*run)(const command_line *line); /* returns the exit status */
};

/* All commands, in the order of --help; ends with NULL. */
extern const command *const commands[];

/* NULL if there is none. */
const command *command_find(const char *name);

/* The names of all, with commas between. */
const char *command_names(void);

/* Says that there is no command of this name, and which there are. */
void command_refuse(const char *name);

/* Describes a command on stdout; returns 0. */
int command_describe(const command *c);

/* What a whole number may be; the unit, "seconds", is "" where the option's name says it. */
typedef struct {
    long least, most;
    const char *unit;
} command_range;

/* The whole number that an option was given, within what is allowed; *value stays where `text` is
 * NULL. False, after a line that names the option, if it is no such number. */
bool command_number(const char *option, const char *text, const command_range *range, long *value);

/* Parses argv from the command's own name on and runs it; returns the exit status. */
int command_execute(const command *c, int argc, char **argv);

#endif
