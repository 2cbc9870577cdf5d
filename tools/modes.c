#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "lib/engine.h"
#include "tools/tandem.h"

int command_modes(int argc, char **argv)
{
    static const struct option long_options[] = {{"help", no_argument, NULL, 'h'}, {0}};
    opterr = 0;
    switch (getopt_long(argc, argv, "+:h", long_options, NULL)) {
    case -1:
        break;
    case 'h':
        return print_help(argv[0]);
    default:
        return refuse_option(argv);
    }
    if (optind < argc) {
        say("modes: unexpected argument '%s'; it takes none", argv[optind]);
        return EXIT_USAGE;
    }
    for (const td_engine *const *engine = td_engines; *engine; engine++) {
        char name[64];
        snprintf(name, sizeof name, "%s%s", (*engine)->name, (*engine)->parse ? "[:N]" : "");
        printf("%-10s  %s\n%-10s  error: %s\n", name, (*engine)->summary, "", (*engine)->bound);
    }
    return 0;
}
