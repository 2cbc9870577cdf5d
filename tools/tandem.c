#include "tools/tandem.h"

#include <stdio.h>
#include <string.h>

#include "include/tandem.h"
#include "tools/help.h"

const command *const commands[] = {&command_run,       &command_bench,    &command_report,
                                   &command_modes,     &command_options,  &command_plan,
                                   &command_calibrate, &command_selftest, &command_doctor,
                                   &command_help,      &command_version,  NULL};

static int print_version(const command_line *line)
{
    (void)line;
    printf("tandem %s\n", tandem_version());
    return 0;
}

const command command_version = {
    .name = "version",
    .arguments = "",
    .summary = "name the version",
    .details = "",
    .run = print_version,
};

/* The command that a first argument names: what users of other programs write, too. */
static const command *find_command(const char *name)
{
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) return &command_help;
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) return &command_version;
    return command_find(name);
}

/* The exit status after a command; text that did not get out is a failure, whatever it said. */
static int finish(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    complain("cannot write all of this to standard output");
    return status ? status : 1;
}

int main(int argc, char **argv)
{
    if (argc < 2) return usage_error("no command given; allowed: %s", command_names());
    const command *found = find_command(argv[1]);
    if (found) return finish(command_execute(found, argc - 1, argv + 1));
    command_refuse(argv[1]);
    return EXIT_USAGE;
}
