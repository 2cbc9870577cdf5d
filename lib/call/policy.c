#include "policy.h"

#include "lower.h"

#include "../engines/model/cost.h"
#include "../engines/model/dgemm_model.h"
#include "../engines/model/found_out.h"
#include "../engines/lu/limits.h"
#include "../engines/native_knows.h"
#include "../engines/model/prices.h"
#include "../engines/model/solve_model.h"
#include "../engines/real.h"
#include "../engines/solve/solve.h"

const char td_reason_mode[] = "mode native";
const char td_reason_invalid[] = "invalid arguments";
const char td_reason_empty[] = "nothing to compute";
const char td_reason_pedantic[] = "the handle asks for plain arithmetic";
const char td_reason_routine[] = "the mode has no such routine";
const char td_reason_device[] = "unsupported device";
const char td_reason_pointer[] = "C is not memory of the current device";
const char td_reason_stream[] = "stream unknown";
const char td_reason_memory[] = "out of device memory";
const char td_reason_capture[] = "no memory for a captured product";
const char td_reason_large[] = "too large for the mode";
const char td_reason_cublas[] = "no cuBLAS for the mode";
const char td_reason_launch[] = "kernel launch refused";
const char td_reason_refused[] = "stream refused";
const char td_reason_operand[] = "operand out of reach";
const char td_reason_scales[] = "nothing to multiply";
const char td_reason_slower[] = "predicted to gain too little";
const char td_reason_worst[] = "finding out that data are bad costs too much";
const char td_reason_accuracy[] = "no mode is as accurate as asked";
const char td_reason_layout[] = "C is D in another layout";
const char td_reason_members[] = "a scalar for each member";
const char td_reason_invariance[] = "batch invariance is asked for";

const char td_reason_rule[] = "a rule of TANDEM_RULES";
const char td_reason_rules[] = "faults in TANDEM_RULES";
const char td_reason_lost[] = "the site's last call has not won";

const char td_choice_fastest[] = "predicted fastest";
const char td_choice_faster[] = "predicted faster than native";
const char td_choice_emulated[] = "predicted fastest mode";
const char td_choice_reproducible[] = "the same on every device";
const char td_choice_rule[] = "a rule of TANDEM_RULES";
const char td_choice_instead[] = "the call's mode could not run here";

bool td_policy_intercepts(const td_options *options, td_entry entry)
{
    return options->families >> td_entries[entry].family & 1;
}

bool td_policy_emulates(const td_options *options)
{
    return options->mode.engine->run || options->mode.engine->is_choice;
}

static bool is_adaptive(const td_options *o) { return o->strategy == TD_STRATEGY_ADAPTIVE; }

/* Emulates only what is predicted to gain by it. */
static bool is_performant(const td_options *o)
{
    if (o->strategy == TD_STRATEGY_AUTO) return o->mode.engine->is_choice;
    return o->strategy == TD_STRATEGY_PERFORMANT || is_adaptive(o);
}

static bool is_reproducible(const td_options *o)
{
    return o->mode.engine->is_choice && o->strategy == TD_STRATEGY_REPRODUCIBLE;
}

bool td_policy_predicts(const td_options *o)
{
    return td_policy_emulates(o) && !is_reproducible(o) &&
           (o->mode.engine->is_choice || is_performant(o));
}

td_decision td_policy_native(const char *reason)
{
    return (td_decision){.text = "native", .reason = reason};
}

td_decision td_policy_binary64(void)
{
    return (td_decision){
        .engine = &td_engine_fp64, .text = td_engine_fp64.name, .choice = td_choice_instead};
}

/* Routines that need the arithmetic of no mode, but are faster by Tandem's own kernels. */
static td_decision decide_native_arithmetic(const td_problem *p)
{
    const char *refusal = td_lu_refusal(p);
    if (refusal) return td_policy_native(refusal);
    return (td_decision){.engine = &td_engine_lu, .text = td_engine_lu.name};
}

static bool is_lu(const td_problem *p)
{
    const td_kind kind = p->kind;
    return kind == TD_LU_FACTOR || kind == TD_LU_SOLVE || kind == TD_LU_INVERT ||
           kind == TD_INVERT || (kind == TD_TRIANGULAR_SOLVE && p->a.array);
}

/* ---- predictions ---- */

double td_policy_bits(td_option_accuracy accuracy, int64_t k)
{
    return accuracy ? (double)accuracy : td_bits_fp64((td_parameter){0}, k);
}

bool td_policy_serves(const td_way *way, double seconds, td_option_accuracy accuracy, int64_t k)
{
    return seconds >= 0.0 && way->engine->bits &&
           way->engine->bits(way->parameter, k) >= td_policy_bits(accuracy, k);
}

td_decision td_policy_keep_native(const char *reason, td_forecast forecast)
{
    td_decision native = td_policy_native(reason);
    native.forecast = forecast;
    return native;
}

static bool is_slower(const td_model *model, td_forecast f)
{
    const double margin =
        td_model_is_measured(model) ? TD_POLICY_MARGIN : TD_POLICY_MARGIN_OF_MODEL;
    return f.native >= 0.0 && f.emulated > (1.0 - margin) * f.native;
}

/* True if finding out that data are bad costs too much of native's time. */
static bool is_dear_to_find_out(td_forecast f) { return f.found_out > TD_WORST_CASE * f.native; }

/* True where the mode is so far ahead, on a card with little binary64, that bad data of some calls
 * are a small matter beside it. */
static bool is_far_ahead(const td_model *model, td_forecast f)
{
    const double far = 2.0;
    return !td_rates_have_much_binary64(&model->rates) && far * f.emulated <= f.native;
}

/* True if the call could take too much of native's time, for data that nobody knows yet. */
static bool is_too_slow_at_worst(const td_model *model, td_forecast f)
{
    return is_dear_to_find_out(f) && !is_far_ahead(model, f);
}

/* True if a call stays native for its worst case. This is the one place where strategy adaptive
 * relaxes that rule: what heed_site then makes of the call is risky, and for its site to allow. */
static bool forgoes(const td_options *o, const td_model *model, td_forecast f)
{
    return is_too_slow_at_worst(model, f) && !is_adaptive(o);
}

/* A decision to emulate what cuBLAS might make as well. */
static td_decision heed_site(const td_options *o, const td_model *model, td_decision d)
{
    d.heeds_site = is_adaptive(o) && d.engine->cost;
    d.is_risky = d.heeds_site && is_too_slow_at_worst(model, d.forecast);
    return d;
}

/* Sizes from which residues take no longer than binary64 on a device that is fast at both: 2048
 * cubed on an H100. */
enum { LEAST_SIDE = 512 };
static const double least_products = 0x1p33;

/* The mode by m, n, k and the accuracy alone: so a member of a batch has the bits of a single
 * product. */
static td_decision choose_reproducibly(const td_options *o, const td_problem *p)
{
    const bool is_large = p->m >= LEAST_SIDE && p->n >= LEAST_SIDE && p->k >= LEAST_SIDE &&
                          (double)p->m * (double)p->n * (double)p->k >= least_products,
               needs_more =
                   td_policy_bits(o->accuracy, p->k) > td_bits_fp64((td_parameter){0}, p->k);
    td_decision d = {.text = needs_more ? "faithful"
                             : is_large ? "ozaki2"
                                        : "fp64",
                     .choice = td_choice_reproducible};
    d.engine = td_engine_parse(d.text, &d.parameter);
    return d;
}

/* cuBLAS's products in place of its update of a triangle. */
static const td_way native_products = {.engine = &td_engine_dgemm, .text = "dgemm"};

/* The same if they are good enough, unless the best of the modes gains by them what a mode must
 * gain by native calls; then that. */
static const td_way *faster_products(const td_options *o, const td_problem *p,
                                     const td_model *model, const td_way *best, double *seconds)
{
    const double by_products = is_performant(o) ? td_model_dgemm(model, p) : -1.0;
    const td_forecast forecast = {best->text, by_products, *seconds, 0.0};
    if (!td_policy_serves(&native_products, by_products, o->accuracy, p->k) ||
        !is_slower(model, forecast))
        return best;
    *seconds = by_products;
    return &native_products;
}

/* The fastest of all that are good enough. */
td_decision td_policy_choose(const td_options *o, const td_problem *p, const td_model *model)
{
    if (is_reproducible(o)) return choose_reproducibly(o, p);
    double seconds[TD_MOST_WAYS];
    int count, best = 0;
    const td_way *way = td_ways(&count);
    td_model_predict(model, p, seconds);
    for (int i = 1; i < count; i++)
        if (!way[i].engine->is_never_faster &&
            td_policy_serves(&way[i], seconds[i], o->accuracy, p->k) &&
            (best == 0 || seconds[i] < seconds[best]))
            best = i;
    if (best == 0) return td_policy_native(td_reason_accuracy);
    const td_way *fastest = faster_products(o, p, model, &way[best], &seconds[best]);
    td_forecast forecast = {fastest->text, seconds[0], seconds[best], 0.0};
    const bool may_be_native =
        is_performant(o) && td_policy_serves(&way[0], seconds[0], o->accuracy, p->k);
    if (may_be_native && fastest->engine->takes_prices)
        forecast.found_out = td_model_found_out(model, p, seconds[0]);
    if (may_be_native && is_slower(model, forecast))
        return td_policy_keep_native(td_reason_slower, forecast);
    if (forgoes(o, model, forecast)) return td_policy_keep_native(td_reason_worst, forecast);
    td_parameter parameter = fastest->parameter;
    if (fastest->engine->takes_prices) parameter.prices = td_prices_of(model, fastest->engine, p);
    if (!may_be_native || (is_dear_to_find_out(forecast) && is_far_ahead(model, forecast)))
        parameter.prices.native = parameter.prices.measure = 0; /* no probe */
    const td_decision d = {.engine = fastest->engine,
                           .parameter = parameter,
                           .text = fastest->text,
                           .choice = is_performant(o) ? td_choice_fastest : td_choice_emulated,
                           .forecast = forecast};
    return may_be_native ? heed_site(o, model, d) : d;
}

/* The mode that was asked for. */
static td_decision take_mode(const td_options *o, const td_problem *p)
{
    (void)p;
    return (td_decision){
        .engine = o->mode.engine, .parameter = o->mode.parameter, .text = o->mode.text};
}

/* The same, where it gains time. */
static td_decision weigh_mode(const td_options *o, const td_problem *p, const td_model *model)
{
    td_decision d = take_mode(o, p);
    const double emulated = td_model_seconds(model, d.engine, d.parameter, p);
    if (emulated < 0.0) return d;
    d.forecast = (td_forecast){d.text, td_model_seconds(model, td_engines[0], (td_parameter){0}, p),
                               emulated, 0.0};
    if (is_slower(model, d.forecast)) return td_policy_keep_native(td_reason_slower, d.forecast);
    d.choice = td_choice_faster;
    return heed_site(o, model, d);
}

/* ---- triangular solves ---- */

/* The products whose sizes choose_reproducibly gives to mode ozaki2: m and k are alike, n are the
 * vectors. */
static td_decision choose_solve_reproducibly(const td_problem *p)
{
    const double vectors = (double)td_solve_vectors(p);
    int64_t terms = LEAST_SIDE;
    td_problem largest;
    while ((double)terms * (double)terms * vectors < least_products) terms *= 2;
    const bool is_large = vectors >= LEAST_SIDE &&
                          td_solve_largest(p, td_solve_most_rows(p->type), &largest) &&
                          largest.k >= terms;
    td_decision d = {.text = is_large ? "ozaki2" : "fp64",
                     .choice = td_choice_reproducible,
                     .cut = {td_solve_most_rows(p->type), terms}};
    d.engine = td_engine_parse(d.text, &d.parameter);
    return d;
}

/* The fastest way of those that are good enough; mode fp64's products stand for cuBLAS's. */
static int fastest_of_solves(const td_options *o, const td_problem *p,
                             const td_solve_forecast *by_way)
{
    int count, best = td_way_of(&td_engine_fp64, (td_parameter){0});
    const td_way *way = td_ways(&count);
    for (int i = 1; i < count; i++)
        if (!way[i].engine->is_never_faster &&
            td_policy_serves(&way[i], by_way[i].seconds, o->accuracy, td_solve_order(p)) &&
            by_way[i].seconds < by_way[best].seconds)
            best = i;
    return best;
}

/* A solve whose data are bad: every product of the mode is probed, and mode fp64's sums make it. */
static double found_out_in_solve(const td_problem *p, const td_solve_forecast *by_way, int best)
{
    const int fp64 = td_way_of(&td_engine_fp64, (td_parameter){0});
    const int64_t products = td_solve_blocks(p, by_way[best].cut.least_terms) - 1;
    td_problem largest;
    if (products <= 0 || !td_solve_largest(p, by_way[best].cut.block_rows, &largest))
        return by_way[fp64].seconds;
    return by_way[fp64].seconds + (double)products * td_model_seconds_to_find_out(&largest);
}

td_decision td_policy_choose_solve(const td_options *o, const td_problem *p, const td_model *model)
{
    td_solve_forecast by_way[TD_MOST_WAYS];
    const int64_t order = td_solve_order(p);
    int count;
    if (td_policy_bits(o->accuracy, order) > td_bits_fp64((td_parameter){0}, order))
        return td_policy_native(td_reason_accuracy);
    if (is_reproducible(o)) return choose_solve_reproducibly(p);
    td_model_predict_solve(model, p, by_way);
    const int best = fastest_of_solves(o, p, by_way);
    const td_way *way = &td_ways(&count)[best];
    td_forecast forecast = {way->text, by_way[0].seconds, by_way[best].seconds, 0.0};
    if (is_performant(o) && way->engine->takes_prices)
        forecast.found_out = found_out_in_solve(p, by_way, best);
    if (is_performant(o) && is_slower(model, forecast))
        return td_policy_keep_native(td_reason_slower, forecast);
    if (forgoes(o, model, forecast)) return td_policy_keep_native(td_reason_worst, forecast);
    td_decision d = {.engine = way->engine,
                     .parameter = way->parameter,
                     .text = way->text,
                     .choice = is_performant(o) ? td_choice_fastest : td_choice_emulated,
                     .cut = by_way[best].cut,
                     .forecast = forecast};
    td_problem largest;
    if (way->engine->takes_prices && td_solve_largest(p, d.cut.block_rows, &largest))
        d.parameter.prices = td_prices_of(model, way->engine, &largest);
    d.parameter.prices.native = 0; /* each part is smaller than the last one */
    if (!is_performant(o)) d.parameter.prices.measure = 0;
    return heed_site(o, model, d);
}

static td_decision take_mode_for_solve(const td_options *o, const td_problem *p)
{
    td_decision d = take_mode(o, p);
    d.cut = (td_solve_cut){td_solve_most_rows(p->type), TD_SOLVE_LEAST_TERMS};
    return d;
}

static td_decision weigh_mode_for_solve(const td_options *o, const td_problem *p,
                                        const td_model *model)
{
    td_solve_forecast by_way[TD_MOST_WAYS];
    td_decision d = take_mode_for_solve(o, p);
    const int way = td_way_of(d.engine, d.parameter);
    td_model_predict_solve(model, p, by_way);
    d.forecast = (td_forecast){d.text, by_way[0].seconds, by_way[way].seconds, 0.0};
    if (is_slower(model, d.forecast)) return td_policy_keep_native(td_reason_slower, d.forecast);
    d.cut = by_way[way].cut;
    d.choice = td_choice_faster;
    return heed_site(o, model, d);
}

static bool is_of_double(td_type type)
{
    return type == TD_BINARY64 || type == TD_COMPLEX_BINARY64;
}

/* What a routine is to those who decide: the product that it is, or a triangular solve. */
typedef struct {
    const td_problem *problem;
    td_decision (*take)(const td_options *o, const td_problem *p);
    td_decision (*choose)(const td_options *o, const td_problem *p, const td_model *model);
    td_decision (*weigh)(const td_options *o, const td_problem *p, const td_model *model);
} question;

static td_decision answer(const td_options *o, const question *q, const td_model *model)
{
    if (!o->mode.engine->is_choice && !is_performant(o)) return q->take(o, q->problem);
    if (!model && !is_reproducible(o)) return td_policy_native(td_reason_device);
    if (td_problem_only_scales(q->problem)) return td_policy_native(td_reason_scales);
    return (o->mode.engine->is_choice ? q->choose : q->weigh)(o, q->problem, model);
}

td_decision td_policy_decide(const td_options *o, const td_problem *p, const td_model *model)
{
    if (!td_policy_emulates(o)) return td_policy_native(td_reason_mode);
    if (!td_problem_is_valid(p)) return td_policy_native(td_reason_invalid);
    if (td_problem_is_empty(p)) return td_policy_native(td_reason_empty);
    if (is_lu(p)) return decide_native_arithmetic(p);
    if (p->is_pedantic) return td_policy_native(td_reason_pedantic);
    td_problem product;
    if (td_problem_is_solve(p) && is_of_double(p->type))
        return answer(
            o, &(question){p, take_mode_for_solve, td_policy_choose_solve, weigh_mode_for_solve},
            model);
    if (!td_lower(p, &product) || !is_of_double(p->type))
        return td_policy_native(td_reason_routine);
    if (td_problem_only_scales(p) && p->type != TD_BINARY64)
        return td_policy_native(td_reason_scales);
    td_problem real;
    td_real_product(&product, &real);
    real.lacks_branch |= !td_native_knows(p);
    return answer(o, &(question){&real, take_mode, td_policy_choose, weigh_mode}, model);
}
