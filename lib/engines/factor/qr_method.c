/* qr_method.c - methods `qr`, the QR factors of one matrix (qr.h), and `q`, what is made of their
 * reflectors (q.h), with the products of a mode. */
#include "../../model/qr_model.h"
#include "../methods.h"
#include "../proven.h"
#include "q.h"
#include "qr.h"

static bool accepts_factor(const td_question *q) { return q->called->kind == TD_FACTOR_QR; }

static bool accepts_q(const td_question *q)
{
    return q->called->kind == TD_FORM_Q || q->called->kind == TD_APPLY_Q;
}

static const char *refusal(const td_question *q)
{
    const td_problem *p = q->called;
    if (!p->info || !p->tau) return td_reason_invalid;
    return p->kind == TD_FACTOR_QR ? td_factor_size_refusal(p) : td_factor_q_refusal(p);
}

/* Of the reflectors' products with columns. */
static int64_t terms(const td_question *q) { return td_qr_reflected(q->called); }

static void predict(const td_model *model, const td_question *q, td_way_forecast *by_way)
{
    td_model_predict_qr(model, q->called, by_way);
}

static td_way_forecast predict_one(const td_model *model, const td_question *q,
                                   const td_engine *engine, td_parameter parameter)
{
    if (engine == td_engines[0])
        return (td_way_forecast){.seconds = td_model_native_qr(model, q->called)};
    const int way = td_way_of(engine, parameter);
    return (td_way_forecast){.seconds = td_model_qr_by_one_way(model, q->called, way)};
}

static double by_native_products(const td_model *model, const td_question *q)
{
    return td_model_qr_by_native_products(model, q->called);
}

static int64_t reflectors_of(const td_product *update, int64_t i)
{
    return i % 2 == 0 ? update->m : update->k;
}

/* True if update number i, of so many reflectors, is the mode's. */
static bool is_by_mode(const td_product *update, int64_t i, td_solve_cut cut)
{
    return reflectors_of(update, i) >= cut.least_terms;
}

static int64_t probed(const td_question *q, td_solve_cut cut)
{
    int64_t probed = 0;
    for (int64_t i = 0; i < td_qr_updates(q->called); i++) {
        const td_product update = td_qr_update(q->called, i);
        probed += is_by_mode(&update, i, cut);
    }
    return probed;
}

static bool priced(const td_question *q, td_solve_cut cut, td_real_product *product)
{
    (void)cut;
    return td_qr_largest(q->called, product);
}

/* Where a panel's products are large by the rule of method `product`: never. */
static bool is_large(const td_question *q, td_solve_cut *cut)
{
    (void)q;
    *cut = (td_solve_cut){0};
    return false;
}

/* Engine `dgemm` stands for cuBLAS's own products. */
static td_run_status run(const td_question *q, const td_decision *decision, td_device *device,
                         size_t workspace_limit, td_counters *counters)
{
    const bool is_native = decision->engine == &td_engine_dgemm;
    const td_factor_products by = {.engine = is_native ? NULL : decision->engine,
                                   .parameter = decision->parameter,
                                   .cut = decision->cut};
    const td_qr_cut cut = td_qr_cut_of(q->called);
    if (q->called->kind != TD_FACTOR_QR)
        return td_factor_q(q->called, &by, cut, device, workspace_limit, counters);
    return td_factor_qr(q->called, &by, cut, device, workspace_limit, counters);
}

static int64_t tiles(const td_question *q, const td_decision *decision)
{
    const td_problem *p = q->called;
    int64_t tiles = 0;
    for (int64_t i = 0; i < td_qr_updates(p); i++) {
        const td_product update = td_qr_update(p, i);
        if (is_by_mode(&update, i, decision->cut)) tiles += td_tiles_of_product(&update);
    }
    for (int64_t i = 0; i < td_qr_updates_within(p) && decision->cut.least_terms == 0; i++) {
        const td_product update = td_qr_update_within(p, i);
        tiles += td_tiles_of_product(&update);
    }
    return tiles;
}

/* Panels are factored in binary64. What A was is the product of R and a Q of which there are
 * reflectors alone; and these are gone where Q is formed. */
#define METHOD(name_, accepts_)                                                                    \
    {                                                                                              \
        .name = name_, .accepts = accepts_, .refusal = refusal, .terms = terms,                    \
        .most_bits = td_bits_of_binary64, .predict = predict, .predict_one = predict_one,          \
        .by_native_products = by_native_products, .found_out = td_found_out_by_fp64,               \
        .probed = probed, .priced = priced, .cut = td_no_cut, .is_large = is_large, .run = run,    \
        .promised = td_promised_nothing, .sample = td_no_sample, .tiles = tiles                    \
    }

const td_method td_method_qr = METHOD("qr", accepts_factor);
const td_method td_method_q = METHOD("q", accepts_q);
