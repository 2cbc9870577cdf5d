#include <stdio.h>

#include "tools/help.h"

/* The script: these tables, made from the commands, and what walks them. A kind is the word that --help shows for an
 * argument, without what stands round it. */
static const char body[] =
    "    local word=${COMP_WORDS[COMP_CWORD]} kind i\n"
    "    local command=${COMP_WORDS[1]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    COMPREPLY=()\n"
    "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
    "        kind='[COMMAND]'\n"
    "    elif [ -n \"${takes[$command $before]-}\" ]; then\n"
    "        kind=${takes[$command $before]}\n"
    "    else\n"
    "        kind=${arguments[$command]-}\n"
    "        for ((i = 2; i < COMP_CWORD; i++)); do\n"
    "            [ -n \"${takes[$command ${COMP_WORDS[i]}]-}\" ] && i=$((i + 1)) && continue\n"
    "            [ \"${COMP_WORDS[i]#-}\" != \"${COMP_WORDS[i]}\" ] || kind=FILE # after the "
    "program\n"
    "        done\n"
    "        [ \"$kind\" = FILE ] || COMPREPLY=($(compgen -W \"${options[$command]-}\" -- "
    "\"$word\"))\n"
    "    fi\n"
    "    case $kind in\n"
    "    MODE) COMPREPLY+=($(compgen -W \"$(\"${COMP_WORDS[0]}\" modes --names)\" -- \"$word\")) "
    ";;\n"
    "    *COMMAND*) COMPREPLY+=($(compgen -W \"${!arguments[*]}\" -- \"$word\")) ;;\n"
    "    *PROGRAM*) COMPREPLY+=($(compgen -c -- \"$word\") $(compgen -f -- \"$word\")) ;;\n"
    "    FILE) COMPREPLY+=($(compgen -f -- \"$word\")) ;;\n"
    "    esac\n"
    "}\n"
    "complete -o filenames -F _tandem tandem\n";

static void print_options(void)
{
    printf("    local -A options=(");
    for (const command *const *c = commands; *c; c++) {
        printf("\n        [%s]='", (*c)->name);
        for (int o = 0; o < COMMAND_OPTIONS && (*c)->options[o].name; o++)
            printf("--%s ", (*c)->options[o].name);
        printf("--help'");
    }
    printf(")\n    local -A takes=(");
    for (const command *const *c = commands; *c; c++)
        for (int o = 0; o < COMMAND_OPTIONS && (*c)->options[o].name; o++)
            if ((*c)->options[o].argument)
                printf("\n        ['%s --%s']='%s'", (*c)->name, (*c)->options[o].name,
                       (*c)->options[o].argument);
    printf(")\n");
}

int help_completion(void)
{
    printf("# Completion of tandem for bash, made by `tandem help --bash`.\n_tandem() {\n");
    printf("    local -A arguments=(");
    for (const command *const *c = commands; *c; c++)
        printf("\n        [%s]='%s'", (*c)->name, (*c)->arguments);
    printf(")\n");
    print_options();
    fputs(body, stdout);
    return 0;
}
