#include "tools/tandem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "include/tandem.h"
#include "lib/options/nearest.h"

const command *const commands[] = {
    &command_run,  &command_bench,     &command_report, &command_modes, &command_options,
    &command_plan, &command_calibrate, &command_doctor, &command_help,  &command_version,
    NULL};

__attribute__((format(printf, 2, 0))) static void print_line(const char *kind, const char *format,
                                                             va_list arguments)
{
    fprintf(stderr, "tandem: %s", kind);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
}

#define DEFINE_LINE(name, kind)                                                                    \
    void name(const char *format, ...)                                                             \
    {                                                                                              \
        va_list arguments;                                                                         \
        va_start(arguments, format);                                                               \
        print_line(kind, format, arguments);                                                       \
        va_end(arguments);                                                                         \
    }
DEFINE_LINE(say, "")
DEFINE_LINE(warn_of, "warn: ")
DEFINE_LINE(complain, "error: ")

void refuse_command(const char *name)
{
    char question[TD_QUESTION_BYTES];
    td_nearest search = {.name = name};
    for (const command *const *c = commands; *c; c++) td_nearest_offer(&search, (*c)->name);
    complain("unknown command '%s'; allowed: %s%s", name, command_names(),
             td_nearest_ask(&search, question));
}

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

int main(int argc, char **argv)
{
    if (argc < 2) {
        complain("no command given; allowed: %s", command_names());
        return EXIT_USAGE;
    }
    const command *found = find_command(argv[1]);
    if (found) return command_execute(found, argc - 1, argv + 1);
    refuse_command(argv[1]);
    return EXIT_USAGE;
}
