#include "lib/options.h"

#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

#include "tools/tandem.h"

enum { ALLOWED_BYTES = 512 };

static void print_values(const td_options *o)
{
    for (td_option_id id = 0; id < TD_OPTION_COUNT; id++) {
        const td_option *row = &td_option_table[id];
        char value[TD_OPTION_TEXT_BYTES], allowed[ALLOWED_BYTES];
        row->print(o, value, sizeof value);
        td_option_allowed(id, allowed, sizeof allowed);
        printf("%s=%s (%s)\n    %s\n    values: %s\n", row->name, value,
               td_origin_names[o->origins[id]], row->help, allowed);
    }
}

static void print_markdown(void)
{
    printf(
        "# Options\n\n"
        "Environment variables, read once when the library is loaded. This page is the output of\n"
        "`tandem options --markdown`; `tandem options` shows the values in force and where they\n"
        "come from.\n\n"
        "| variable | values | default | meaning |\n|---|---|---|---|\n");
    for (td_option_id id = 0; id < TD_OPTION_COUNT; id++) {
        const td_option *row = &td_option_table[id];
        char allowed[ALLOWED_BYTES];
        td_option_allowed(id, allowed, sizeof allowed);
        printf("| `%s` | %s | `%s` | %s |\n", row->name, allowed, row->fallback, row->help);
    }
    printf("\nAn empty value counts as none. A malformed value gets one line on stderr that names "
           "the\n"
           "variable, the value and what is allowed; the library then leaves every product to "
           "cuBLAS,\n"
           "and `tandem run` does not start the program (exit status 2). An unknown `TANDEM_*` "
           "variable\n"
           "gets a warning with the nearest known name. `tandem run --mode` and `--report` set\n"
           "`TANDEM_MODE` and `TANDEM_REPORT` for the program.\n");
}

int command_options(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"help", no_argument, NULL, 'h'}, {"markdown", no_argument, NULL, 'm'}, {0}};
    bool is_markdown = false;
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, "+:h", long_options, NULL)) != -1;) {
        if (c == 'h') return print_help(argv[0]);
        if (c != 'm') return refuse_option(argv);
        is_markdown = true;
    }
    if (optind < argc) {
        say("options: unexpected argument '%s'", argv[optind]);
        return EXIT_USAGE;
    }
    if (is_markdown) {
        print_markdown();
        return 0;
    }
    td_options o;
    const bool is_good = td_options_read(&o, environ);
    print_values(&o);
    return is_good ? 0 : EXIT_USAGE;
}
