#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../routine/entries.h"
#include "nearest.h"

enum { NAME_BYTES = 64 };

#define PREFIX "TANDEM_"
/* A tile of 64 x 64 with 512 elements of k in double-double takes 1.1 MiB. */
#define WORKSPACE_MIN_BYTES ((size_t)2 << 20)

const char *const td_origin_names[] = {"default", "environment", "call"};

/* Appends to the text in a buffer of so many bytes; what does not fit is cut. */
__attribute__((format(printf, 3, 4))) static void append(char *text, size_t bytes,
                                                         const char *format, ...)
{
    const size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, bytes - used, format, arguments);
    va_end(arguments);
}

static bool copy(char *to, size_t bytes, const char *from)
{
    return snprintf(to, bytes, "%s", from) < (int)bytes;
}

/* Modes */

static void list_modes(char *text, size_t bytes)
{
    char name[TD_MODE_TEXT];
    for (size_t i = 0; td_engines[i]; i++)
        append(text, bytes, "%s%s", i ? ", " : "", td_mode_usage(td_engines[i], name));
}

static bool parse_mode(const char *text, void *value)
{
    td_option_mode *mode = value;
    mode->engine = td_engine_parse(text, &mode->parameter);
    return mode->engine && copy(mode->text, sizeof mode->text, text);
}

static void print_mode(const void *value, char *text, size_t bytes)
{
    const td_option_mode *mode = value;
    snprintf(text, bytes, "%s", mode->text);
}

/* Accuracy */

enum { LEAST_BITS = 10 };

static bool parse_accuracy(const char *text, void *value)
{
    td_option_accuracy *bits = value;
    *bits = strcmp(text, "faithful") == 0 ? TD_MOST_BITS : 0;
    if (*bits || strcmp(text, "fp64") == 0) return true;
    if (strlen(text) != 2 || !isdigit((unsigned char)text[0]) || !isdigit((unsigned char)text[1]))
        return false;
    *bits = atoi(text);
    return *bits >= LEAST_BITS && *bits < TD_MOST_BITS;
}

static void print_accuracy(const void *value, char *text, size_t bytes)
{
    const td_option_accuracy bits = *(const td_option_accuracy *)value;
    if (bits && bits < TD_MOST_BITS)
        snprintf(text, bytes, "%d", bits);
    else
        snprintf(text, bytes, "%s", bits ? "faithful" : "fp64");
}

/* Strategies */

static const char *const strategies[] = {[TD_STRATEGY_AUTO] = "auto",
                                         [TD_STRATEGY_EAGER] = "eager",
                                         [TD_STRATEGY_PERFORMANT] = "performant",
                                         [TD_STRATEGY_ADAPTIVE] = "adaptive",
                                         [TD_STRATEGY_REPRODUCIBLE] = "reproducible"};
enum { STRATEGIES = sizeof strategies / sizeof *strategies };

static void list_strategies(char *text, size_t bytes)
{
    for (int i = 0; i < STRATEGIES; i++) append(text, bytes, "%s%s", i ? ", " : "", strategies[i]);
}

static bool parse_strategy(const char *text, void *value)
{
    int i = 0;
    while (i < STRATEGIES && strcmp(strategies[i], text) != 0) i++;
    *(td_option_strategy *)value = (td_option_strategy)i;
    return i < STRATEGIES;
}

static void print_strategy(const void *value, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s", strategies[*(const td_option_strategy *)value]);
}

/* Bytes of a workspace */

/* Bits that a suffix shifts by, or -1. */
static int suffix_shift(const char *suffix)
{
    if (suffix[0] == '\0') return 0;
    if (suffix[1] != '\0') return -1;
    switch (tolower((unsigned char)suffix[0])) {
    case 'k':
        return 10;
    case 'm':
        return 20;
    case 'g':
        return 30;
    default:
        return -1;
    }
}

static bool parse_number(const char *text, size_t *bytes)
{
    if (!isdigit((unsigned char)text[0])) return false; /* strtoull takes signs and spaces */
    char *end;
    errno = 0;
    const unsigned long long number = strtoull(text, &end, 10);
    const int shift = suffix_shift(end);
    if (errno || shift < 0 || number > SIZE_MAX >> shift) return false;
    *bytes = (size_t)number << shift;
    return true;
}

static bool parse_bytes(const char *text, void *value)
{
    td_option_bytes *number = value;
    *number = 0;
    if (strcmp(text, "auto") == 0) return true;
    return parse_number(text, number) && *number >= WORKSPACE_MIN_BYTES;
}

static void print_bytes(const void *value, char *text, size_t bytes)
{
    static const char suffixes[] = "kMG";
    td_option_bytes number = *(const td_option_bytes *)value;
    if (number == 0) {
        snprintf(text, bytes, "auto");
        return;
    }
    int i = -1;
    while (i < 2 && number % 1024 == 0) {
        number /= 1024;
        i++;
    }
    snprintf(text, bytes, "%zu%.1s", number, i < 0 ? "" : suffixes + i);
}

/* Where messages go */

static bool parse_log(const char *text, void *value)
{
    td_option_log *log = value;
    const size_t length = strcspn(text, ":");
    int level = 0;
    while (level < TD_LOG_LEVEL_COUNT && (strlen(td_log_level_names[level]) != length ||
                                          strncmp(text, td_log_level_names[level], length) != 0))
        level++;
    if (level == TD_LOG_LEVEL_COUNT) return false;

    log->level = (td_log_level)level;
    log->file[0] = '\0';
    if (text[length] == '\0') return true;
    return text[length + 1] != '\0' && copy(log->file, sizeof log->file, text + length + 1);
}

static void print_log(const void *value, char *text, size_t bytes)
{
    const td_option_log *log = value;
    snprintf(text, bytes, "%s%s%s", td_log_level_names[log->level], log->file[0] ? ":" : "",
             log->file);
}

/* Elements to verify */

static bool parse_verify(const char *text, void *value)
{
    static const char sample[] = "sample";
    td_option_verify *count = value;
    size_t number = 0;
    *count = strcmp(text, "full") == 0 ? TD_VERIFY_ALL : 0;
    if (*count || strcmp(text, "off") == 0) return true;
    if (strncmp(text, sample, strlen(sample)) != 0) return false;
    text += strlen(sample);
    *count = TD_VERIFY_USUAL;
    if (!*text) return true;
    if (*text != ':' || !isdigit((unsigned char)text[1]) ||
        text[1 + strspn(text + 1, "0123456789")] || !parse_number(text + 1, &number) ||
        number < 1 || number > TD_VERIFY_MOST)
        return false;
    *count = (td_option_verify)number;
    return true;
}

static void print_verify(const void *value, char *text, size_t bytes)
{
    const td_option_verify count = *(const td_option_verify *)value;
    if (count == 0 || count == TD_VERIFY_ALL)
        snprintf(text, bytes, "%s", count ? "full" : "off");
    else if (count == TD_VERIFY_USUAL)
        snprintf(text, bytes, "sample");
    else
        snprintf(text, bytes, "sample:%lld", (long long)count);
}

/* Any text, or none */

static bool parse_text(const char *text, void *value)
{
    td_option_text *to = value;
    return copy(to->text, sizeof to->text, strcmp(text, "none") == 0 ? "" : text);
}

static void print_text(const void *value, char *text, size_t bytes)
{
    const td_option_text *from = value;
    snprintf(text, bytes, "%s", from->text[0] ? from->text : "none");
}

/* On or off */

static bool parse_flag(const char *text, void *value)
{
    td_option_flag *is_on = value;
    *is_on = strcmp(text, "on") == 0;
    return *is_on || strcmp(text, "off") == 0;
}

static void print_flag(const void *value, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s", *(const td_option_flag *)value ? "on" : "off");
}

/* Families of entry points */

static const uint32_t all_families = (UINT32_C(1) << TD_FAMILY_COUNT) - 1;

static void list_families(char *text, size_t bytes)
{
    for (int f = 0; f < TD_FAMILY_COUNT; f++)
        append(text, bytes, "%s%s", f ? ", " : "", td_families[f].name);
}

/* The bit of the family with this name, 0 if there is none. */
static uint32_t family_bit(const char *name, size_t length)
{
    for (int f = 0; f < TD_FAMILY_COUNT; f++)
        if (strlen(td_families[f].name) == length &&
            strncmp(td_families[f].name, name, length) == 0)
            return UINT32_C(1) << f;
    return 0;
}

static bool parse_families(const char *text, void *value)
{
    td_option_families *families = value;
    *families = all_families;
    if (strcmp(text, "all") == 0) return true;
    *families = 0;
    for (;;) {
        const size_t length = strcspn(text, ",");
        const uint32_t bit = family_bit(text, length);
        if (!bit) return false;
        *families |= bit;
        if (text[length] == '\0') return true;
        text += length + 1;
    }
}

static void print_families(const void *value, char *text, size_t bytes)
{
    const td_option_families families = *(const td_option_families *)value;
    text[0] = '\0';
    if (families == all_families) {
        append(text, bytes, "all");
        return;
    }
    for (int f = 0; f < TD_FAMILY_COUNT; f++)
        if (families >> f & 1) append(text, bytes, "%s%s", text[0] ? "," : "", td_families[f].name);
}

/* Seconds */

enum { MOST_SECONDS = 86400 };

static bool parse_seconds(const char *text, void *value)
{
    td_option_seconds *seconds = value;
    *seconds = TD_NEVER;
    if (strcmp(text, "never") == 0) return true;
    const size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 5 || text[digits]) return false;
    *seconds = atoi(text);
    return *seconds <= MOST_SECONDS;
}

static void print_seconds(const void *value, char *text, size_t bytes)
{
    const td_option_seconds seconds = *(const td_option_seconds *)value;
    if (seconds == TD_NEVER)
        snprintf(text, bytes, "never");
    else
        snprintf(text, bytes, "%d", seconds);
}

/* The table, and what walks it */

struct td_option_kind {
    /* Sets *value, which has the kind's type; false, with *value in any state, if the text is
     * malformed. */
    bool (*parse)(const char *text, void *value);
    /* The value in the form that parse takes. */
    void (*print)(const void *value, char *text, size_t bytes);
    void (*list)(char *text,
                 size_t bytes); /* appends names to what is allowed; NULL: there are none */
};

static const struct td_option_kind kind_mode = {parse_mode, print_mode, list_modes},
                                   kind_accuracy = {parse_accuracy, print_accuracy, NULL},
                                   kind_strategy = {parse_strategy, print_strategy,
                                                    list_strategies},
                                   kind_bytes = {parse_bytes, print_bytes, NULL},
                                   kind_log = {parse_log, print_log, NULL},
                                   kind_text = {parse_text, print_text, NULL},
                                   kind_verify = {parse_verify, print_verify, NULL},
                                   kind_flag = {parse_flag, print_flag, NULL},
                                   kind_seconds = {parse_seconds, print_seconds, NULL},
                                   kind_families = {parse_families, print_families, list_families};

#define OPTION(id, kind, field, when, fallback, allowed, help)                                     \
    {PREFIX #id, &kind_##kind, offsetof(td_options, field), TD_##when, fallback, allowed, help},
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
    char names[TD_ALLOWED_BYTES] = "", part[NAME_BYTES];
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

const char *td_option_short_name(td_option_id id, char name[TD_OPTION_NAME_BYTES])
{
    const char *letters = td_option_table[id].name + strlen(PREFIX);
    size_t i = 0;
    for (; letters[i]; i++) name[i] = (char)tolower((unsigned char)letters[i]);
    name[i] = '\0';
    return name;
}

td_option_id td_option_find(const char *short_name)
{
    char name[TD_OPTION_NAME_BYTES];
    td_option_id id = 0;
    while (id < TD_OPTION_COUNT && strcmp(td_option_short_name(id, name), short_name) != 0) id++;
    return id;
}

/* The names that td_options_change takes. */
static void list_changeable(char *text, size_t bytes)
{
    char name[TD_OPTION_NAME_BYTES];
    text[0] = '\0';
    for (td_option_id id = 0; id < TD_OPTION_COUNT; id++)
        if (td_option_table[id].when == TD_ANY_TIME)
            append(text, bytes, "%s%s", text[0] ? ", " : "", td_option_short_name(id, name));
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
    if (!copy(words, sizeof words, settings)) {
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
    char name[TD_OPTION_NAME_BYTES], value[TD_OPTION_TEXT_BYTES];
    text[0] = '\0';
    for (td_option_id id = 0; id < TD_OPTION_COUNT; id++) {
        if (td_option_table[id].when != TD_ANY_TIME) continue;
        td_option_print(o, id, value, sizeof value);
        append(text, TD_SETTINGS_BYTES, "%s%s=%s", text[0] ? " " : "",
               td_option_short_name(id, name), value);
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

void td_options_warn_unknown(char *const *environment)
{
    for (; *environment; environment++) {
        char name[NAME_BYTES + 1]; /* a longer one is cut, and still unknown */
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
    if (o->log.level >= TD_LOG_WARN) td_options_warn_unknown(environment);
    return is_good;
}
