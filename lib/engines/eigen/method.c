/* method.c - method `eigen`: the eigenvectors of one symmetric matrix (eigen.h), with the products
 * of a mode. */
#include "../../model/eigen_model.h"
#include "../methods.h"
#include "../proven.h"
#include "eigen.h"

static bool accepts(const td_question *q) { return q->called->kind == TD_EIGEN; }

static const char *refusal(const td_question *q)
{
    const td_problem *p = q->called;
    if (p->type != TD_BINARY64) return td_reason_routine;
    if (!p->info || !p->values || !p->solver) return td_reason_invalid;
    return p->lacks_vectors ? td_reason_vectors : NULL;
}

static int64_t terms(const td_question *q) { return q->called->n; }

/* Nobody knows the time of values alone. */
static void predict(const td_model *model, const td_question *q, td_way_forecast *by_way)
{
    int count;
    (void)td_ways(&count);
    td_model_predict_eigen(model, q->called->n, by_way);
    for (int i = 0; i < count && q->called->lacks_vectors; i++)
        by_way[i] = (td_way_forecast){.seconds = -1.0};
}

/* Whether vectors are good enough is only known when they are there; then native's are made. */
static double found_out(const td_model *model, const td_question *q, const td_way_forecast *by_way,
                        int way)
{
    (void)by_way;
    return td_model_eigen_found_out(model, q->called->n, way);
}

static bool priced(const td_question *q, td_solve_cut cut, td_real_product *product)
{
    (void)cut;
    *product = td_eigen_real_product(q->called->n, TD_EIGEN_AX);
    return true;
}

/* Less accurate products could only be found to be too bad. */
static td_run_status run(const td_question *q, const td_decision *decision, td_device *device,
                         size_t workspace_limit, td_counters *counters)
{
    const int64_t n = q->called->n;
    if (td_bits(decision->engine, decision->parameter, n) < td_bits_of_binary64(n))
        return TD_RUN_NOT_REFINED;
    return td_eigen(q->called, decision->engine, decision->parameter, device, workspace_limit,
                    counters);
}

/* Of the check, and of a step between two of them. */
static int64_t tiles(const td_question *q, const td_decision *decision)
{
    int64_t tiles = 0;
    (void)decision;
    for (int i = 0; i < TD_EIGEN_PRODUCTS + TD_EIGEN_CHECKS; i++) {
        const td_real_product real =
            td_eigen_real_product(q->called->n, (td_eigen_product_id)(i % TD_EIGEN_PRODUCTS));
        tiles += td_tiles_of_real_product(&real);
    }
    return tiles;
}

/* A is gone; all residuals have been measured, and found to be small enough. */
const td_method td_method_eigen = {
    .name = "eigen",
    .accepts = accepts,
    .refusal = refusal,
    .terms = terms,
    .most_bits = td_bits_of_binary64, /* what is off is compared with it */
    .predict = predict,
    .predict_one = td_predict_by_way,
    .found_out = found_out,
    .is_rarely_found_out = true,
    .priced = priced,
    .cut = td_no_cut,
    .run = run,
    .promised = td_promised_nothing,
    .sample = td_no_sample,
    .tiles = tiles,
};
