#include <ctype.h>
#include <stdio.h>

#include "include/tandem.h"
#include "lib/engines/proven.h"
#include "lib/options/options.h"
#include "tools/help.h"

/* Text as roff(7) takes it: `words` in bold, and no character that means something at its place. */
static void print_text(const char *text)
{
    bool is_bold = false;
    if (*text == '.' || *text == '\'') printf("\\&");
    for (; *text; text++) {
        if (*text == '`') {
            is_bold = !is_bold;
            printf(is_bold ? "\\fB" : "\\fR");
        } else if (*text == '\\') {
            printf("\\e");
        } else if (*text == '-') {
            printf("\\-");
        } else {
            putchar(*text);
        }
    }
    putchar('\n');
}

static void print_tagged(const char *tag, const char *text)
{
    printf(".TP\n.B ");
    print_text(tag);
    print_text(text);
}

static void print_commands(void)
{
    printf(".SH COMMANDS\n");
    for (const command *const *c = commands; *c; c++) {
        printf(".SS tandem %s%s%s%s\n", (*c)->name, (*c)->options[0].name ? " [OPTION...]" : "",
               (*c)->arguments[0] ? " " : "", (*c)->arguments);
        printf("%c%s.\n", toupper((unsigned char)(*c)->summary[0]), (*c)->summary + 1);
        if ((*c)->details[0]) print_text((*c)->details);
        for (int i = 0; i < COMMAND_OPTIONS && (*c)->options[i].name; i++) {
            char tag[64];
            const command_option *o = &(*c)->options[i];
            snprintf(tag, sizeof tag, "--%s%s%s", o->name, o->argument ? " " : "",
                     o->argument ? o->argument : "");
            print_tagged(tag, o->summary);
        }
    }
}

static void print_modes(void)
{
    printf(".SH MODES\n");
    for (const td_engine *const *engine = td_engines; *engine; engine++) {
        char name[TD_MODE_TEXT], error[TD_ERROR_TEXT];
        print_tagged(td_mode_usage(*engine, name), (*engine)->summary);
        printf(".br\nError: ");
        print_text(td_error_print(*engine, error));
    }
}

static void print_environment(void)
{
    printf(".SH ENVIRONMENT\n");
    for (td_option_id id = 0; id < TD_OPTION_COUNT; id++) {
        char allowed[TD_ALLOWED_BYTES], text[TD_ALLOWED_BYTES + 64];
        const td_option *row = &td_option_table[id];
        td_option_allowed(id, allowed, sizeof allowed);
        snprintf(text, sizeof text, "Values: %s. Default: `%s`.", allowed, row->fallback);
        print_tagged(row->name, row->help);
        printf(".br\n");
        print_text(text);
    }
}

int help_manual(void)
{
    printf(".\\\" Made by `tandem help --man`.\n"
           ".TH TANDEM 1 \"\" \"Tandem %s\" \"User Commands\"\n"
           ".SH NAME\ntandem \\- run cuBLAS programs with their FP64 matrix products emulated\n"
           ".SH SYNOPSIS\n.B tandem\n.I COMMAND\n[\\fIARGUMENT\\fR...]\n"
           ".SH DESCRIPTION\n"
           "Tandem stands in front of cuBLAS and computes the binary64 matrix products of programs "
           "that know "
           "nothing of it in another arithmetic, which the environment names.\n",
           tandem_version());
    print_commands();
    print_modes();
    print_environment();
    printf(".SH EXIT STATUS\n"
           "Of \\fBtandem run\\fR that of the program; 126 if it cannot be executed, 127 if there "
           "is none, "
           "1 if there is nothing to run it on. Of all commands 2 for arguments or variables that "
           "are not "
           "allowed.\n"
           ".SH EXAMPLES\n.nf\n"
           "tandem run \\-\\-mode ozaki2 \\-\\-report \\- \\-\\- ./solver input\n"
           "TANDEM_MODE=df LD_PRELOAD=libtandem.so ./solver input\n"
           ".fi\n");
    return 0;
}
