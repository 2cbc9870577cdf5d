#include "lib/options/options.h"

#include <stdio.h>
#include <unistd.h>

#include "lib/report/json_text.h"
#include "tools/tandem.h"
#include "tools/visible.h"

static void print_values(const td_options *o)
{
    for (td_option_id id = 0; id < TD_OPTION_COUNT; id++) {
        const td_option *row = &td_option_table[id];
        char value[TD_OPTION_TEXT_BYTES], allowed[TD_ALLOWED_BYTES];
        td_option_print(o, id, value, sizeof value);
        td_option_allowed(id, allowed, sizeof allowed);
        visible_line(stdout, "%s=%s (%s)", row->name, value, td_origin_names[o->origins[id]]);
        printf("    %s\n    values: %s\n", row->help, allowed);
    }
}

static void print_json(const td_options *o)
{
    printf("[");
    for (td_option_id id = 0; id < TD_OPTION_COUNT; id++) {
        const td_option *row = &td_option_table[id];
        char value[TD_OPTION_TEXT_BYTES], allowed[TD_ALLOWED_BYTES];
        td_option_print(o, id, value, sizeof value);
        td_option_allowed(id, allowed, sizeof allowed);
        td_json_print_members(stdout, id ? ",\n  {" : "\n  {",
                              (const td_json_member[]){
                                  {"name", row->name},
                                  {"value", value},
                                  {"origin", td_origin_names[o->origins[id]]},
                                  {"default", row->fallback},
                                  {"values", allowed},
                                  {"help", row->help},
                                  {NULL, NULL},
                              });
        printf("}");
    }
    printf("\n]\n");
}

static void print_markdown(void)
{
    printf(
        "# Options\n\n"
        "Environment variables, read once when the library is loaded. This page is the output of\n"
        "`tandem options --markdown`; `tandem options` shows the values in force and where they\n"
        "come from. A program may set those of mode, accuracy, strategy, workspace, verify and\n"
        "graph_branch while it runs (docs/regions.md).\n\n"
        "| variable | values | default | meaning |\n|---|---|---|---|\n");
    for (td_option_id id = 0; id < TD_OPTION_COUNT; id++) {
        const td_option *row = &td_option_table[id];
        char allowed[TD_ALLOWED_BYTES];
        td_option_allowed(id, allowed, sizeof allowed);
        printf("| `%s` | %s | `%s` | %s |\n", row->name, allowed, row->fallback, row->help);
    }
    printf("\nAn empty value counts as none. A malformed value gets one line on stderr that names "
           "the\n"
           "variable, the value and what is allowed; the library then leaves every product to "
           "cuBLAS,\n"
           "and `tandem run` does not start the program (exit status 2). An unknown `TANDEM_*` "
           "variable\n"
           "gets a warning with the nearest known name. `tandem run --mode`, `--accuracy`,\n"
           "`--strategy`, `--workspace`, `--verify`, `--rules` and `--report` set `TANDEM_MODE`, "
           "`TANDEM_ACCURACY` and so "
           "on for "
           "the\nprogram.\n");
}

enum { WANTS_MARKDOWN, WANTS_JSON };

static int run(const command_line *line)
{
    if (line->values[WANTS_MARKDOWN]) {
        print_markdown();
        return 0;
    }
    td_options o;
    const bool is_good = td_options_read(&o, environ);
    (line->values[WANTS_JSON] ? print_json : print_values)(&o);
    return is_good ? 0 : EXIT_USAGE;
}

const command command_options = {
    .name = "options",
    .arguments = "",
    .summary = "list the environment variables with the values in force",
    .details = "",
    .options = {[WANTS_MARKDOWN] = {"markdown", NULL, "write the table of docs/options.md instead"},
                [WANTS_JSON] = {"json", NULL, "print them as JSON"}},
    .alone = {{WANTS_MARKDOWN, ""}},
    .run = run,
};
