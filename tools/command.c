#include "tools/command.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/options/nearest.h"
#include "tools/say.h"

const command *command_find(const char *name)
{
    for (const command *const *c = commands; *c; c++)
        if (strcmp((*c)->name, name) == 0) return *c;
    return NULL;
}

const char *command_names(void)
{
    static char names[160];
    names[0] = '\0';
    for (const command *const *c = commands; *c; c++) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", (*c)->name);
    }
    return names;
}

void command_refuse(const char *name)
{
    char question[TD_QUESTION_BYTES];
    td_nearest search = {.name = name};
    for (const command *const *c = commands; *c; c++) td_nearest_offer(&search, (*c)->name);
    complain("unknown command '%s'; allowed: %s%s", name, command_names(),
             td_nearest_ask(&search, question));
}

int command_describe(const command *c)
{
    const char *space = c->arguments[0] ? " " : "";
    printf("tandem %s%s%s%s\n%s\n", c->name, c->options[0].name ? " [OPTION...]" : "", space,
           c->arguments, c->summary);
    for (const command_option *o = c->options; o < c->options + COMMAND_OPTIONS && o->name; o++) {
        const int used =
            printf("  --%s%s%s", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
        printf("%*s%s\n", used < 23 ? 23 - used : 1, "", o->summary);
    }
    if (c->details[0]) printf("%s\n", c->details);
    return 0;
}

bool command_number(const char *option, const char *text, const command_range *range, long *value)
{
    char *end;
    if (!text) return true;
    *value = strtol(text, &end, 10);
    if (end != text && *end == '\0' && *value >= range->least && *value <= range->most) return true;
    return complain("--%s is '%s'; allowed: %ld to %ld%s%s", option, text, range->least,
                    range->most, range->unit[0] ? " " : "", range->unit);
}

/* The word that holds what getopt_long returned last: it stays before a word of one dash until it
 * has had all of its letters. */
static const char *current_word(char **argv, int letter)
{
    const char *next = argv[optind];
    const bool has_more = next && next[0] == '-' && letter && next[1] == letter && next[2];
    return has_more ? next : argv[optind - 1];
}

/* Says that a command has no such option, and which one may have been meant. */
static void refuse_unknown(const command *c, const char *word)
{
    td_nearest search = {.name = word + strspn(word, "-")};
    for (const command_option *o = c->options; o < c->options + COMMAND_OPTIONS && o->name; o++)
        td_nearest_offer(&search, o->name);
    const bool is_near = search.best;
    complain("unknown option '%s'; see tandem %s --help%s%s%s", word, c->name,
             is_near ? "; did you mean --" : "", is_near ? search.best : "", is_near ? "?" : "");
}

/* Says which argument getopt_long has refused (after it returned '?' or ':'). */
static int refuse(const command *c, char **argv)
{
    const char *word = current_word(argv, optopt);
    /* Of words with two dashes optopt is set if getopt knows the name. */
    if (!optopt || strncmp(word, "--", 2) != 0)
        refuse_unknown(c, word);
    else if (strchr(word, '='))
        complain("option '%.*s' takes no argument; see tandem %s --help", (int)strcspn(word, "="),
                 word, c->name);
    else
        complain("option '%s' needs an argument; see tandem %s --help", word, c->name);
    return EXIT_USAGE;
}

/* What getopt_long returns for the option in place 0; a character that is none. */
enum { FIRST_OPTION = 256 };

/* The command's options and --help, as getopt_long takes them. */
static void list_options(const command *c, struct option list[COMMAND_OPTIONS + 2])
{
    int count = 0;
    for (; count < COMMAND_OPTIONS && c->options[count].name; count++)
        list[count] =
            (struct option){.name = c->options[count].name,
                            .has_arg = c->options[count].argument ? required_argument : no_argument,
                            .val = FIRST_OPTION + count};
    list[count] = (struct option){.name = "help", .val = 'h'};
    list[count + 1] = (struct option){0};
}

/* What was given beside an option that takes less than that, as it was written; NULL if nothing
 * was. */
static const char *find_surplus(const command_line *line, const command_alone *alone)
{
    static char text[64];
    for (int i = 0; i < COMMAND_OPTIONS; i++) {
        if (!line->values[i] || i == alone->option) continue;
        snprintf(text, sizeof text, "--%s", line->command->options[i].name);
        if (!strstr(alone->with, text)) return text;
    }
    return line->count > 0 ? line->arguments[0] : NULL;
}

/* False, after a line that names what is too much, if an option was given with what it would leave
 * without effect. */
static bool fits_together(const command_line *line)
{
    const command *c = line->command;
    for (const command_alone *a = c->alone; a->with; a++) {
        const char *surplus = line->values[a->option] ? find_surplus(line, a) : NULL;
        if (!surplus) continue;
        complain("unexpected '%s'; tandem %s --%s takes %s%snothing else", surplus, c->name,
                 c->options[a->option].name, a->with, a->with[0] ? ", and " : "");
        return false;
    }
    return true;
}

int command_execute(const command *c, int argc, char **argv)
{
    struct option list[COMMAND_OPTIONS + 2];
    command_line line = {.command = c};
    list_options(c, list);
    opterr = 0;
    /* A program's own options come after its name. */
    const char *letters = c->most < 0 ? "+:h" : ":h";
    for (int o; (o = getopt_long(argc, argv, letters, list, NULL)) != -1;) {
        const char *word = current_word(argv, o);
        if (o == 'h' && word[1] == 'h' && word[2]) {
            refuse_unknown(c, word); /* -hostgpu is no -h */
            return EXIT_USAGE;
        }
        if (o == 'h') return command_describe(c);
        if (o < FIRST_OPTION) return refuse(c, argv);
        line.values[o - FIRST_OPTION] = optarg ? optarg : "";
    }
    line.arguments = argv + optind;
    line.count = argc - optind;
    if (!fits_together(&line)) return EXIT_USAGE;
    if (c->most < 0 || line.count <= c->most) return c->run(&line);
    return usage_error("unexpected argument '%s'; tandem %s takes %s", line.arguments[c->most],
                       c->name, c->most ? c->arguments : "none");
}
