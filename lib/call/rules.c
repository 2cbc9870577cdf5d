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

/* Numbers that a size may have, both ends among them. */
typedef struct {
    int64_t least, most;
} range;

enum { SIZE_M, SIZE_N, SIZE_K, SIZE_BATCH, SIZES };
static const char *const size_names[SIZES] = {"m", "n", "k", "batch"};
static const char conditions[] = "m, n, k or batch = N, N..M, N.. or ..M; function=PATTERN; "
                                 "caller=PATTERN (of a function or a file; * stands for anything)";

typedef struct {
    range size[SIZES];
    char *function, *caller; /* patterns for fnmatch(3); NULL: any */
    td_options *options;
} rule;

struct td_rules {
    rule *rule;
    int count;
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

static bool keep_pattern(const char *value, char **pattern)
{
    free(*pattern);
    *pattern = value[0] ? strdup(value) : NULL;
    return *pattern != NULL;
}

/* NAME=VALUE. */
static bool read_condition(const char *word, rule *r)
{
    const size_t length = strcspn(word, "=");
    if (word[length] != '=') return false;
    const char *value = word + length + 1;
    for (int s = 0; s < SIZES; s++)
        if (strlen(size_names[s]) == length && strncmp(word, size_names[s], length) == 0)
            return read_range(value, &r->size[s]);
    if (strncmp(word, "function=", length + 1) == 0) return keep_pattern(value, &r->function);
    return strncmp(word, "caller=", length + 1) == 0 && keep_pattern(value, &r->caller);
}

static bool set_mode(const place *at, const char *mode, rule *r)
{
    char name[TD_SITE_BYTES];
    r->options = malloc(sizeof *r->options);
    if (!r->options) return refuse(at, "no memory for", mode, "more memory");
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
    for (char *word = strtok_r(line, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest))
        if (!read_condition(word, r)) return refuse(at, "the condition is", word, conditions);
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
    free(r->function);
    free(r->caller);
    free(r->options);
}

void td_rules_free(td_rules *rules)
{
    for (int i = 0; rules && i < rules->count; i++) free_rule(&rules->rule[i]);
    if (rules) free(rules->rule);
    free(rules);
}

/* Adds the line's rule, if it has one. */
static bool add_line(td_rules *rules, const place *at, char *line)
{
    line[strcspn(line, "#\r\n")] = '\0';
    if (line[strspn(line, " \t")] == '\0') return true;
    if (rules->count == TD_MOST_RULES) return refuse(at, "one rule too many:", line, "1024 rules");
    rule *grown = realloc(rules->rule, ((size_t)rules->count + 1) * sizeof *grown);
    if (!grown) return refuse(at, "no memory for", line, "more memory");
    rules->rule = grown;
    rule *r = &grown[rules->count++];
    *r = (rule){.options = NULL};
    const bool is_good = read_rule(at, line, r);
    rules->asks_caller |= r->caller != NULL;
    return is_good;
}

static bool read_lines(td_rules *rules, place *at, FILE *file)
{
    char *line = NULL;
    size_t room = 0;
    bool is_good = true;
    while (getline(&line, &room, file) >= 0) {
        at->line++;
        is_good = add_line(rules, at, line) && is_good;
    }
    free(line);
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

td_rules *td_rules_read(const char *path, const td_options *o)
{
    place at = {.path = path, .o = o};
    FILE *file = open_regular(path);
    td_rules *rules = file ? calloc(1, sizeof *rules) : NULL;
    if (!rules)
        td_log(TD_LOG_ERROR, "cannot read the rules '%s' (%s)", path, td_file_reason(errno));
    const bool is_good = rules && read_lines(rules, &at, file);
    if (file) fclose(file);
    if (is_good) return rules;
    td_rules_free(rules);
    return NULL;
}

bool td_rules_ask_caller(const td_rules *rules) { return rules->asks_caller; }

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
    if (r->function && fnmatch(r->function, td_entries[entry].name, 0) != 0) return false;
    return !r->caller || is_called_from(r, site);
}

const td_options *td_rules_find(const td_rules *rules, td_entry entry, const td_problem *p,
                                const td_site *site)
{
    for (int i = 0; i < rules->count; i++)
        if (fits(&rules->rule[i], entry, p, site)) return rules->rule[i].options;
    return NULL;
}
