#include "options.h"

#include <stdio.h>
#include <string.h>

#include "nearest.h"

#define PREFIX "TANDEM_"

const char *const td_origin_names[] = {"default", "environment", "call"};

/* ---- the table, and what walks it ---- */

#define OPTION(id, kind, field, when, fallback, allowed, help)                                     \
    {                                                                                              \
        PREFIX #id,                                                                                \
        &td_option_kind_##kind,                                                                    \
        offsetof(td_options, field),                                                               \
        TD_##when,                                                                                 \
        fallback,                                                                                  \
        allowed,                                                                                   \
        help},
const td_option td_option_table[TD_OPTION_COUNT] = {
#include "options.def"
};
#undef OPTION

static bool parse(td_option_id id, const char *text, td_options *o)
{
    return td_option_table[id].kind->parse(text, (char *)o + td_option_table[id].offset);
}

void td_option_print(const td_options *o, td_option_id id, char *text, size_t bytes)
{
    td_option_table[id].kind->print((const char *)o + td_option_table[id].offset, text, bytes);
}

void td_option_allowed(td_option_id id, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s", td_option_table[id].allowed);
    if (td_option_table[id].kind->list) td_option_table[id].kind->list(text, bytes);
}

/* Asks whether one of a kind's names was meant by the text; "" if it has none, or none is near.
 * What follows a colon, a parameter, is left aside: where that alone is wrong, the name is not. */
static const char *ask(const struct td_option_kind *kind, const char *text,
                       char question[TD_QUESTION_BYTES])
{
    char names[TD_ALLOWED_BYTES] = "", part[TD_VALUE_NAME_BYTES];
    snprintf(part, sizeof part, "%.*s", (int)strcspn(text, ":"), text);
    td_nearest search = {.name = part};
    if (kind->list) kind->list(names, sizeof names);
    char *rest = names;
    for (char *known; (known = strtok_r(rest, ", ", &rest));) {
        known[strcspn(known, "[:")] = '\0';
        td_nearest_offer(&search, known);
    }
    if (search.edits == 0) search.best = NULL;
    return td_nearest_ask(&search, question);
}

/* Gives an option the value that `text` says, as td_options_set does; a text that says none is
 * refused with a line in `why`, which ends with `consequence` (", so ..."). */
static bool try_to_set(td_options *o, td_option_id id, const char *name, const char *text,
                       td_origin origin, const char *consequence, char why[TD_WHY_BYTES])
{
    td_options changed = *o;
    if (!parse(id, text, &changed)) {
        char allowed[TD_ALLOWED_BYTES], question[TD_QUESTION_BYTES];
        td_option_allowed(id, allowed, sizeof allowed);
        snprintf(why, TD_WHY_BYTES, "%s is '%.200s'%s; allowed: %s%s", name, text, consequence,
                 allowed, ask(td_option_table[id].kind, text, question));
        return false;
    }
    changed.origins[id] = origin;
    *o = changed;
    return true;
}

static bool set(td_options *o, td_option_id id, const char *name, const char *text,
                td_origin origin, const char *consequence)
{
    char why[TD_WHY_BYTES];
    if (try_to_set(o, id, name, text, origin, consequence, why)) return true;
    td_log(TD_LOG_ERROR, "%s", why);
    return false;
}

bool td_options_set(td_options *o, td_option_id id, const char *name, const char *text,
                    td_origin origin)
{
    return set(o, id, name, text, origin, "");
}

void td_options_set_defaults(td_options *o)
{
    *o = (td_options){0};
    for (td_option_id id = 0; id < TD_OPTION_COUNT; id++)
        (void)parse(id, td_option_table[id].fallback, o);
}

/* The value of a variable, or NULL if it is not set or empty. */
static const char *find_value(char *const *environment, const char *name)
{
    const size_t length = strlen(name);
    for (; *environment; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return (*environment)[length + 1] ? *environment + length + 1 : NULL;
    return NULL;
}

/* Nothing is emulated by options of which one is malformed; what is said and reported stays, where
 * it is not that one. */
static void keep_only_words(td_options *o)
{
    static const td_option_id words[] = {TD_OPTION_LOG, TD_OPTION_REPORT, TD_OPTION_REPORT_EVERY};
    const td_options read = *o;
    td_options_set_defaults(o);
    o->log = read.log;
    o->report = read.report;
    o->report_every = read.report_every;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        o->origins[words[i]] = read.origins[words[i]];
}

static bool parse_all(td_options *o, char *const *environment, const char *consequence)
{
    bool is_good = true;
    td_options_set_defaults(o);
    for (td_option_id id = 0; id < TD_OPTION_COUNT; id++) {
        const char *name = td_option_table[id].name;
        const char *text = find_value(environment, name);
        if (text && !set(o, id, name, text, TD_ORIGIN_ENVIRONMENT, consequence)) is_good = false;
    }
    if (!is_good) keep_only_words(o);
    return is_good;
}

bool td_options_parse(td_options *o, char *const *environment)
{
    return parse_all(o, environment, "");
}

/* True of modes that may be faster than native, or not, as the data are. */
static bool is_lost_or_won(const td_engine *engine)
{
    return engine != td_engines[0] && !engine->is_never_faster;
}

/* td_options_agree, with the line in why instead of the log; prefix: of the options' names. */
static bool agree(const td_options *o, const char *prefix, const char *consequence,
                  char why[TD_WHY_BYTES])
{
    if (o->strategy != TD_STRATEGY_ADAPTIVE || o->rules.text[0] || is_lost_or_won(o->mode.engine))
        return true;
    const bool is_short = !*prefix;
    snprintf(
        why, TD_WHY_BYTES,
        "%s%s is 'adaptive', and %s%s is '%s'%s; allowed: mode auto, or one that may be faster "
        "than native",
        prefix, is_short ? "strategy" : "STRATEGY", prefix, is_short ? "mode" : "MODE",
        o->mode.text, consequence);
    return false;
}

bool td_options_agree(const td_options *o, const char *consequence)
{
    char why[TD_WHY_BYTES];
    if (agree(o, PREFIX, consequence, why)) return true;
    td_log(TD_LOG_ERROR, "%s", why);
    return false;
}

/* ---- settings of a running process ---- */

enum { NAME_BYTES = 32 };

/* A to Z alone, whatever the program's locale: Turkish has another small letter for I. */
static char small_letter(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

/* The option's name without TANDEM_, in small letters. */
static const char *short_name_of(td_option_id id, char name[NAME_BYTES])
{
    const char *letters = td_option_table[id].name + strlen(PREFIX);
    size_t i = 0;
    for (; letters[i]; i++) name[i] = small_letter(letters[i]);
    name[i] = '\0';
    return name;
}

td_option_id td_option_find(const char *short_name)
{
    char name[NAME_BYTES];
    td_option_id id = 0;
    while (id < TD_OPTION_COUNT && strcmp(short_name_of(id, name), short_name) != 0) id++;
    return id;
}

/* The names that td_options_change takes. */
static void list_changeable(char *text, size_t bytes)
{
    char name[NAME_BYTES];
    text[0] = '\0';
    for (td_option_id id = 0; id < TD_OPTION_COUNT; id++)
        if (td_option_table[id].when == TD_ANY_TIME)
            td_option_append(text, bytes, "%s%s", text[0] ? ", " : "", short_name_of(id, name));
}

static bool refuse_name(const char *name, bool is_known, char why[TD_WHY_BYTES])
{
    char names[TD_ALLOWED_BYTES];
    list_changeable(names, sizeof names);
    snprintf(why, TD_WHY_BYTES, "'%.200s' is %s; allowed: %s", name,
             is_known ? "an option that is read once, when the process starts"
                      : "no name of an option",
             names);
    return false;
}

/* One word of settings, which is cut in two. */
static bool change_one(td_options *o, char *word, char why[TD_WHY_BYTES])
{
    const char *name = "mode", *value = word;
    char *equals = strchr(word, '=');
    if (equals) {
        *equals = '\0';
        name = word;
        value = equals + 1;
    }
    const td_option_id id = td_option_find(name);
    if (id == TD_OPTION_COUNT) return refuse_name(name, false, why);
    if (td_option_table[id].when != TD_ANY_TIME) return refuse_name(name, true, why);
    return try_to_set(o, id, name, value, TD_ORIGIN_CALL, "", why);
}

bool td_options_change(td_options *o, const char *settings, char why[TD_WHY_BYTES])
{
    char words[TD_SETTINGS_BYTES], *rest = words;
    td_options changed = *o;
    if (!td_option_copy(words, sizeof words, settings)) {
        snprintf(why, TD_WHY_BYTES, "settings have %zu characters; allowed: at most %d",
                 strlen(settings), TD_SETTINGS_BYTES - 1);
        return false;
    }
    for (char *word; (word = strtok_r(rest, " ", &rest));)
        if (!change_one(&changed, word, why)) return false;
    if (!agree(&changed, "", "", why)) return false;
    *o = changed;
    return true;
}

void td_options_print_settings(const td_options *o, char text[TD_SETTINGS_BYTES])
{
    char name[NAME_BYTES], value[TD_OPTION_TEXT_BYTES];
    text[0] = '\0';
    for (td_option_id id = 0; id < TD_OPTION_COUNT; id++) {
        if (td_option_table[id].when != TD_ANY_TIME) continue;
        td_option_print(o, id, value, sizeof value);
        td_option_append(text, TD_SETTINGS_BYTES, "%s%s=%s", text[0] ? " " : "",
                         short_name_of(id, name), value);
    }
}

/* The name in the table with the fewest edits from this one, which is not in it; NULL if none is
 * near. */
static const char *nearest_name(const char *name)
{
    td_nearest nearest = {.name = name};
    for (td_option_id id = 0; id < TD_OPTION_COUNT; id++)
        td_nearest_offer(&nearest, td_option_table[id].name);
    return nearest.best;
}

static bool is_known(const char *name)
{
    for (td_option_id id = 0; id < TD_OPTION_COUNT; id++)
        if (strcmp(name, td_option_table[id].name) == 0) return true;
    return false;
}

/* One warning for every TANDEM_* variable that no row of the table names. */
static void warn_unknown(char *const *environment)
{
    for (; *environment; environment++) {
        char name[TD_VALUE_NAME_BYTES + 1]; /* a longer one is cut, and still unknown */
        if (strncmp(*environment, PREFIX, strlen(PREFIX)) != 0) continue;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(*environment, "="), *environment);
        if (is_known(name)) continue;
        const char *nearest = nearest_name(name);
        if (nearest)
            td_log(TD_LOG_WARN, "unknown variable %s; did you mean %s?", name, nearest);
        else
            td_log(TD_LOG_WARN, "unknown variable %s; `tandem options` lists the known ones", name);
    }
}

bool td_options_read(td_options *o, char *const *environment)
{
    static const char consequence[] = ", so products run native";
    const bool is_well_formed = parse_all(o, environment, consequence),
               is_good = is_well_formed && td_options_agree(o, consequence);
    if (is_well_formed && !is_good) keep_only_words(o);
    if (o->log.level >= TD_LOG_WARN) warn_unknown(environment);
    return is_good;
}
