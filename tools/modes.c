#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "lib/engines/engine.h"
#include "lib/options.h"
#include "tools/tandem.h"

int command_modes(int argc, char **argv)
{
    const int status = parse_help_only(argc, argv);
    if (status >= 0) return status;
    if (optind < argc) {
        say("modes: unexpected argument '%s'; it takes none", argv[optind]);
        return EXIT_USAGE;
    }
    for (const td_engine *const *engine = td_engines; *engine; engine++) {
        char name[TD_MODE_TEXT];
        printf("%-15s  %s\n%-15s  error: %s\n", td_mode_usage(*engine, name), (*engine)->summary,
               "", (*engine)->bound);
    }
    return 0;
}
