#define _GNU_SOURCE 1
#include "rules.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../options/nearest.h"

/* Numbers that a size may have, both ends among them. */
typedef struct {
    int64_t least, most;
} range;

/* What a rule may ask for; the sizes come first. */
enum { SIZE_M, SIZE_N, SIZE_K, SIZE_BATCH, SIZES, FUNCTION = SIZES, CALLER, CONDITIONS };
static const char *const condition_names[CONDITIONS] = {"m",     "n",        "k",
                                                        "batch", "function", "caller"};
static const char conditions[] = "m, n, k or batch = N, N..M, N.. or ..M; function=PATTERN; "
                                 "caller=PATTERN (of a function or a file; * stands for anything)";

typedef struct {
    int line; /* of the file */
    bool is_given[CONDITIONS];
    range size[SIZES];
    bool fits_entry[TD_ENTRY_COUNT];
    char *caller; /* a pattern for fnmatch(3); NULL: any */
    td_options *options;
} rule;

struct td_rules {
    rule *rule;
    int count;
    long long beyond; /* rules of the file that are too many */
    bool asks_caller;
};

/* Where a file is being read. */
typedef struct {
    const char *path;
    int line;
    const td_options *o;
} place;

static bool refuse(const place *at, const char *what, const char *text, const char *allowed)
{
    td_log(TD_LOG_ERROR, "%s, line %d: %s '%.100s'; allowed: %s", at->path, at->line, what, text,
           allowed);
    return false;
}

static bool refuse_memory(const place *at, const char *text)
{
    return refuse(at, "no memory for", text, "more memory");
}

/* ---- one line ---- */

/* A number up to 2^63 - 1 at *text, which is moved past it; false if there is none. */
static bool read_number(const char **text, int64_t *number)
{
    char *end = NULL;
    if (!isdigit((unsigned char)**text)) return false;
    errno = 0;
    *number = strtoll(*text, &end, 10);
    *text = end;
    return errno == 0;
}

static bool read_range(const char *text, range *r)
{
    *r = (range){0, INT64_MAX};
    const bool has_least = isdigit((unsigned char)*text);
    if (has_least && !read_number(&text, &r->least)) return false;
    if (has_least && *text == '\0') {
        r->most = r->least;
        return true;
    }
    if (strncmp(text, "..", 2) != 0) return false;
    text += 2;
    if (*text == '\0') return has_least;
    return read_number(&text, &r->most) && *text == '\0' && r->least <= r->most;
}

/* A name as cuBLAS's header has it for programs, which leaves out _v2, fits as well as that of the
 * symbol. */
static bool fits_name(const char *pattern, const char *name)
{
    static const char version[] = "_v2";
    char plain[64];
    const char *at = strstr(name, version);
    if (fnmatch(pattern, name, 0) == 0) return true;
    if (!at) return false;
    snprintf(plain, sizeof plain, "%.*s%s", (int)(at - name), name, at + strlen(version));
    return fnmatch(pattern, plain, 0) == 0;
}

static bool read_function(const place *at, const char *pattern, rule *r)
{
    char allowed[TD_QUESTION_BYTES + 64] = "names of `tandem doctor --entries`";
    td_nearest search = {.name = pattern};
    bool is_any = false;
    for (int e = 0; e < TD_ENTRY_COUNT; e++) {
        r->fits_entry[e] = fits_name(pattern, td_entries[e].name);
        is_any |= r->fits_entry[e];
        td_nearest_offer(&search, td_entries[e].name);
    }
    if (is_any) return true;
    td_nearest_ask(&search, allowed + strlen(allowed));
    return refuse(at, "no function that Tandem intercepts is called", pattern, allowed);
}

/* Sites have files' names without their folders, so that a path would fit none. */
static bool read_caller(const place *at, const char *pattern, rule *r)
{
    if (strchr(pattern, '/'))
        return refuse(at, "the caller is", pattern,
                      "a function, or a file's name without its folder");
    return (r->caller = strdup(pattern)) || refuse_memory(at, pattern);
}

/* NAME=VALUE. */
static bool read_condition(const place *at, const char *word, rule *r)
{
    const size_t length = strcspn(word, "=");
    const char *value = word + length + (word[length] == '=');
    int c = 0;
    while (c < CONDITIONS &&
           (strlen(condition_names[c]) != length || strncmp(word, condition_names[c], length) != 0))
        c++;
    if (c == CONDITIONS || !*value) return refuse(at, "the condition is", word, conditions);
    if (r->is_given[c]) return refuse(at, "a second condition of its name:", word, "one of each");
    r->is_given[c] = true;
    if (c == FUNCTION) return read_function(at, value, r);
    if (c == CALLER) return read_caller(at, value, r);
    return read_range(value, &r->size[c]) || refuse(at, "the condition is", word, conditions);
}

static bool set_mode(const place *at, const char *mode, rule *r)
{
    char name[TD_SITE_BYTES];
    r->options = malloc(sizeof *r->options);
    if (!r->options) return refuse_memory(at, mode);
    *r->options = *at->o;
    snprintf(name, sizeof name, "%s, line %d: the mode", at->path, at->line);
    return td_options_set(r->options, TD_OPTION_MODE, name, mode, TD_ORIGIN_ENVIRONMENT);
}

/* A line without its comment, which is changed. */
static bool read_rule(const place *at, char *line, rule *r)
{
    char *arrow = strstr(line, "->"), *rest = NULL;
    if (!arrow) return refuse(at, "no '->' in", line, "CONDITION... -> MODE");
    *arrow = '\0';
    for (int s = 0; s < SIZES; s++) r->size[s] = (range){0, INT64_MAX};
    for (int e = 0; e < TD_ENTRY_COUNT; e++) r->fits_entry[e] = true;
    for (char *word = strtok_r(line, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest))
        if (!read_condition(at, word, r)) return false;
    const char *mode = strtok_r(arrow + 2, " \t", &rest);
    const char *more = mode ? strtok_r(NULL, " \t", &rest) : NULL;
    if (!mode || more)
        return refuse(at, more ? "more than a mode after '->':" : "no mode after",
                      more ? more : "->", "CONDITION... -> MODE");
    return set_mode(at, mode, r);
}

/* ---- all of them ---- */

static void free_rule(rule *r)
{
    free(r->caller);
    free(r->options);
}

void td_rules_free(td_rules *rules)
{
    for (int i = 0; rules && i < rules->count; i++) free_rule(&rules->rule[i]);
    if (rules) free(rules->rule);
    free(rules);
}

/* Adds the line's rule, if it has one. Those beyond the most that there may be are only counted. */
static bool add_line(td_rules *rules, const place *at, char *line)
{
    line[strcspn(line, "#\r\n")] = '\0';
    if (line[strspn(line, " \t")] == '\0') return true;
    if (rules->count == TD_MOST_RULES) {
        rules->beyond++;
        return false;
    }
    rule *grown = realloc(rules->rule, ((size_t)rules->count + 1) * sizeof *grown);
    if (!grown) return refuse_memory(at, line);
    rules->rule = grown;
    rule *r = &grown[rules->count++];
    *r = (rule){.line = at->line};
    const bool is_good = read_rule(at, line, r);
    rules->asks_caller |= r->caller != NULL;
    return is_good;
}

/* Of a file that is none of rules, a few lines say that. */
enum { MOST_FAULTS = 8 };

static bool read_lines(td_rules *rules, place *at, FILE *file)
{
    char *line = NULL;
    size_t room = 0;
    bool is_good = true;
    int faults = 0;
    while (faults < MOST_FAULTS && getline(&line, &room, file) >= 0) {
        at->line++;
        if (add_line(rules, at, line)) continue;
        is_good = false;
        faults += rules->beyond == 0;
    }
    free(line);
    if (faults == MOST_FAULTS)
        td_log(TD_LOG_ERROR, "%s: what comes behind line %d was not read, as %d lines have faults",
               at->path, at->line, faults);
    if (rules->beyond > 0)
        td_log(TD_LOG_ERROR, "%s has %lld rules; allowed: up to %d", at->path,
               rules->count + rules->beyond, TD_MOST_RULES);
    if (ferror(file))
        td_log(TD_LOG_ERROR, "cannot read the rules '%s' (%s)", at->path, td_file_reason(errno));
    return is_good && !ferror(file);
}

/* Never waits, as for somebody to write into a FIFO. NULL with errno set. */
static FILE *open_regular(const char *path)
{
    struct stat info;
    const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (descriptor < 0) return NULL;
    const bool is_regular = fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode);
    FILE *file = is_regular ? fdopen(descriptor, "r") : NULL;
    if (file) return file;
    close(descriptor);
    errno = is_regular ? ENOMEM : S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
    return NULL;
}

/* Why it did not. */
static const char *reason_of(int error)
{
    return error == EINVAL ? "it is no regular file" : td_file_reason(error);
}

td_rules *td_rules_read(const char *path, const td_options *o)
{
    place at = {.path = path, .o = o};
    FILE *file = open_regular(path);
    td_rules *rules = file ? calloc(1, sizeof *rules) : NULL;
    if (!rules) td_log(TD_LOG_ERROR, "cannot read the rules '%s' (%s)", path, reason_of(errno));
    const bool is_good = rules && read_lines(rules, &at, file);
    if (file) fclose(file);
    if (is_good) return rules;
    td_rules_free(rules);
    return NULL;
}

bool td_rules_ask_caller(const td_rules *rules) { return rules->asks_caller; }

/* ---- rules that are never used ---- */

/* True if each call that the later rule fits has been given its mode by the earlier one. */
static bool covers(const rule *earlier, const rule *later)
{
    for (int s = 0; s < SIZES; s++)
        if (earlier->size[s].least > later->size[s].least ||
            earlier->size[s].most < later->size[s].most)
            return false;
    if (earlier->caller && (!later->caller || strcmp(earlier->caller, later->caller) != 0))
        return false;
    for (int e = 0; e < TD_ENTRY_COUNT; e++)
        if (later->fits_entry[e] && !earlier->fits_entry[e]) return false;
    return true;
}

/* NULL if there is none. */
static const rule *find_covering(const td_rules *rules, int later)
{
    for (int i = 0; i < later; i++)
        if (covers(&rules->rule[i], &rules->rule[later])) return &rules->rule[i];
    return NULL;
}

void td_rules_warn_unused(const td_rules *rules, const char *path)
{
    const rule *unused = NULL, *by = NULL;
    int count = 0;
    for (int i = 0; i < rules->count; i++) {
        const rule *covering = find_covering(rules, i);
        if (covering && count++ == 0) unused = &rules->rule[i], by = covering;
    }
    if (count > 0)
        td_log(TD_LOG_WARN,
               "%s: %d of %d rules are never used; line %d, because line %d comes "
               "first and fits all of its calls",
               path, count, rules->count, unused->line, by->line);
}

/* ---- the rule of a call ---- */

static bool is_within(range r, int64_t size) { return size >= r.least && size <= r.most; }

static bool is_called_from(const rule *r, const td_site *site)
{
    return site &&
           (fnmatch(r->caller, site->symbol, 0) == 0 || fnmatch(r->caller, site->object, 0) == 0);
}

static bool fits(const rule *r, td_entry entry, const td_problem *p, const td_site *site)
{
    const int64_t size[SIZES] = {p->m, p->n, p->k, p->batch};
    for (int s = 0; s < SIZES; s++)
        if (!is_within(r->size[s], size[s])) return false;
    if (!r->fits_entry[entry]) return false;
    return !r->caller || is_called_from(r, site);
}

const td_options *td_rules_find(const td_rules *rules, td_entry entry, const td_problem *p,
                                const td_site *site)
{
    for (int i = 0; i < rules->count; i++)
        if (fits(&rules->rule[i], entry, p, site)) return rules->rule[i].options;
    return NULL;
}
