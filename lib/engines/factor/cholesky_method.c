/* cholesky_method.c - method `cholesky`: the Cholesky factor of one matrix (cholesky.h), with the
 * products of a mode. */
#include "../../model/cholesky_model.h"
#include "../../routine/cholesky_steps.h"
#include "../methods.h"
#include "../proven.h"
#include "cholesky.h"

static bool accepts(const td_question *q) { return q->called->kind == TD_FACTOR_CHOLESKY; }

static const char *refusal(const td_question *q)
{
    return q->called->info ? td_factor_cholesky_refusal(q->called) : td_reason_invalid;
}

static int64_t terms(const td_question *q) { return q->called->n; }

static void predict(const td_model *model, const td_question *q, td_way_forecast *by_way)
{
    td_model_predict_cholesky(model, q->called, by_way);
}

static double by_native_products(const td_model *model, const td_question *q)
{
    return td_model_cholesky_by_native_products(model, q->called);
}

/* One kernel factors the matrix, whose order is none below those of the table. */
static bool is_certain(const td_question *q)
{
    const td_problem *p = q->called;
    return td_cholesky_panels(td_cholesky_cut_of(p), p->n) == 0 && td_model_times_cholesky(p->n);
}

static int64_t probed(const td_question *q, td_solve_cut cut)
{
    (void)cut;
    return td_cholesky_products(td_cholesky_cut_of(q->called), q->called->n);
}

static bool priced(const td_question *q, td_solve_cut cut, td_real_product *product)
{
    (void)cut;
    return td_cholesky_largest(q->called, product);
}

/* Where the largest product is large by the rule of method `product`. */
static bool is_large(const td_question *q, td_solve_cut *cut)
{
    td_real_product largest;
    *cut = (td_solve_cut){0};
    return td_cholesky_largest(q->called, &largest) && td_is_large_product(&largest);
}

/* Engine `dgemm` stands for cuBLAS's own products. */
static bool is_native(const td_decision *decision) { return decision->engine == &td_engine_dgemm; }

static td_run_status run(const td_question *q, const td_decision *decision, td_device *device,
                         size_t workspace_limit, td_counters *counters)
{
    const td_factor_products by = {.engine = is_native(decision) ? NULL : decision->engine,
                                   .parameter = decision->parameter};
    return td_factor_cholesky(q->called, &by, td_cholesky_cut_of(q->called), device,
                              workspace_limit, counters);
}

/* cuSOLVER promises nothing. */
static td_promise promised(const td_question *q, const td_decision *decision)
{
    if (!decision->engine) return td_promised_nothing(q, decision);
    const td_engine *engine = is_native(decision) ? td_engines[0] : decision->engine;
    return (td_promise){.bound = td_proven_cholesky(engine, decision->parameter, q->called,
                                                    td_cholesky_cut_of(q->called))};
}

/* L L', of which both factors are where a triangle of A has been. */
static bool sample(const td_question *q, td_product *product)
{
    const td_problem *p = q->called;
    const bool is_lower = p->triangle == TD_LOWER;
    const td_form form = {TD_STORED_TRIANGULAR, .triangle = p->triangle};
    *product = (td_product){.routine = TD_PRODUCT,
                            .type = p->type,
                            .op_a = is_lower ? TD_OP_N : td_adjoint(p->type),
                            .op_b = is_lower ? td_adjoint(p->type) : TD_OP_N,
                            .form_a = form,
                            .form_b = form,
                            .region = is_lower ? TD_REGION_LOWER : TD_REGION_UPPER,
                            .m = p->n,
                            .n = p->n,
                            .k = p->n,
                            .alpha = td_scalar_of(p->type, 1.0),
                            .has_real_diagonal = p->type == TD_COMPLEX_BINARY64,
                            .a = p->a,
                            .b = p->a,
                            .c = p->a,
                            .batch = 1,
                            .stream = p->stream};
    return true;
}

static int64_t tiles(const td_question *q, const td_decision *decision)
{
    const td_cholesky_cut cut = td_cholesky_cut_of(q->called);
    const int64_t products = td_cholesky_products(cut, q->called->n);
    int64_t tiles = 0;
    (void)decision;
    for (int64_t i = 0; i < products; i++) {
        const td_product update = td_cholesky_product(cut, q->called, i);
        tiles += td_tiles_of_product(&update);
    }
    return tiles;
}

const td_method td_method_cholesky = {
    .name = "cholesky",
    .accepts = accepts,
    .refusal = refusal,
    .terms = terms,
    .most_bits = td_bits_of_binary64, /* panels are factored in it */
    .predict = predict,
    .predict_one = td_predict_by_way,
    .by_native_products = by_native_products,
    .is_certain = is_certain,
    .found_out = td_found_out_by_fp64,
    .probed = probed,
    .priced = priced,
    .cut = td_no_cut,
    .is_large = is_large,
    .run = run,
    .promised = promised,
    .sample = sample,
    .has_residuals = true,
    .tiles = tiles,
};
