#include "tools/help.h"

#include <stdio.h>
#include <string.h>

#include "tools/say.h"

static int overview(void)
{
    printf("tandem COMMAND - FP64 matrix products of cuBLAS programs in emulated arithmetic\n\n");
    int width = 0;
    for (const command *const *c = commands; *c; c++)
        if ((int)strlen((*c)->name) > width) width = (int)strlen((*c)->name);
    for (const command *const *c = commands; *c; c++)
        printf("  %-*s  %s\n", width, (*c)->name, (*c)->summary);
    printf("\ntandem COMMAND --help, or tandem help COMMAND, describes one command.\n");
    return 0;
}

enum { WANTS_MANUAL, WANTS_BASH, WANTS_ZSH, WANTS_FISH };

static int run(const command_line *line)
{
    if (line->values[WANTS_MANUAL]) return help_manual();
    if (line->values[WANTS_BASH]) return help_bash();
    if (line->values[WANTS_ZSH]) return help_zsh();
    if (line->values[WANTS_FISH]) return help_fish();
    if (line->count == 0) return overview();
    const command *c = command_find(line->arguments[0]);
    if (c) return command_describe(c);
    command_refuse(line->arguments[0]);
    return EXIT_USAGE;
}

const command command_help = {
    .name = "help",
    .arguments = "[COMMAND]",
    .most = 1,
    .summary = "describe the commands, or one of them",
    .details = "",
    .options = {[WANTS_MANUAL] = {"man", NULL, "write the manual page, tandem.1, instead"},
                [WANTS_BASH] = {"bash", NULL, "write the completion for bash instead"},
                [WANTS_ZSH] = {"zsh", NULL, "the same for zsh"},
                [WANTS_FISH] = {"fish", NULL, "the same for fish"}},
    .alone = {{WANTS_MANUAL, ""}, {WANTS_BASH, ""}, {WANTS_ZSH, ""}, {WANTS_FISH, ""}},
    .run = run,
};
