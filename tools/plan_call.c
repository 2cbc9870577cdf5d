#include "tools/plan_call.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/call/policy.h"
#include "lib/options/nearest.h"
#include "lib/routine/operations.h"
#include "tools/tandem.h"

enum { MOST_OPS = 2 };

/* ---- the routine and its arguments ---- */

/* The routines that can be planned, by their libraries' names without the prefix. The first is what
 * a plan is for if no other is named. One whose types are arguments computes what others do. */
#define LEVEL3(name, ...)                               TD_ROUTINE_##name,
#define FACTOR(name, forms, shape, kind, types, family) FACTOR_##types(name)
#define FACTOR_REAL(name)                               TD_ROUTINE_##name,
#define FACTOR_COMPLEX(name)                            TD_ROUTINE_##name,
#define FACTOR_ANY(name)
static const td_routine_id routines[] = {
#include "lib/routine/routines.def"
};

enum { ROUTINES = sizeof routines / sizeof *routines };

bool plan_routine_at(int number, plan_routine *r)
{
    if (number >= ROUTINES) return false;
    *r = (plan_routine){.of = &td_routines[routines[number]]};
    r->kind = &td_kinds[r->of->kind];
    snprintf(r->name.text, sizeof r->name.text, "%s", td_name_in_library(r->of->name));
    r->name.text[0] = (char)tolower((unsigned char)r->name.text[0]);
    return true;
}

bool plan_find_routine(const char *name, plan_routine *found)
{
    plan_routine known[ROUTINES];
    char names[ROUTINES * (sizeof known->name + 2)] = "", question[TD_QUESTION_BYTES];
    td_nearest search = {.name = name};
    for (int i = 0; plan_routine_at(i, &known[i]); i++) {
        const size_t used = strlen(names);
        const char *const text = known[i].name.text;
        *found = known[i];
        if (!name || strcmp(text, name) == 0) return true;
        snprintf(names + used, sizeof names - used, "%s%.*s", used ? ", " : "",
                 (int)sizeof known->name.text, text); /* so that compilers see that it fits */
        td_nearest_offer(&search, text);
    }
    return complain("--routine is '%s'; allowed: %s%s", name, names,
                    td_nearest_ask(&search, question));
}

static bool parse_size(const char *name, const char *text, int64_t *size)
{
    char *end;
    const long long value = strtoll(text, &end, 10);
    *size = value;
    if (end != text && *end == '\0' && value > 0 && value <= INT32_MAX) return true;
    return complain("%s is '%s'; allowed: 1 to %d", name, text, INT32_MAX);
}

static bool parse_op(char letter, td_op *op)
{
    static const char letters[] = "NTC";
    const char *at = letter ? strchr(letters, letter) : NULL;
    if (at) *op = (td_op)(at - letters);
    return at != NULL;
}

static bool parse_ops(const char *text, const plan_routine *r, td_problem *p)
{
    static const char *const allowed[MOST_OPS] = {"one of the letters N, T and C",
                                                  "two of the letters N, T and C, for A and B"};
    td_op *const ops[MOST_OPS] = {&p->op_a, &p->op_b};
    const int count = r->kind->operations;
    if (!text) return true;
    if (count == 0) return complain("--op is '%s'; %s has no operation", text, r->name.text);
    bool is_good = strlen(text) == (size_t)count;
    for (int i = 0; is_good && i < count && i < MOST_OPS; i++) is_good = parse_op(text[i], ops[i]);
    if (!is_good) complain("--op is '%s'; allowed: %s", text, allowed[count - 1]);
    return is_good;
}

static bool parse_side(const char *text, const plan_routine *r, td_problem *p)
{
    if (!text) return true;
    if (!r->kind->has_side) return complain("--side is '%s'; %s has no sides", text, r->name.text);
    p->side = strcmp(text, "R") == 0 ? TD_RIGHT : TD_LEFT;
    if (p->side == TD_RIGHT || strcmp(text, "L") == 0) return true;
    return complain("--side is '%s'; allowed: L, R", text);
}

plan_sizes plan_sizes_of(const plan_routine *r)
{
    plan_sizes sizes;
    snprintf(sizes.text, sizeof sizes.text, "%sN%s", r->kind->has_m ? "M " : "",
             r->kind->has_k ? " K" : "");
    return sizes;
}

static bool parse_sizes(const command_line *line, const plan_routine *r, td_problem *p)
{
    const plan_sizes sizes = plan_sizes_of(r);
    int used = 0;
    for (const char *name = sizes.text; *name; name++) {
        if (*name == ' ') continue;
        int64_t *const size = *name == 'M' ? &p->m : *name == 'N' ? &p->n : &p->k;
        const char shown[] = {*name, '\0'};
        if (line->count <= used)
            return complain("%s is missing; %s takes %s", shown, r->name.text, sizes.text);
        if (!parse_size(shown, line->arguments[used++], size)) return false;
    }
    if (line->count > used)
        complain("'%s' is one size too many for %s, which takes %s", line->arguments[used],
                 r->name.text, sizes.text);
    return line->count <= used;
}

bool plan_has_batches(const plan_routine *r) { return r->of->kind == TD_PRODUCT; }

static bool parse_batch(const char *text, const plan_routine *r, td_problem *p)
{
    if (!text) return true;
    if (plan_has_batches(r)) return parse_size("--batch", text, &p->batch);
    return complain("--batch is '%s'; %s has no batches", text, r->name.text);
}

/* False if the matrices are in no memory, which is said. */
static bool can_be(const td_problem *p, const plan_routine *r)
{
    if (td_problem_is_countable(p)) return true;
    return complain(
        "%s has a matrix, or a batch of them, of more elements than any memory; allowed: 2^56",
        r->name.text);
}

bool plan_parse_problem(const command_line *line, const plan_routine *r, td_problem *called)
{
    static _Alignas(16) td_value somewhere[3]; /* so that the matrices are three, and aligned */
    static int some_info;
    td_problem p = {.kind = r->of->kind,
                    .type = r->of->type,
                    .is_hermitian = r->of->is_hermitian,
                    .a.data = &somewhere[0],
                    .b.data = &somewhere[1],
                    .c.data = &somewhere[2],
                    .pivots = &somewhere[2],
                    .tau = &somewhere[2],
                    .info = &some_info,
                    .batch = 1};
    p.alpha.value.binary64 = 1.0;
    *called = p;
    return parse_sizes(line, r, called) && parse_batch(line->values[PLAN_BATCH], r, called) &&
           parse_ops(line->values[PLAN_OP], r, called) &&
           parse_side(line->values[PLAN_SIDE], r, called) && can_be(called, r);
}

void plan_given_sizes(const planned *of, int64_t sizes[PLAN_SIZES])
{
    const td_problem *p = of->question.called;
    sizes[0] = of->routine->kind->has_m ? p->m : -1;
    sizes[1] = p->n;
    sizes[2] = of->routine->kind->has_k ? p->k : -1;
}

void plan_print_ops(const planned *of, char text[3])
{
    const td_problem *p = of->question.called;
    const char ops[] = {"NTC"[p->op_a], "NTC"[p->op_b], '\0'};
    snprintf(text, 3, "%.*s", of->routine->kind->operations, ops);
}

double plan_operations(const planned *of)
{
    const td_problem *p = of->question.called;
    return td_operations(p) * (double)p->batch;
}

/* ---- the model ---- */

/* The first function that is a form of the routine. */
static td_entry entry_of(const td_routine *of)
{
    int entry = 0;
    while (&td_routines[td_entries[entry].routine] != of) entry++;
    return (td_entry)entry;
}

static void add_way(planned *of, const td_way *way, double seconds)
{
    of->ways[of->count++] = (planned_way){way, seconds};
}

planned plan_call(const plan_routine *r, const td_problem *called, const td_model *model)
{
    planned of = {.routine = r};
    td_way_forecast by_way[TD_MOST_WAYS];
    int count;
    const td_way *way = td_ways(&count);
    td_ask(entry_of(r->of), called, &of.question);
    const td_question *q = &of.question;
    of.terms = q->method->terms(q);
    q->method->predict(model, q, by_way);
    for (int i = 0; i < count; i++) add_way(&of, &way[i], by_way[i].seconds);
    const double by_products =
        q->method->by_native_products ? q->method->by_native_products(model, q) : -1.0;
    if (by_products >= 0.0) add_way(&of, &td_policy_products, by_products);
    return of;
}

bool plan_is_there(const planned *of)
{
    const td_method *method = of->question.method;
    if (method != &td_method_q || method->refusal(&of->question) != td_reason_invalid) return true;
    return complain("%s has at most as many reflectors, K, as Q has columns, and columns as rows",
                    of->routine->name.text);
}
