/* plan.c - `tandem plan`: what a call (plan_call.h) takes in every mode, as a table or as JSON. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cuda_runtime_api.h> /* CUDART_VERSION, nothing else */

#include "lib/call/policy.h"
#include "lib/engines/proven.h"
#include "lib/model/calibration.h"
#include "lib/model/route.h"
#include "lib/options/nearest.h"
#include "lib/report/json_text.h"
#include "tools/columns.h"
#include "tools/machine.h"
#include "tools/plan_call.h"
#include "tools/tandem.h"

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
    return complain("--device is '%s'; allowed: %s%s", name, names,
                    td_nearest_ask(&search, question));
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

/* Bits of the call by a way; what is no product is made in binary64, too, whatever the mode. */
static double bits_of(const planned *of, const td_way *way)
{
    return fmin(td_bits(way->engine, way->parameter, of->terms),
                of->question.method->most_bits(of->terms));
}

static bool is_accurate_enough(const planned *of, const planned_way *by,
                               td_option_accuracy accuracy)
{
    const double bits = td_policy_bits(accuracy, of->terms);
    return td_policy_serves(by->way, by->seconds, bits, of->terms) && bits <= bits_of(of, by->way);
}

static void print_way(const planned *of, const planned_way *by, const td_decision *d,
                      td_option_accuracy accuracy)
{
    const td_way *way = by->way;
    const double seconds = by->seconds, found_out = found_out_of(way, d);
    char bits[16] = "-", bad_data[24] = "-";
    if (found_out >= 0.0) snprintf(bad_data, sizeof bad_data, "%.4f", found_out * 1e3);
    const double counted = bits_of(of, way);
    if (counted >= 0.0) snprintf(bits, sizeof bits, "%.1f", counted);
    if (seconds < 0.0)
        printf("%-14s %12s %12s %9s %10s %6s\n", way->text, "-", "-", "-", "-", bits);
    else
        printf("%-14s %12.4f %12s %9.2f %10.2f %6s%s\n", way->text, seconds * 1e3, bad_data,
               plan_operations(of) / seconds * 1e-12, seconds / of->ways[0].seconds, bits,
               is_accurate_enough(of, by, accuracy) ? "" : "  too few bits");
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
    printf("\n");
    for (int i = 0; i < of->count; i++)
        if (find_route(of->ways[i].way, of, model, &route))
            printf("route of %s: %s\n", of->ways[i].way->text, td_route_print(&route, text));
}

static void print_decision(const td_decision *d)
{
    enum { DECIMALS = 4 };
    char forecast[TD_FORECAST_TEXT];
    printf("\nauto: %s, %s", d->text, d->reason ? d->reason : d->choice);
    if (d->forecast.mode) printf(" (%s)", td_forecast_print(&d->forecast, DECIMALS, forecast));
    printf("\n");
}

/* The way that has the name of no mode. */
static void explain_products(const planned *of)
{
    if (of->ways[of->count - 1].way == &td_policy_products)
        printf("%s: %s\n", td_policy_products.text,
               of->question.is_lowered ? "cuBLAS's products in place of its routine"
                                       : "Tandem's steps, with cuBLAS's products in them");
}

/* The routine, and the sizes, operations and batch that it was given. */
static void print_call(const planned *of)
{
    static const char names[] = "mnk";
    char label[sizeof of->routine->name.text + 1], ops[3], given[4 * PLAN_SIZES] = "";
    int64_t sizes[PLAN_SIZES];
    plan_given_sizes(of, sizes);
    plan_print_ops(of, ops);
    snprintf(label, sizeof label, "%s:", of->routine->name.text);
    printf("%-9s ", label);
    for (int i = 0; i < PLAN_SIZES; i++) {
        const size_t used = strlen(given);
        if (sizes[i] < 0) continue;
        printf("%s%" PRId64, used ? " x " : "", sizes[i]);
        snprintf(given + used, sizeof given - used, "%s%c", used ? ", " : "", names[i]);
    }
    printf(" (%s)%s%s", given, ops[0] ? ", op " : "", ops);
    if (plan_has_batches(of->routine)) printf(", batch %" PRId64, of->question.called->batch);
    printf("\n");
}

static void print_plan(const td_options *o, const planned *of, const td_model *model)
{
    char accuracy[TD_OPTION_TEXT_BYTES];
    td_option_print(o, TD_OPTION_ACCURACY, accuracy, sizeof accuracy);
    print_call(of);
    printf("device:   %s\nfigures:  %s\n", model->card.name, model->source);
    printf("accuracy: %s, %.1f bits of sums of %" PRId64 " terms\n\n", accuracy,
           td_policy_bits(o->accuracy, of->terms), of->terms);
    printf("%-14s %12s %12s %9s %10s %6s\n", "mode", "predicted ms", "found out ms", "TFLOP/s",
           "of native", "bits");
    const td_decision d = td_policy_choose(o, &of->question, model);
    for (int i = 0; i < of->count; i++) print_way(of, &of->ways[i], &d, o->accuracy);
    print_decision(&d);
    explain_products(of);
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

static void print_json_way(const planned *of, const planned_way *by, const td_model *model,
                           const td_decision *d, td_option_accuracy accuracy)
{
    const td_way *way = by->way;
    printf("\"mode\": \"%s\"", way->text);
    print_json_number("seconds", by->seconds);
    print_json_number("found_out_seconds", found_out_of(way, d));
    print_json_number("bits", bits_of(of, way));
    printf(", \"is_accurate_enough\": %s", is_accurate_enough(of, by, accuracy) ? "true" : "false");
    print_json_route(way, of, model);
    printf("}");
}

/* Null if the routine has no such size. */
static void print_json_size(const char *name, int64_t size)
{
    if (size < 0)
        printf("\"%s\": null, ", name);
    else
        printf("\"%s\": %" PRId64 ", ", name, size);
}

static void print_json_sizes(const planned *of)
{
    int64_t sizes[PLAN_SIZES];
    plan_given_sizes(of, sizes);
    printf(",\n  ");
    print_json_size("m", sizes[0]);
    print_json_size("n", sizes[1]);
    print_json_size("k", sizes[2]);
    printf("\"batch\": %" PRId64 ", \"terms\": %" PRId64, of->question.called->batch, of->terms);
}

static void print_json(const td_options *o, const planned *of, const td_model *model)
{
    char accuracy[TD_OPTION_TEXT_BYTES];
    char ops[3];
    plan_print_ops(of, ops);
    const td_decision d = td_policy_choose(o, &of->question, model);
    td_option_print(o, TD_OPTION_ACCURACY, accuracy, sizeof accuracy);
    td_json_print_members(stdout, "{\n  ",
                          (const td_json_member[]){{"device", model->card.name},
                                                   {"figures", model->source},
                                                   {"accuracy", accuracy},
                                                   {"routine", of->routine->name.text},
                                                   {"op", ops},
                                                   {NULL, NULL}});
    print_json_sizes(of);
    print_json_number("bits", td_policy_bits(o->accuracy, of->terms));
    td_json_print_members(stdout, ",\n  \"auto\": {",
                          (const td_json_member[]){{"mode", d.text},
                                                   {"native_reason", d.reason},
                                                   {"choice", d.reason ? NULL : d.choice},
                                                   {NULL, NULL}});
    printf("},\n  \"modes\": [");
    for (int i = 0; i < of->count; i++) {
        printf("%s\n    {", i ? "," : "");
        print_json_way(of, &of->ways[i], model, &d, o->accuracy);
    }
    printf("\n  ]\n}\n");
}

/* ---- the routines that can be planned ---- */

static value name_of(const void *row) { return value_text(((const plan_routine *)row)->name.text); }
static value sizes_of(const void *row) { return value_text(plan_sizes_of(row).text); }

/* The options that the routine takes, each with its value where it is not given. */
static value options_of(const void *row)
{
    static const char *const operations[] = {"", "--op N ", "--op NN "};
    const plan_routine *r = row;
    value v = {.kind = TEXT_VALUE};
    snprintf(v.text, sizeof v.text, "%s%s%s", operations[r->kind->operations],
             r->kind->has_side ? "--side L " : "", plan_has_batches(r) ? "--batch 1 " : "");
    if (v.text[0]) v.text[strlen(v.text) - 1] = '\0';
    return v;
}

static const column columns_of_routines[] = {
    {.title = "routine", .name = "routine", .is_left = true, .of = name_of},
    {.title = "sizes", .name = "sizes", .is_left = true, .of = sizes_of},
    {.title = "options", .name = "options", .is_left = true, .of = options_of},
    {0},
};

/* Returns the exit status. */
static int print_routines(const command_line *line)
{
    plan_routine routines[TD_ROUTINE_COUNT];
    const void *rows[TD_ROUTINE_COUNT];
    table t = {.columns = columns_of_routines, .rows = rows};
    for (; plan_routine_at(t.count, &routines[t.count]); t.count++)
        rows[t.count] = &routines[t.count];
    if (line->values[PLAN_WANTS_JSON]) {
        table_print_json(stdout, &t);
        printf("\n");
        return 0;
    }
    sheet s = {0};
    const bool is_filled = table_fill_sheet(&t, &s);
    if (is_filled) sheet_print(stdout, &s);
    sheet_free(&s);
    return is_filled ? 0 : EXIT_FAILURE;
}

static int run(const command_line *line)
{
    static td_model model; /* what it reads stays for the life of the process */
    td_problem p;
    td_options o;
    plan_routine r;
    if (line->values[PLAN_WANTS_ROUTINES]) return print_routines(line);
    if (!plan_find_routine(line->values[PLAN_ROUTINE], &r) || !plan_parse_problem(line, &r, &p) ||
        !td_options_parse(&o, environ))
        return EXIT_USAGE;
    if (!td_options_set(&o, TD_OPTION_MODE, "mode", "auto", TD_ORIGIN_CALL)) return EXIT_USAGE;
    const char *accuracy = line->values[PLAN_ACCURACY];
    if (accuracy && !td_options_set(&o, TD_OPTION_ACCURACY, "--accuracy", accuracy, TD_ORIGIN_CALL))
        return EXIT_USAGE;
    if (!line->values[PLAN_DEVICE])
        find_own(&model);
    else if (!find_named(line->values[PLAN_DEVICE], &model))
        return EXIT_USAGE;
    const planned of = plan_call(&r, &p, &model);
    if (!plan_is_there(&of)) return EXIT_USAGE;
    (line->values[PLAN_WANTS_JSON] ? print_json : print_plan)(&o, &of, &model);
    return 0;
}

const command command_plan = {
    .name = "plan",
    .arguments = "M N K",
    .most = INT_MAX, /* what is too much is said with the routine's sizes */
    .summary = "predict what a call takes in every mode, and which one auto would take",
    .details =
        "C is M x N, and K the terms of a sum. A routine is given the sizes that it has: of one "
        "triangle, and of what is square, there is no M; of dgetrs and dpotrs N is the order and K "
        "the right-hand sides; of dorgqr and dormqr K are the reflectors. --routines lists all "
        "routines, the sizes of each, and the options that it takes, as they are by default. "
        "Without --device it is the first GPU of this machine, as `tandem calibrate` measured it; "
        "without a GPU, the card that the host device stands for.",
    .options = {[PLAN_BATCH] = {"batch", "COUNT", "so many products in one call"},
                [PLAN_OP] = {"op", "OPS", "NN, TN, ...: what is done to A and to B"},
                [PLAN_ACCURACY] = {"accuracy", "ACCURACY", "as TANDEM_ACCURACY"},
                [PLAN_DEVICE] = {"device", "NAME",
                                 "predict for another device, e.g. 'NVIDIA H200'"},
                [PLAN_WANTS_JSON] = {"json", NULL, "print it as JSON, times in seconds"},
                [PLAN_ROUTINE] =
                    {"routine", "ROUTINE",
                     "one that --routines lists, e.g. dsyrk, zgemm or dgetrf; dgemm without it"},
                [PLAN_SIDE] = {"side", "SIDE", "L or R: where dsymm, dtrmm and dtrsm have their A"},
                [PLAN_WANTS_ROUTINES] = {"routines", NULL,
                                         "list the routines that can be planned"}},
    .alone = {{PLAN_WANTS_ROUTINES, "--json"}},
    .run = run,
};
