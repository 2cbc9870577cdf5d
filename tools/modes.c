#include <stdio.h>

#include "lib/engines/engine.h"
#include "lib/options.h"
#include "tools/tandem.h"

enum { WANTS_NAMES };

static int run(const command_line *line)
{
    for (const td_engine *const *engine = td_engines; *engine; engine++) {
        char name[TD_MODE_TEXT];
        if (line->values[WANTS_NAMES])
            printf("%s\n", (*engine)->name);
        else
            printf("%-15s  %s\n%-15s  error: %s\n", td_mode_usage(*engine, name),
                   (*engine)->summary, "", (*engine)->bound);
    }
    return 0;
}

const command command_modes = {
    .name = "modes",
    .arguments = "",
    .summary = "list the arithmetics and their error bounds",
    .details = "",
    .options = {[WANTS_NAMES] = {"names", NULL, "print their names alone, one a line"}},
    .run = run,
};
