/* product.c - method `product`: a routine that is a product of two factors, which the engine of a
 * mode makes. */
#include "../../kernels/view/target.h"
#include "../model/dgemm_model.h"
#include "../model/found_out.h"
#include "../routine/real.h"
#include "engine.h"
#include "methods.h"

static bool accepts(const td_question *q)
{
    const td_type type = q->called->type;
    return q->is_lowered && (type == TD_BINARY64 || type == TD_COMPLEX_BINARY64);
}

/* No engine scales C alone, but for matrices of real numbers. */
static const char *refusal(const td_question *q)
{
    const bool is_real = q->called->type == TD_BINARY64;
    return !is_real && td_problem_only_scales(q->called) ? td_reason_scales : NULL;
}

static int64_t terms(const td_question *q) { return q->real.k; }

static double most_bits(int64_t terms)
{
    (void)terms;
    return TD_MOST_BITS;
}

static void predict(const td_model *model, const td_question *q, td_way_forecast *by_way)
{
    double seconds[TD_MOST_WAYS];
    int count;
    (void)td_ways(&count);
    td_model_predict(model, &q->real, seconds);
    for (int i = 0; i < count; i++) by_way[i] = (td_way_forecast){.seconds = seconds[i]};
}

static td_way_forecast predict_one(const td_model *model, const td_question *q,
                                   const td_engine *engine, td_parameter parameter)
{
    return (td_way_forecast){.seconds = td_model_seconds(model, engine, parameter, &q->real)};
}

static double by_native_products(const td_model *model, const td_question *q)
{
    return td_model_dgemm(model, &q->real);
}

static double found_out(const td_model *model, const td_question *q, const td_way_forecast *by_way,
                        int way)
{
    (void)way;
    return td_model_found_out(model, &q->real, by_way[0].seconds, q->branch);
}

static double found_late(const td_model *model, const td_question *q, const td_way_forecast *by_way)
{
    return td_model_found_late(model, &q->real, by_way[0].seconds);
}

static bool priced(const td_question *q, td_solve_cut cut, td_real_product *product)
{
    (void)cut;
    *product = q->real;
    return true;
}

/* By m, n and k alone: so a member of a batch has the bits of a single product. */
bool td_is_large_product(const td_real_product *real)
{
    return real->m >= TD_LARGE_SIDE && real->n >= TD_LARGE_SIDE && real->k >= TD_LARGE_SIDE &&
           (double)real->m * (double)real->n * (double)real->k >= TD_LARGE_PRODUCTS;
}

static bool is_large(const td_question *q, td_solve_cut *cut)
{
    *cut = td_no_cut(q);
    return td_is_large_product(&q->real);
}

/* A stage of a solve is cut as the whole solve is: small ones are mode fp64's. */
static bool is_small_stage(const td_question *q, const td_decision *decision)
{
    return q->product.k < decision->cut.least_terms;
}

static td_run_status run(const td_question *q, const td_decision *decision, td_device *device,
                         size_t workspace_limit, td_counters *counters)
{
    if (is_small_stage(q, decision))
        return td_engine_run(&td_engine_fp64, &q->product, (td_parameter){0}, device,
                             workspace_limit, counters);
    td_parameter parameter = decision->parameter;
    parameter.native = q->called;
    parameter.branches_in_graph = q->branch == TD_BRANCH_OF_ONE;
    return td_engine_run(decision->engine, &q->product, parameter, device, workspace_limit,
                         counters);
}

static td_promise promised(const td_question *q, const td_decision *decision)
{
    const bool is_native = !decision->engine;
    if (is_small_stage(q, decision))
        return td_promised_of_product(&td_engine_fp64, (td_parameter){0}, &q->product, is_native);
    return td_promised_of_product(is_native ? td_engines[0] : decision->engine, decision->parameter,
                                  &q->product, is_native);
}

/* cuBLAS allows triangular products alone to write over an operand. */
static bool sample(const td_question *q, td_product *product)
{
    const int in_place = td_is_in_place(&q->product, 0) + td_is_in_place(&q->product, 1);
    *product = q->product;
    return in_place == 0 || (in_place == 1 && product->routine == TD_TRIANGULAR_PRODUCT);
}

int64_t td_tiles_of_real_product(const td_real_product *real)
{
    const td_region region = td_real_region(real);
    if (real->m <= 0 || real->n <= 0) return 0;
    return td_region_blocks(&region, real->m, real->n, TD_TILE, TD_TILE) * real->batch;
}

int64_t td_tiles_of_product(const td_product *product)
{
    const td_real_product real = td_real_product_of(product);
    return td_tiles_of_real_product(&real);
}

static int64_t tiles(const td_question *q, const td_decision *decision)
{
    (void)decision;
    return td_tiles_of_real_product(&q->real);
}

const td_method td_method_product = {
    .name = "product",
    .accepts = accepts,
    .refusal = refusal,
    .terms = terms,
    .most_bits = most_bits,
    .predict = predict,
    .predict_one = predict_one,
    .by_native_products = by_native_products,
    .is_native_rough = true, /* cuBLAS's updates of narrow triangles: half to 1.3 of it */
    .found_out = found_out,
    .found_late = found_late,
    .priced = priced,
    .has_branch = true,
    .cut = td_no_cut,
    .is_large = is_large,
    .run = run,
    .promised = promised,
    .sample = sample,
    .tiles = tiles,
};
