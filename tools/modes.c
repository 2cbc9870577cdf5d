#include <stdio.h>

#include "lib/engines/proven.h"
#include "lib/report/json_text.h"
#include "tools/tandem.h"

enum { WANTS_NAMES, WANTS_JSON };

/* Each mode in its plainest forms: its name, and, where it has one, its other way. */
static void print_names(const td_engine *engine)
{
    printf("%s\n", engine->name);
    if (engine->way) printf("%s:%s\n", engine->name, engine->way);
}

static void print_described(const td_engine *engine)
{
    enum { WIDTH = 19 }; /* of the longest that there is */
    char name[TD_MODE_TEXT], error[TD_ERROR_TEXT];
    printf("%-*s  %s\n%-*s  error: %s\n", WIDTH, td_mode_usage(engine, name), engine->summary,
           WIDTH, "", td_error_print(engine, error));
}

static void print_json(void)
{
    printf("[");
    for (const td_engine *const *engine = td_engines; *engine; engine++) {
        char usage[TD_MODE_TEXT], error[TD_ERROR_TEXT];
        td_json_print_members(stdout, engine == td_engines ? "\n  {" : ",\n  {",
                              (const td_json_member[]){
                                  {"name", (*engine)->name},
                                  {"usage", td_mode_usage(*engine, usage)},
                                  {"summary", (*engine)->summary},
                                  {"error", td_error_print(*engine, error)},
                                  {NULL, NULL},
                              });
        printf("}");
    }
    printf("\n]\n");
}

static int run(const command_line *line)
{
    if (line->values[WANTS_JSON]) {
        print_json();
        return 0;
    }
    for (const td_engine *const *engine = td_engines; *engine; engine++)
        (line->values[WANTS_NAMES] ? print_names : print_described)(*engine);
    return 0;
}

const command command_modes = {
    .name = "modes",
    .arguments = "",
    .summary = "list the arithmetics and their error bounds",
    .details =
        "Errors are of every element of C = alpha A B + beta C, k being the terms of its sum, "
        "2 k of a complex one. Measured is what tests hold for data that were not made "
        "against the mode; the rest is proven. Below 2^-1022 a rounding is to a multiple of "
        "2^-1074, and `ts`, `dd` and `d+s` round twice.",
    .options = {[WANTS_NAMES] = {"names", NULL, "print the names alone, one a line"},
                [WANTS_JSON] = {"json", NULL, "print them as JSON"}},
    .alone = {{WANTS_NAMES, ""}},
    .run = run,
};
