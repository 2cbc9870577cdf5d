#include "policy.h"

#include "../engines/proven.h"
#include "../model/found_out.h"
#include "../model/prices.h"

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

/* ---- predictions ---- */

double td_policy_bits(td_option_accuracy accuracy, int64_t k)
{
    return accuracy ? (double)accuracy : td_bits_of_binary64(k);
}

bool td_policy_serves(const td_way *way, double seconds, double bits, int64_t k)
{
    return seconds >= 0.0 && td_bits(way->engine, way->parameter, k) >= bits;
}

td_decision td_policy_keep_native(const char *reason, td_forecast forecast)
{
    td_decision native = td_policy_native(reason);
    native.forecast = forecast;
    return native;
}

/* What a way must gain, as a share of native's time. */
static double least_gain(const td_question *q, const td_model *model, const td_engine *engine)
{
    const td_method *method = q->method;
    const bool is_rough = engine == &td_engine_dgemm && method->is_native_rough;
    if (!td_model_is_measured(model) || is_rough) return TD_POLICY_MARGIN_OF_MODEL;
    return method->is_certain && method->is_certain(q) ? TD_POLICY_MARGIN_IF_CERTAIN
                                                       : TD_POLICY_MARGIN;
}

static bool is_slower(const td_question *q, const td_model *model, const td_engine *engine,
                      td_forecast f)
{
    return f.native >= 0.0 && f.emulated > (1.0 - least_gain(q, model, engine)) * f.native;
}

/* True if finding out that data are bad costs too much of native's time. */
static bool is_dear_to_find_out(td_forecast f) { return f.found_out > TD_WORST_CASE * f.native; }

/* True if bad data that are found out late cost more than ordinary data gain. */
static bool is_dear_to_find_out_late(td_forecast f)
{
    return f.found_late > 0.0 && f.found_late - f.native > f.native - f.emulated;
}

/* True where the mode is so far ahead, on a card with little binary64, that bad data of some calls
 * are a small matter beside it. */
static bool is_far_ahead(const td_model *model, td_forecast f)
{
    const double far = 2.0;
    return !td_rates_have_much_binary64(&model->rates) && far * f.emulated <= f.native;
}

/* True if the call could take too much of native's time, for data that nobody knows yet. */
static bool is_too_slow_at_worst(const td_question *q, const td_model *model, td_forecast f)
{
    return !q->method->is_rarely_found_out && !is_far_ahead(model, f) &&
           (is_dear_to_find_out(f) || is_dear_to_find_out_late(f));
}

/* True if a call stays native for its worst case. This is the one place where strategy adaptive
 * relaxes that rule: what heed_site then makes of the call is risky, and for its site to allow. */
static bool forgoes(const td_options *o, const td_question *q, const td_model *model, td_forecast f)
{
    return is_too_slow_at_worst(q, model, f) && !is_adaptive(o);
}

/* Seconds of the copies round an emulated call whose matrices are on the host. */
static double copying_seconds(const td_question *q) { return q->called->copying_seconds; }

/* cuBLAS's, which copies such matrices while it multiplies. */
static double native_seconds(const td_question *q, double seconds)
{
    const double copies = q->called->native_copying_seconds;
    return seconds >= 0.0 && seconds < copies ? copies : seconds;
}

/* A decision to emulate what cuBLAS might make as well. */
static td_decision heed_site(const td_options *o, const td_question *q, const td_model *model,
                             td_decision d)
{
    d.heeds_site = is_adaptive(o) && d.engine->cost;
    d.is_risky = d.heeds_site && is_too_slow_at_worst(q, model, d.forecast);
    return d;
}

/* True if what the call begins with has other bits on every device, in any mode. */
static bool has_bits_of_device(const td_options *o, const td_question *q)
{
    return o->strategy == TD_STRATEGY_REPRODUCIBLE && !q->method->is_large;
}

/* The mode by sizes and the accuracy alone: the same on every device. */
static td_decision choose_reproducibly(const td_options *o, const td_question *q)
{
    const int64_t terms = q->method->terms(q);
    const bool needs_more = td_policy_bits(o->accuracy, terms) > td_bits_of_binary64(terms);
    td_decision d = {.choice = td_choice_reproducible};
    const bool is_large = q->method->is_large(q, &d.cut);
    d.text = needs_more ? "faithful" : is_large ? "ozaki2" : "fp64";
    d.engine = td_engine_parse(d.text, &d.parameter);
    return d;
}

/* True if some mode's time is known. */
static bool is_timed(const td_way_forecast *by_way)
{
    int count;
    (void)td_ways(&count);
    for (int i = 1; i < count; i++)
        if (by_way[i].seconds >= 0.0) return true;
    return false;
}

/* What runs a call: a way, and its seconds and cut. */
typedef struct {
    const td_way *way;
    td_way_forecast forecast;
} candidate;

/* The fastest of the modes that are good enough; number 0, native, if there is none. */
static int fastest_mode(const td_options *o, const td_question *q, const td_way_forecast *by_way)
{
    const int64_t terms = q->method->terms(q);
    const double bits = td_policy_bits(o->accuracy, terms);
    int count, best = q->method->has_fp64 ? td_way_of_binary64() : 0;
    const td_way *way = td_ways(&count);
    for (int i = 1; i < count; i++)
        if (!way[i].engine->is_never_faster &&
            (best == 0 || by_way[i].seconds < by_way[best].seconds) &&
            td_policy_serves(&way[i], by_way[i].seconds, bits, terms))
            best = i;
    return best;
}

const td_way td_policy_products = {.engine = &td_engine_dgemm, .text = "dgemm"};

/* Returns cuBLAS's products if they are good enough, unless the best of the modes gains by them
 * what a mode must gain by native calls; then that mode. */
static candidate faster_products(const td_options *o, const td_question *q, const td_model *model,
                                 candidate best)
{
    if (!is_performant(o) || !q->method->by_native_products) return best;
    const double seconds = q->method->by_native_products(model, q);
    const int64_t terms = q->method->terms(q);
    const td_forecast forecast = {
        .mode = best.way->text, .native = seconds, .emulated = best.forecast.seconds};
    if (!td_policy_serves(&td_policy_products, seconds, td_policy_bits(o->accuracy, terms),
                          terms) ||
        !is_slower(q, model, best.way->engine, forecast))
        return best;
    return (candidate){&td_policy_products, {.seconds = seconds}};
}

/* How the data choose on the device. may_be_native: they may choose cuBLAS. */
static td_prices prices_of(const td_question *q, const td_model *model, const candidate *best,
                           bool may_be_native)
{
    td_real_product product;
    if (!best->way->engine->takes_prices || !q->method->priced(q, best->forecast.cut, &product))
        return best->way->parameter.prices;
    td_prices prices = td_prices_of(model, best->way->engine, &product);
    if (!may_be_native) prices.measure = 0; /* nobody probes */
    if (!may_be_native || !q->method->has_branch) prices.native = 0;
    return prices;
}

/* Sets what the call takes whose data turn out to be bad for the way of that number. */
static void find_out(const td_question *q, const td_model *model, const td_way_forecast *by_way,
                     int way, td_forecast *f)
{
    f->found_out = q->method->found_out(model, q, by_way, way);
    if (q->method->found_late) f->found_late = q->method->found_late(model, q, by_way);
    if (f->found_out > 0.0) f->found_out += copying_seconds(q);
    if (f->found_late > 0.0) f->found_late += copying_seconds(q);
}

td_decision td_policy_choose(const td_options *o, const td_question *q, const td_model *model)
{
    const int64_t terms = q->method->terms(q);
    const double bits = td_policy_bits(o->accuracy, terms);
    if (bits > q->method->most_bits(terms)) return td_policy_native(td_reason_accuracy);
    if (has_bits_of_device(o, q)) return td_policy_native(td_reason_narrow);
    if (is_reproducible(o)) return choose_reproducibly(o, q);
    td_way_forecast by_way[TD_MOST_WAYS];
    int count;
    const td_way *way = td_ways(&count);
    q->method->predict(model, q, by_way);
    const int fastest = fastest_mode(o, q, by_way);
    if (fastest == 0)
        return td_policy_native(is_timed(by_way) ? td_reason_accuracy : td_reason_untimed);
    const candidate best =
        faster_products(o, q, model, (candidate){&way[fastest], by_way[fastest]});
    td_forecast forecast = {.mode = best.way->text,
                            .native = native_seconds(q, by_way[0].seconds),
                            .emulated = best.forecast.seconds + copying_seconds(q)};
    const bool may_be_native =
        is_performant(o) && td_policy_serves(&way[0], by_way[0].seconds, bits, terms);
    if (may_be_native && best.way->engine->takes_prices)
        find_out(q, model, by_way, fastest, &forecast);
    if (may_be_native && is_slower(q, model, best.way->engine, forecast))
        return td_policy_keep_native(td_reason_slower, forecast);
    if (forgoes(o, q, model, forecast)) return td_policy_keep_native(td_reason_worst, forecast);
    const bool is_not_probed =
        q->method->has_branch && is_dear_to_find_out(forecast) && is_far_ahead(model, forecast);
    td_decision d = {.engine = best.way->engine,
                     .parameter = best.way->parameter,
                     .text = best.way->text,
                     .choice = is_performant(o) ? td_choice_fastest : td_choice_emulated,
                     .cut = best.forecast.cut,
                     .forecast = forecast};
    d.parameter.prices = prices_of(q, model, &best, may_be_native && !is_not_probed);
    return may_be_native ? heed_site(o, q, model, d) : d;
}

/* The mode that was asked for. */
static td_decision take_mode(const td_options *o, const td_question *q)
{
    return (td_decision){.engine = o->mode.engine,
                         .parameter = o->mode.parameter,
                         .text = o->mode.text,
                         .cut = q->method->cut(q)};
}

/* The mode that was asked for, where it gains time. */
static td_decision weigh_mode(const td_options *o, const td_question *q, const td_model *model)
{
    td_decision d = take_mode(o, q);
    const td_way_forecast native =
                              q->method->predict_one(model, q, td_engines[0], (td_parameter){0}),
                          emulated = q->method->predict_one(model, q, d.engine, d.parameter);
    if (emulated.seconds < 0.0) return td_policy_native(td_reason_untimed);
    d.forecast = (td_forecast){.mode = d.text,
                               .native = native_seconds(q, native.seconds),
                               .emulated = emulated.seconds + copying_seconds(q)};
    if (is_slower(q, model, d.engine, d.forecast))
        return td_policy_keep_native(td_reason_slower, d.forecast);
    d.cut = emulated.cut;
    d.choice = td_choice_faster;
    return heed_site(o, q, model, d);
}

/* By the arithmetic of a mode. */
static td_decision answer(const td_options *o, const td_question *q, const td_model *model)
{
    if (has_bits_of_device(o, q)) return td_policy_native(td_reason_narrow);
    if (!o->mode.engine->is_choice && !is_performant(o)) return take_mode(o, q);
    if (!model && !is_reproducible(o)) return td_policy_native(td_reason_device);
    if (td_problem_only_scales(q->called)) return td_policy_native(td_reason_scales);
    return (o->mode.engine->is_choice ? td_policy_choose : weigh_mode)(o, q, model);
}

/* Of a call that no mode is asked for: cuBLAS may emulate it all the same. */
static const char *reason_of_native(const td_problem *called)
{
    return called->asks_emulation     ? td_reason_emulates
           : called->allows_emulation ? td_reason_allows
                                      : td_reason_mode;
}

td_decision td_policy_decide(const td_options *o, const td_question *q, const td_model *model)
{
    const td_method *method = q->method;
    if (!td_policy_emulates(o)) return td_policy_native(reason_of_native(q->called));
    if (!td_problem_is_valid(q->called)) return td_policy_native(td_reason_invalid);
    if (td_problem_is_empty(q->called)) return td_policy_native(td_reason_empty);
    if (!td_problem_is_countable(q->called)) return td_policy_native(td_reason_large);
    const char *refusal = method && method->refusal ? method->refusal(q) : NULL;
    if (method && method->engine)
        return refusal ? td_policy_native(refusal)
                       : (td_decision){.engine = method->engine, .text = method->engine->name};
    if (q->called->is_pedantic) return td_policy_native(td_reason_pedantic);
    if (q->called->asks_emulation && !(o->families & TD_ALSO_EMULATED))
        return td_policy_native(td_reason_emulates);
    if (!method) return td_policy_native(td_reason_routine);
    return refusal ? td_policy_native(refusal) : answer(o, q, model);
}
