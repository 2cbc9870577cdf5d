#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cuda_runtime_api.h> /* CUDART_VERSION, nothing else */

#include "lib/model/calibration.h"
#include "lib/engines/proven.h"
#include "lib/model/solve_model.h"
#include "lib/model/route.h"
#include "lib/routine/operations.h"
#include "lib/routine/real.h"
#include "lib/routine/steps.h"
#include "lib/report/json_text.h"
#include "lib/options/nearest.h"
#include "lib/routine/lower.h"
#include "lib/call/policy.h"
#include "lib/routine/routines.h"
#include "tools/machine.h"
#include "tools/plan.h"
#include "tools/tandem.h"

enum { BATCH, OP, ACCURACY, DEVICE, WANTS_JSON, ROUTINE, SIDE };
enum { SIZES = 3, MOST_OPS = 2 };

/* ---- the product ---- */

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

plan_name plan_routine_name(int number)
{
    plan_name made = {""};
    if (number >= ROUTINES) return made;
    snprintf(made.text, sizeof made.text, "%s",
             td_name_in_library(td_routines[routines[number]].name));
    made.text[0] = (char)tolower((unsigned char)made.text[0]);
    return made;
}

/* A routine that was asked for. */
typedef struct {
    plan_name name;
    const td_routine *of;
    const td_kind_info *kind;
} routine;

static bool find_routine(const char *name, routine *found)
{
    plan_name known[ROUTINES];
    char names[ROUTINES * (sizeof known->text + 2)] = "", question[TD_QUESTION_BYTES];
    td_nearest search = {.name = name};
    for (int i = 0; i < ROUTINES; i++) {
        const size_t used = strlen(names);
        known[i] = plan_routine_name(i);
        const td_routine *of = &td_routines[routines[i]];
        *found = (routine){known[i], of, &td_kinds[of->kind]};
        if (!name || strcmp(known[i].text, name) == 0) return true;
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", known[i].text);
        td_nearest_offer(&search, known[i].text);
    }
    complain("--routine is '%s'; allowed: %s%s", name, names, td_nearest_ask(&search, question));
    return false;
}

static bool parse_size(const char *name, const char *text, int64_t *size)
{
    char *end;
    const long long value = strtoll(text, &end, 10);
    *size = value;
    if (end != text && *end == '\0' && value > 0 && value <= INT32_MAX) return true;
    complain("%s is '%s'; allowed: 1 to %d", name, text, INT32_MAX);
    return false;
}

static bool parse_op(char letter, td_op *op)
{
    static const char letters[] = "NTC";
    const char *at = letter ? strchr(letters, letter) : NULL;
    if (at) *op = (td_op)(at - letters);
    return at != NULL;
}

static bool parse_ops(const char *text, const routine *r, td_problem *p)
{
    static const char *const allowed[MOST_OPS + 1] = {"nothing: the routine has no operation",
                                                      "one of the letters N, T and C",
                                                      "two of the letters N, T and C, for A and B"};
    td_op *const ops[MOST_OPS] = {&p->op_a, &p->op_b};
    const int count = r->kind->operations;
    bool is_good = !text || (count > 0 && strlen(text) == (size_t)count);
    for (int i = 0; text && is_good && i < count && i < MOST_OPS; i++)
        is_good = parse_op(text[i], ops[i]);
    if (!is_good) complain("--op is '%s'; allowed: %s", text, allowed[count]);
    return is_good;
}

static bool parse_side(const char *text, const routine *r, td_problem *p)
{
    if (!text) return true;
    if (!r->kind->has_side) {
        complain("--side is '%s'; %s has no sides", text, r->name.text);
        return false;
    }
    p->side = strcmp(text, "R") == 0 ? TD_RIGHT : TD_LEFT;
    if (p->side == TD_RIGHT || strcmp(text, "L") == 0) return true;
    complain("--side is '%s'; allowed: L, R", text);
    return false;
}

static bool parse_sizes(const command_line *line, const routine *r, td_problem *p)
{
    const struct {
        const char *name;
        int64_t *size;
        bool is_taken;
    } sizes[SIZES] = {
        {"M", &p->m, r->kind->has_m}, {"N", &p->n, true}, {"K", &p->k, r->kind->has_k}};
    int used = 0;
    for (int i = 0; i < SIZES; i++) {
        if (!sizes[i].is_taken) continue;
        if (line->count <= used) {
            complain("%s is missing; see tandem plan --help", sizes[i].name);
            return false;
        }
        if (!parse_size(sizes[i].name, line->arguments[used++], sizes[i].size)) return false;
    }
    if (line->count > used)
        complain("'%s' is one size too many for %s", line->arguments[used], r->name.text);
    return line->count <= used;
}

static bool parse_batch(const char *text, const routine *r, td_problem *p)
{
    if (!text) return true;
    if (r->of->kind == TD_PRODUCT) return parse_size("--batch", text, &p->batch);
    complain("--batch is '%s'; %s has no batches", text, r->name.text);
    return false;
}

/* False if the matrices are in no memory, which is said. */
static bool can_be(const td_problem *p, const routine *r)
{
    if (td_problem_is_countable(p)) return true;
    complain("%s has a matrix, or a batch of them, of more elements than any memory; allowed: 2^56",
             r->name.text);
    return false;
}

static bool parse_problem(const command_line *line, const routine *r, td_problem *called)
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
    return parse_sizes(line, r, called) && parse_batch(line->values[BATCH], r, called) &&
           parse_ops(line->values[OP], r, called) && parse_side(line->values[SIDE], r, called) &&
           can_be(called, r);
}

/* What is planned: a routine's call; k of its product, or else the terms of its longest sums;
 * the terms to which bits are given, and the seconds of every way. */
typedef struct {
    const routine *routine;
    td_question question;
    int64_t k, terms;
    double seconds[TD_MOST_WAYS];
} planned;

/* Factors, or what is made of them. */
static bool is_factored(const planned *of)
{
    const td_kind kind = of->question.called->kind;
    return td_kind_is_factorisation(kind) || td_kind_is_by_factors(kind);
}
static bool is_solve(const planned *of) { return td_problem_is_solve(of->question.called); }

/* The operations as --op takes them. */
static void print_ops(const planned *of, char text[3])
{
    const td_product *p = &of->question.product;
    const char ops[] = {"NTC"[p->op_a], "NTC"[p->op_b], '\0'};
    snprintf(text, 3, "%.*s", of->routine->kind->operations, ops);
}

/* Of all members. */
static double operations_of(const planned *of)
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

/* It is valid as long as *called is. */
static planned plan_call(const routine *r, const td_problem *called, const td_model *model)
{
    planned of = {.routine = r};
    td_way_forecast by_way[TD_MOST_WAYS];
    int count;
    (void)td_ways(&count);
    td_ask(entry_of(r->of), called, &of.question);
    const td_question *q = &of.question;
    of.terms = q->method->terms(q);
    of.k = q->is_lowered ? q->product.k : of.terms;
    if (!r->kind->has_m) of.question.product.m = called->n; /* it is square */
    if (td_kind_is_by_factors(called->kind) && r->kind->has_k) of.question.product.n = called->k;
    q->method->predict(model, q, by_way);
    for (int i = 0; i < count; i++) of.seconds[i] = by_way[i].seconds;
    return of;
}

static const char *label_of(const planned *of)
{
    if (td_kind_is_by_factors(of->question.called->kind))
        return of->routine->kind->has_k ? "solve:" : "inverse:";
    if (of->question.called->kind == TD_EIGEN) return "vectors:";
    if (is_factored(of)) return of->routine->kind->has_k ? "of Q:" : "factors:";
    if (is_solve(of)) return "solve:";
    return of->question.product.region == TD_REGION_ALL ? "product:" : "update:";
}

/* False if there is no such Q, which is said. */
static bool is_there(const planned *of)
{
    const td_method *method = of->question.method;
    if (method != &td_method_q || method->refusal(&of->question) != td_reason_invalid) return true;
    complain("%s has at most as many reflectors, K, as Q has columns, and columns as rows",
             of->routine->name.text);
    return false;
}

/* ---- the device ---- */

static bool find_named(const char *name, td_model *model)
{
    const td_card *card = td_card_known(name);
    if (card) {
        td_model_make(model, card);
        return true;
    }
    char names[1024] = "", question[TD_QUESTION_BYTES];
    td_nearest search = {.name = name};
    for (const td_card *c = td_cards; c->name[0]; c++) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", c->name);
        td_nearest_offer(&search, c->name);
    }
    complain("--device is '%s'; allowed: %s%s", name, names, td_nearest_ask(&search, question));
    return false;
}

/* The first GPU of this machine, as calibrated; or the card that the host device stands for. */
static void find_own(td_model *model)
{
    machine m;
    machine_query(&m);
    td_model_make(model, m.device_count ? &m.devices[0].card : td_card_known(TD_HOST_CARD));
    td_calibration_use(model, m.device_count ? m.driver_version : CUDART_VERSION);
}

/* ---- what is printed ---- */

/* The call under mode auto whose data turn out to be bad: of the way that auto weighed alone, if
 * that depends on the data. */
static double found_out_of(const td_way *way, const td_decision *d)
{
    const bool is_weighed = d->forecast.mode && strcmp(way->text, d->forecast.mode) == 0;
    return is_weighed && d->forecast.found_out > 0.0 ? d->forecast.found_out : -1.0;
}

static void print_way(const planned *of, int i, const td_decision *d, td_option_accuracy accuracy)
{
    int count;
    const td_way *way = &td_ways(&count)[i];
    const double seconds = of->seconds[i];
    const double found_out = found_out_of(way, d);
    char bits[16] = "-", bad_data[24] = "-";
    if (found_out >= 0.0) snprintf(bad_data, sizeof bad_data, "%.4f", found_out * 1e3);
    const double counted = td_bits(way->engine, way->parameter, of->terms);
    if (counted >= 0.0) snprintf(bits, sizeof bits, "%.1f", counted);
    if (seconds < 0.0)
        printf("%-14s %12s %12s %9s %10s %6s\n", way->text, "-", "-", "-", "-", bits);
    else
        printf("%-14s %12.4f %12s %9.2f %10.2f %6s%s\n", way->text, seconds * 1e3, bad_data,
               operations_of(of) / seconds * 1e-12, seconds / of->seconds[0], bits,
               td_policy_serves(way, seconds, td_policy_bits(accuracy, of->terms), of->terms)
                   ? ""
                   : "  too few bits");
}

/* What a way launches on the model's device; false if there is no choice. */
static bool find_route(const td_way *way, const planned *of, const td_model *model, td_route *route)
{
    const td_traits device = td_traits_of_card(&model->card);
    return of->question.is_lowered && way->engine->route &&
           way->engine->route(&of->question.real, way->parameter, &device, route);
}

static void print_routes(const planned *of, const td_model *model)
{
    char text[TD_ROUTE_TEXT];
    td_route route;
    int count;
    const td_way *way = td_ways(&count);
    printf("\n");
    for (int i = 0; i < count; i++)
        if (find_route(&way[i], of, model, &route))
            printf("route of %s: %s\n", way[i].text, td_route_print(&route, text));
}

static void print_decision(const td_decision *d)
{
    enum { DECIMALS = 4 };
    char forecast[TD_FORECAST_TEXT];
    printf("\nauto: %s, %s", d->text, d->reason ? d->reason : d->choice);
    if (d->forecast.mode) printf(" (%s)", td_forecast_print(&d->forecast, DECIMALS, forecast));
    printf("\n");
}

static void print_plan(const td_options *o, const planned *of, const td_model *model)
{
    const td_product *p = &of->question.product;
    char accuracy[TD_OPTION_TEXT_BYTES];
    int count;
    (void)td_ways(&count);
    td_option_print(o, TD_OPTION_ACCURACY, accuracy, sizeof accuracy);
    char ops[3];
    print_ops(of, ops);
    printf("%-9s %" PRId64 " x %" PRId64 " x %" PRId64 " (m, n, k)%s%s, batch %" PRId64 "\n",
           label_of(of), p->m, p->n, of->k, ops[0] ? ", op " : "", ops, p->batch);
    printf("device:   %s\nfigures:  %s\n", model->card.name, model->source);
    printf("accuracy: %s, %.1f bits of |A||B|\n\n", accuracy,
           td_policy_bits(o->accuracy, of->terms));
    printf("%-14s %12s %12s %9s %10s %6s\n", "mode", "predicted ms", "found out ms", "TFLOP/s",
           "of native", "bits");
    const td_decision d = td_policy_choose(o, &of->question, model);
    for (int i = 0; i < count; i++) print_way(of, i, &d, o->accuracy);
    print_decision(&d);
    print_routes(of, model);
}

/* ---- the same as JSON ---- */

/* A number, or null if it is negative: not known. */
static void print_json_number(const char *name, double value)
{
    if (value < 0.0)
        printf(", \"%s\": null", name);
    else
        printf(", \"%s\": %.9g", name, value);
}

/* A member for each stage, or null if there is no choice. */
static void print_json_route(const td_way *way, const planned *of, const td_model *model)
{
    td_route route;
    if (!find_route(way, of, model, &route)) {
        printf(", \"route\": null");
        return;
    }
    td_json_member members[TD_STAGES + 1] = {{NULL, NULL}};
    for (int i = 0; i < TD_STAGES; i++)
        members[i] = (td_json_member){td_stage_names[i], td_route_name((td_stage)i, route.of[i])};
    td_json_print_members(stdout, ", \"route\": {", members);
    printf("}");
}

static void print_json_way(const planned *of, int i, const td_model *model, const td_decision *d,
                           td_option_accuracy accuracy)
{
    int count;
    const td_way *way = &td_ways(&count)[i];
    const double seconds = of->seconds[i];
    printf("\"mode\": \"%s\"", way->text);
    print_json_number("seconds", seconds);
    print_json_number("found_out_seconds", found_out_of(way, d));
    print_json_number("bits", td_bits(way->engine, way->parameter, of->terms));
    printf(", \"is_accurate_enough\": %s",
           td_policy_serves(way, seconds, td_policy_bits(accuracy, of->terms), of->terms)
               ? "true"
               : "false");
    print_json_route(way, of, model);
    printf("}");
}

static void print_json(const td_options *o, const planned *of, const td_model *model)
{
    const td_product *p = &of->question.product;
    char accuracy[TD_OPTION_TEXT_BYTES];
    char ops[3];
    int count;
    (void)td_ways(&count);
    print_ops(of, ops);
    const td_decision d = td_policy_choose(o, &of->question, model);
    td_option_print(o, TD_OPTION_ACCURACY, accuracy, sizeof accuracy);
    td_json_print_members(stdout, "{\n  ",
                          (const td_json_member[]){{"device", model->card.name},
                                                   {"figures", model->source},
                                                   {"accuracy", accuracy},
                                                   {"routine", of->routine->name.text},
                                                   {"op", ops},
                                                   {NULL, NULL}});
    printf(",\n  \"m\": %" PRId64 ", \"n\": %" PRId64 ", \"k\": %" PRId64 ", \"batch\": %" PRId64,
           p->m, p->n, of->k, p->batch);
    print_json_number("bits", td_policy_bits(o->accuracy, of->terms));
    td_json_print_members(stdout, ",\n  \"auto\": {",
                          (const td_json_member[]){{"mode", d.text},
                                                   {"native_reason", d.reason},
                                                   {"choice", d.reason ? NULL : d.choice},
                                                   {NULL, NULL}});
    printf("},\n  \"modes\": [");
    for (int i = 0; i < count; i++) {
        printf("%s\n    {", i ? "," : "");
        print_json_way(of, i, model, &d, o->accuracy);
    }
    printf("\n  ]\n}\n");
}

static int run(const command_line *line)
{
    static td_model model; /* what it reads stays for the life of the process */
    td_problem p;
    td_options o;
    routine r;
    if (!find_routine(line->values[ROUTINE], &r) || !parse_problem(line, &r, &p) ||
        !td_options_parse(&o, environ))
        return EXIT_USAGE;
    if (!td_options_set(&o, TD_OPTION_MODE, "mode", "auto", TD_ORIGIN_CALL)) return EXIT_USAGE;
    const char *accuracy = line->values[ACCURACY];
    if (accuracy && !td_options_set(&o, TD_OPTION_ACCURACY, "--accuracy", accuracy, TD_ORIGIN_CALL))
        return EXIT_USAGE;
    if (!line->values[DEVICE])
        find_own(&model);
    else if (!find_named(line->values[DEVICE], &model))
        return EXIT_USAGE;
    const planned of = plan_call(&r, &p, &model);
    if (!is_there(&of)) return EXIT_USAGE;
    (line->values[WANTS_JSON] ? print_json : print_plan)(&o, &of, &model);
    return 0;
}

const command command_plan = {
    .name = "plan",
    .arguments = "M N K",
    .most = SIZES,
    .summary = "predict what a product takes in every mode, and which one auto would take",
    .details =
        "C is M x N, and K the terms of a sum. Of dsyrk, dsyrkx and dsyr2k, which make a triangle "
        "of an N x N matrix, only N and K are given; of dpotrf, dpotri and dsyevd only N; of "
        "dsymm, "
        "dtrmm, dtrsm, dgetrf and dgeqrf only M and N; of dgetrs and dpotrs N and the right-hand "
        "sides; complex ones begin with z, Hermitian ones are zhemm, zherk, "
        "zherkx and zher2k. Without "
        "--device it is the first GPU of this machine, as `tandem calibrate` measured it; without "
        "a GPU, the card that the host device stands for.",
    .options =
        {[BATCH] = {"batch", "COUNT", "so many products in one call"},
         [OP] = {"op", "OPS", "NN, TN, ...: what is done to A and to B"},
         [ACCURACY] = {"accuracy", "ACCURACY", "as TANDEM_ACCURACY"},
         [DEVICE] = {"device", "NAME", "predict for another device, e.g. 'NVIDIA H200'"},
         [WANTS_JSON] = {"json", NULL, "print it as JSON, times in seconds"},
         [ROUTINE] =
             {"routine", "ROUTINE",
              "dgemm, dsymm, dsyrk, dtrsm, zherk, dgetrf, dgetrs, dsyevd, ...; dgemm without "
              "it"},
         [SIDE] = {"side", "SIDE", "L or R: where dsymm, dtrmm and dtrsm have their A"}},
    .run = run,
};
