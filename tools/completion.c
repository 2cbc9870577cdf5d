#include <stdio.h>
#include <string.h>

#include "lib/routine/mode.h"
#include "lib/model/model.h"
#include "lib/options/options.h"
#include "tools/help.h"
#include "tools/plan_call.h"
#include "tools/report_merge.h"

/* ---- what an option takes, from the tables of modes, options and devices ---- */

/* A kind of argument is the word that --help shows for it. */
static const char *const listed_kinds[] = {"MODE", "MODES",    "ACCURACY", "STRATEGY", "OPS",
                                           "NAME", "ELEMENTS", "ORDER",    "ROUTINE",  "SIDE"};
enum { LISTED_KINDS = sizeof listed_kinds / sizeof *listed_kinds };

/* Prints a value as a shell's script wants it. */
typedef void value_printer(const char *value);

static void print_modes(value_printer *print)
{
    char name[TD_MODE_TEXT];
    for (const td_engine *const *engine = td_engines; *engine; engine++) {
        print((*engine)->name);
        snprintf(name, sizeof name, "%s:%s", (*engine)->name, (*engine)->way ? (*engine)->way : "");
        if ((*engine)->way) print(name);
    }
}

static void print_strategies(value_printer *print)
{
    char names[TD_ALLOWED_BYTES];
    td_option_allowed(TD_OPTION_STRATEGY, names, sizeof names);
    char *rest = names;
    for (char *name; (name = strtok_r(rest, ", ", &rest));) print(name);
}

static void print_ops(value_printer *print)
{
    static const char letters[] = "NTC";
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) print((const char[]){letters[a], letters[b], '\0'});
}

static void print_listed(const char *kind, value_printer *print)
{
    if (strncmp(kind, "MODE", strlen("MODE")) == 0) print_modes(print);
    if (strcmp(kind, "STRATEGY") == 0) print_strategies(print);
    if (strcmp(kind, "OPS") == 0) print_ops(print);
    for (int i = 0; strcmp(kind, "ORDER") == 0 && i < ORDERS; i++) print(merged_orders[i]);
    plan_routine r;
    for (int i = 0; strcmp(kind, "ROUTINE") == 0 && plan_routine_at(i, &r); i++) print(r.name.text);
    if (strcmp(kind, "SIDE") == 0) {
        print("L");
        print("R");
    }
    if (strcmp(kind, "ELEMENTS") == 0) {
        print("sample");
        print("full");
    }
    if (strcmp(kind, "ACCURACY") == 0) {
        print("fp64");
        print("faithful");
    }
    for (const td_card *card = td_cards; strcmp(kind, "NAME") == 0 && card->name[0]; card++)
        print(card->name);
}

static bool is_listed(const char *kind)
{
    for (int i = 0; i < LISTED_KINDS; i++)
        if (strcmp(kind, listed_kinds[i]) == 0) return true;
    return false;
}

static bool has_program(const command *c) { return strstr(c->arguments, "PROGRAM"); }

/* Prints a text for within single quotes: characters of `special` behind a backslash, and `quote`
 * for a single quote. */
static void print_quoted(const char *text, const char *special, const char *quote)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs(quote, stdout);
        else
            printf("%s%c", strchr(special, *text) ? "\\" : "", *text);
    }
}

/* ---- bash ---- */

/* The script: these tables, and what walks them. */
static const char bash_body[] =
    "    local words=() joins= piece\n"
    "    # Readline cuts words at = and :, too, which are pieces of their own.\n"
    "    for piece in \"${COMP_WORDS[@]:0:COMP_CWORD + 1}\"; do\n"
    "        if [[ $joins || ${words[*]-} && $piece =~ ^[=:]+$ ]]; then\n"
    "            words[${#words[@]} - 1]+=$piece\n"
    "        else\n"
    "            words+=(\"$piece\")\n"
    "        fi\n"
    "        joins=\n"
    "        [[ $piece =~ ^[=:]+$ ]] && joins=yes\n"
    "    done\n"
    "    local last=$((${#words[@]} - 1)) kind i value list=\n"
    "    local word=${words[last]} command=${words[1]} before=${words[last - 1]}\n"
    "    # Of the word, what COMPREPLY must not have.\n"
    "    local cut=\n"
    "    if [ \"$word\" != \"${COMP_WORDS[COMP_CWORD]}\" ]; then\n"
    "        case $word in --*=*) before=${word%%=*} word=${word#*=} ;; esac\n"
    "        [[ $piece =~ ^[=:]+$ ]] && piece=\n"
    "        cut=${word%\"$piece\"}\n"
    "    fi\n"
    "    word=${word//[\\\\\\\"\\']/} # as typed, with quotes\n"
    "    COMPREPLY=()\n"
    "    if [ \"$last\" = 1 ]; then\n"
    "        kind='[COMMAND]'\n"
    "    elif [ -n \"${takes[$command $before]-}\" ]; then\n"
    "        kind=${takes[$command $before]}\n"
    "    else\n"
    "        kind=${arguments[$command]-}\n"
    "        for ((i = 2; i < last; i++)); do\n"
    "            [ -n \"${takes[$command ${words[i]}]-}\" ] && i=$((i + 1)) && continue\n"
    "            [ \"${words[i]#-}\" != \"${words[i]}\" ] || kind=FILE # after the program\n"
    "        done\n"
    "        [ \"$kind\" = FILE ] || COMPREPLY=($(compgen -W \"${options[$command]-}\" -- "
    "\"$word\"))\n"
    "    fi\n"
    "    if [ -n \"${values[${kind:-none}]-}\" ]; then\n"
    "        [ \"$kind\" != MODES ] || [ \"${word%,*}\" = \"$word\" ] || list=${word%,*},\n"
    "        while read -r value; do\n"
    "            [ -n \"$value\" ] || continue\n"
    "            case $list$value in \"$word\"*) COMPREPLY+=(\"$list$value\") ;; esac\n"
    "        done <<<\"${values[$kind]}\"\n"
    "    fi\n"
    "    while IFS= read -r value; do\n"
    "        COMPREPLY+=(\"$value\")\n"
    "    done < <(\n"
    "        case $kind in\n"
    "        *COMMAND*) compgen -W \"${!arguments[*]}\" -- \"$word\" ;;\n"
    "        *PROGRAM*) compgen -c -- \"$word\"; compgen -f -- \"$word\" ;;\n"
    "        FILE*) compgen -f -- \"$word\" ;;\n"
    "        FOLDER) compgen -d -- \"$word\" ;;\n"
    "        esac\n"
    "    )\n"
    "    [ -z \"$cut\" ] || COMPREPLY=(\"${COMPREPLY[@]#\"$cut\"}\")\n"
    "}\n"
    "complete -o filenames -F _tandem tandem\n";

static void print_bash_value(const char *value) { printf("%s\n", value); }

static void print_bash_tables(void)
{
    printf("    local -A arguments=(");
    for (const command *const *c = commands; *c; c++)
        printf("\n        [%s]='%s'", (*c)->name, (*c)->arguments);
    printf(")\n    local -A options=(");
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
    printf(")\n    local -A values=(");
    for (int i = 0; i < LISTED_KINDS; i++) {
        printf("\n        [%s]='", listed_kinds[i]);
        print_listed(listed_kinds[i], print_bash_value);
        printf("'");
    }
    printf(")\n");
}

int help_bash(void)
{
    printf("# Completion of tandem for bash, made by `tandem help --bash`.\n_tandem() {\n");
    print_bash_tables();
    fputs(bash_body, stdout);
    return 0;
}

/* ---- zsh ---- */

/* In the words of _arguments a colon ends a part, and a bracket the summary. */
static void print_zsh_text(const char *text) { print_quoted(text, ":[]\\", "'\\''"); }

static void print_zsh_value(const char *value)
{
    print_quoted(value, " ():\\", "'\\''");
    putchar(' ');
}

static void print_zsh_option(const command_option *o)
{
    printf(" \\\n            '--%s%s[", o->name, o->argument ? "=" : "");
    print_zsh_text(o->summary);
    printf("]");
    if (o->argument) printf(":%s:", o->argument);
    if (o->argument && is_listed(o->argument)) {
        const bool is_list = strcmp(o->argument, "MODES") == 0;
        printf(is_list ? "_values -s , mode " : "(");
        print_listed(o->argument, print_zsh_value);
        if (!is_list) printf(")");
    } else if (o->argument && strcmp(o->argument, "FILE") == 0) {
        printf("_files");
    } else if (o->argument && strcmp(o->argument, "FOLDER") == 0) {
        printf("_files -/");
    }
    printf("'");
}

static void print_zsh_command(const command *c)
{
    printf("    %s)\n        _arguments -S", c->name);
    for (int o = 0; o < COMMAND_OPTIONS && c->options[o].name; o++)
        print_zsh_option(&c->options[o]);
    printf(" \\\n            '--help[describe the command]'");
    if (has_program(c))
        printf(" \\\n            '(-):program:_command_names -e'"
               " \\\n            '*::arguments:_normal'");
    if (strncmp(c->arguments, "FILE", strlen("FILE")) == 0)
        printf(" \\\n            '*:file:_files'");
    if (strstr(c->arguments, "COMMAND")) {
        printf(" \\\n            ':command:(");
        for (const command *const *named = commands; *named; named++)
            print_zsh_value((*named)->name);
        printf(")'");
    }
    printf("\n        ;;\n");
}

int help_zsh(void)
{
    printf("#compdef tandem\n# Completion of tandem for zsh, made by `tandem help --zsh`.\n"
           "_tandem() {\n    local -a commands=(");
    for (const command *const *c = commands; *c; c++) {
        printf("\n        '%s:", (*c)->name);
        print_zsh_text((*c)->summary);
        printf("'");
    }
    printf(")\n    if ((CURRENT == 2)); then\n        _describe command commands\n        return\n"
           "    fi\n    shift words\n    ((CURRENT--))\n    case $words[1] in\n");
    for (const command *const *c = commands; *c; c++) print_zsh_command(*c);
    printf("    esac\n}\n_tandem \"$@\"\n");
    return 0;
}

/* ---- fish ---- */

static void print_fish_text(const char *text) { print_quoted(text, "\\", "\\'"); }

/* Within double quotes, because values have spaces. */
static void print_fish_value(const char *value) { printf("'%s' ", value); }

static void print_fish_option(const command *c, const command_option *o)
{
    printf("complete -c tandem -n '__fish_seen_subcommand_from %s' -l %s", c->name, o->name);
    if (o->argument && is_listed(o->argument)) {
        printf(" -x -a \"");
        print_listed(o->argument, print_fish_value);
        printf("\"");
    } else if (o->argument && strcmp(o->argument, "FILE") == 0) {
        printf(" -r -F");
    } else if (o->argument && strcmp(o->argument, "FOLDER") == 0) {
        printf(" -x -a '(__fish_complete_directories)'");
    } else if (o->argument) {
        printf(" -x");
    }
    printf(" -d '");
    print_fish_text(o->summary);
    printf("'\n");
}

int help_fish(void)
{
    static const command_option help = {"help", NULL, "describe the command"};
    printf(
        "# Completion of tandem for fish, made by `tandem help --fish`.\ncomplete -c tandem -f\n");
    for (const command *const *c = commands; *c; c++) {
        printf("complete -c tandem -n __fish_use_subcommand -a %s -d '", (*c)->name);
        print_fish_text((*c)->summary);
        printf("'\n");
        for (int o = 0; o < COMMAND_OPTIONS && (*c)->options[o].name; o++)
            print_fish_option(*c, &(*c)->options[o]);
        print_fish_option(*c, &help);
        if (has_program(*c))
            printf("complete -c tandem -n '__fish_seen_subcommand_from %s' -a "
                   "'(__fish_complete_subcommand --fcs-skip=2)'\n",
                   (*c)->name);
        if (strncmp((*c)->arguments, "FILE", strlen("FILE")) == 0)
            printf("complete -c tandem -n '__fish_seen_subcommand_from %s' -F\n", (*c)->name);
        if (strstr((*c)->arguments, "COMMAND")) {
            printf("complete -c tandem -n '__fish_seen_subcommand_from %s' -a '", (*c)->name);
            for (const command *const *named = commands; *named; named++)
                printf("%s ", (*named)->name);
            printf("'\n");
        }
    }
    return 0;
}
