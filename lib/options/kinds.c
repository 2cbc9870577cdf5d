#include "kinds.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../routine/entries.h"

/* A tile of 64 x 64 with 512 elements of k in double-double takes 1.1 MiB. */
#define WORKSPACE_MIN_BYTES ((size_t)2 << 20)

void td_option_append(char *text, size_t bytes, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, bytes - used, format, arguments);
    va_end(arguments);
}

bool td_option_copy(char *to, size_t bytes, const char *from)
{
    return snprintf(to, bytes, "%s", from) < (int)bytes;
}

/* ---- modes ---- */

static void list_modes(char *text, size_t bytes)
{
    char name[TD_MODE_TEXT];
    for (size_t i = 0; td_engines[i]; i++)
        td_option_append(text, bytes, "%s%s", i ? ", " : "", td_mode_usage(td_engines[i], name));
}

static bool parse_mode(const char *text, void *value)
{
    td_option_mode *mode = value;
    mode->engine = td_engine_parse(text, &mode->parameter);
    return mode->engine && td_option_copy(mode->text, sizeof mode->text, text);
}

static void print_mode(const void *value, char *text, size_t bytes)
{
    const td_option_mode *mode = value;
    snprintf(text, bytes, "%s", mode->text);
}

/* ---- accuracy ---- */

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

/* ---- strategies ---- */

static const char *const strategies[] = {[TD_STRATEGY_AUTO] = "auto",
                                         [TD_STRATEGY_EAGER] = "eager",
                                         [TD_STRATEGY_PERFORMANT] = "performant",
                                         [TD_STRATEGY_ADAPTIVE] = "adaptive",
                                         [TD_STRATEGY_REPRODUCIBLE] = "reproducible"};
enum { STRATEGIES = sizeof strategies / sizeof *strategies };

static void list_strategies(char *text, size_t bytes)
{
    for (int i = 0; i < STRATEGIES; i++)
        td_option_append(text, bytes, "%s%s", i ? ", " : "", strategies[i]);
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

/* ---- bytes of a workspace ---- */

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

/* ---- where messages go ---- */

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
    return text[length + 1] != '\0' &&
           td_option_copy(log->file, sizeof log->file, text + length + 1);
}

static void print_log(const void *value, char *text, size_t bytes)
{
    const td_option_log *log = value;
    snprintf(text, bytes, "%s%s%s", td_log_level_names[log->level], log->file[0] ? ":" : "",
             log->file);
}

/* ---- elements to verify ---- */

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

/* ---- any text, or none ---- */

static bool parse_text(const char *text, void *value)
{
    td_option_text *to = value;
    return td_option_copy(to->text, sizeof to->text, strcmp(text, "none") == 0 ? "" : text);
}

static void print_text(const void *value, char *text, size_t bytes)
{
    const td_option_text *from = value;
    snprintf(text, bytes, "%s", from->text[0] ? from->text : "none");
}

/* ---- on or off ---- */

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

/* ---- families of entry points ---- */

static const uint32_t all_families = TD_ALSO_EMULATED - 1;
static const char also_emulated[] = "emulated";

static void list_families(char *text, size_t bytes)
{
    for (int f = 0; f < TD_FAMILY_COUNT; f++)
        td_option_append(text, bytes, "%s, ", td_families[f].name);
    td_option_append(text, bytes, "%s", also_emulated);
}

static bool is_word(const char *word, const char *text, size_t length)
{
    return strlen(word) == length && strncmp(word, text, length) == 0;
}

/* The bit of a word of the list, 0 if it is none. */
static uint32_t bit_of_word(const char *text, size_t length)
{
    if (is_word(also_emulated, text, length)) return TD_ALSO_EMULATED;
    for (int f = 0; f < TD_FAMILY_COUNT; f++)
        if (is_word(td_families[f].name, text, length)) return UINT32_C(1) << f;
    return 0;
}

/* The bits of a list of words with commas between, 0 if one is none. */
static uint32_t bits_of_list(const char *text)
{
    uint32_t bits = 0;
    for (;;) {
        const size_t length = strcspn(text, ",");
        const uint32_t bit = bit_of_word(text, length);
        bits |= bit;
        if (!bit) return 0;
        if (text[length] == '\0') return bits;
        text += length + 1;
    }
}

static bool parse_families(const char *text, void *value)
{
    td_option_families *families = value;
    *families = all_families;
    if (strcmp(text, "all") == 0) return true;
    if (strcmp(text, "all,emulated") == 0)
        *families |= TD_ALSO_EMULATED;
    else
        *families = bits_of_list(text);
    if (*families == TD_ALSO_EMULATED) *families |= all_families;
    return *families != 0;
}

static void print_families(const void *value, char *text, size_t bytes)
{
    const td_option_families families = *(const td_option_families *)value;
    text[0] = '\0';
    const bool has_all = (families & all_families) == all_families;
    if (has_all) td_option_append(text, bytes, "all");
    for (int f = 0; f < TD_FAMILY_COUNT && !has_all; f++)
        if (families >> f & 1)
            td_option_append(text, bytes, "%s%s", text[0] ? "," : "", td_families[f].name);
    if (families & TD_ALSO_EMULATED) td_option_append(text, bytes, ",%s", also_emulated);
}

/* ---- seconds ---- */

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

const struct td_option_kind td_option_kind_mode = {parse_mode, print_mode, list_modes},
                            td_option_kind_accuracy = {parse_accuracy, print_accuracy, NULL},
                            td_option_kind_strategy = {parse_strategy, print_strategy,
                                                       list_strategies},
                            td_option_kind_bytes = {parse_bytes, print_bytes, NULL},
                            td_option_kind_log = {parse_log, print_log, NULL},
                            td_option_kind_text = {parse_text, print_text, NULL},
                            td_option_kind_verify = {parse_verify, print_verify, NULL},
                            td_option_kind_flag = {parse_flag, print_flag, NULL},
                            td_option_kind_seconds = {parse_seconds, print_seconds, NULL},
                            td_option_kind_families = {parse_families, print_families,
                                                       list_families};
