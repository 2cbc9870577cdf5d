#include "tools/tandem.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "include/tandem.h"

typedef struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *arguments;
    const char *summary; /* one line */
    const char *details; /* further lines, or "" */
} command;

static const command commands[] = {
    {"run", command_run, "[OPTION...] [--] PROGRAM [ARGUMENT...]",
     "run a program with its cuBLAS products emulated",
     "  --mode MODE    arithmetic (`tandem modes`); df if neither this nor TANDEM_MODE is given\n"
     "  --report FILE  leave counts there at exit: JSON, or a table on stderr for -\n"
     "  --hostgpu      use the host device even if there is a GPU\n"},
    {"modes", command_modes, "", "list the arithmetics and their error bounds", ""},
    {"options", command_options, "[--markdown]",
     "list the environment variables with the values in force",
     "  --markdown     write the table of docs/options.md instead\n"},
    {"doctor", command_doctor, "[PROGRAM]",
     "say what this machine has, or whether a program's products can be intercepted",
     "Ends with 0 if it will work and with 1 if it will not.\n"},
};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "tandem: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
}

int refuse_option(char **argv)
{
    const char *option = argv[optind - 1];
    /* A missing argument is an option's whose name getopt knows. */
    if (optopt && strncmp(option, "--", 2) == 0 && !strchr(option, '='))
        say("%s: option '%s' needs an argument; see tandem %s --help", argv[0], option, argv[0]);
    else
        say("%s: unknown option '%s'; see tandem %s --help", argv[0], option, argv[0]);
    return EXIT_USAGE;
}

static const command *find_command(const char *name)
{
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i].name, name) == 0) return &commands[i];
    return NULL;
}

int print_help(const char *name)
{
    const command *found = find_command(name);
    printf("tandem %s %s\n%s\n%s", found->name, found->arguments, found->summary, found->details);
    return 0;
}

int parse_help_only(int argc, char **argv)
{
    static const struct option long_options[] = {{"help", no_argument, NULL, 'h'}, {0}};
    opterr = 0;
    switch (getopt_long(argc, argv, "+:h", long_options, NULL)) {
    case -1:
        return -1;
    case 'h':
        return print_help(argv[0]);
    default:
        return refuse_option(argv);
    }
}

static int print_overview(void)
{
    printf("tandem COMMAND - FP64 matrix products of cuBLAS programs in emulated arithmetic\n\n");
    for (int i = 0; i < COMMAND_COUNT; i++)
        printf("  %-8s  %s\n", commands[i].name, commands[i].summary);
    printf("\ntandem COMMAND --help describes one command, tandem --version names the version.\n");
    return 0;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) return print_overview();
    if (strcmp(name, "--version") == 0) {
        printf("tandem %s\n", tandem_version());
        return 0;
    }
    const command *found = find_command(name);
    if (found) return found->run(argc - 1, argv + 1);

    char known[128] = "";
    for (int i = 0; i < COMMAND_COUNT; i++) {
        const size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", commands[i].name);
    }
    if (argc > 1)
        say("unknown command '%s'; allowed: %s", name, known);
    else
        say("no command given; allowed: %s", known);
    return EXIT_USAGE;
}
