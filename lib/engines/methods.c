#include "methods.h"

#include <math.h>

#include "../model/found_out.h"
#include "../routine/lower.h"
#include "../routine/real.h"
#include "native_knows.h"

static const td_method *const methods[] = {
    &td_method_batched_lu, &td_method_solve, &td_method_lu,
    &td_method_cholesky,   &td_method_qr,    &td_method_q,
    &td_method_solution,   &td_method_eigen, &td_method_product};

static void find_method(td_question *q)
{
    q->method = NULL;
    for (size_t i = 0; i < sizeof methods / sizeof *methods && !q->method; i++)
        if (methods[i]->accepts(q)) q->method = methods[i];
}

void td_ask(td_entry entry, const td_problem *p, td_question *q)
{
    q->entry = entry;
    q->called = p;
    q->method = NULL;
    q->is_lowered = false;
    q->branch = TD_BRANCH_OF_TWO;
    if (!td_problem_is_countable(p)) return;
    q->is_lowered = td_lower(p, &q->product);
    if (q->is_lowered && !td_native_knows(p)) q->branch = TD_BRANCH_NONE;
    if (q->is_lowered) q->real = td_real_product_of(&q->product);
    find_method(q);
}

/* cuBLAS has one routine for a product of another routine: the whole of that. */
void td_ask_product(td_entry entry, const td_product *product, td_problem *part, td_question *q)
{
    *part = td_call_of_product(product);
    q->entry = entry;
    q->called = part;
    q->is_lowered = true;
    q->product = *product;
    q->branch =
        product->routine == TD_PRODUCT && td_native_knows(part) ? TD_BRANCH_OF_TWO : TD_BRANCH_NONE;
    q->real = td_real_product_of(product);
    find_method(q);
}

td_way_forecast td_predict_by_way(const td_model *model, const td_question *q,
                                  const td_engine *engine, td_parameter parameter)
{
    td_way_forecast by_way[TD_MOST_WAYS];
    q->method->predict(model, q, by_way);
    return by_way[engine == td_engines[0] ? 0 : td_way_of(engine, parameter)];
}

double td_found_out_by_fp64(const td_model *model, const td_question *q,
                            const td_way_forecast *by_way, int way)
{
    (void)model;
    const td_solve_cut cut = by_way[way].cut;
    const double by_fp64 = by_way[td_way_of_binary64()].seconds;
    const int64_t probed = q->method->probed(q, cut);
    td_real_product largest;
    if (probed <= 0 || !q->method->priced(q, cut, &largest)) return by_fp64;
    return by_fp64 + (double)probed * td_model_seconds_to_find_out(&largest);
}

td_solve_cut td_no_cut(const td_question *q)
{
    (void)q;
    return (td_solve_cut){0};
}

/* Gauss's three products: an imaginary part has errors of the size of the real one. */
static bool is_of_three_products(td_entry entry)
{
    return entry == TD_ENTRY_cublasZgemm3m || entry == TD_ENTRY_cublasZgemm3m_64;
}

td_promise td_promised(const td_question *q, const td_decision *decision)
{
    const bool is_native = !decision->engine;
    const td_engine *engine = is_native ? td_engines[0] : decision->engine;
    if (!engine->bound || (is_native && is_of_three_products(q->entry)) || !q->method ||
        !q->method->promised)
        return td_promised_nothing(q, decision);
    return q->method->promised(q, decision);
}

td_promise td_promised_nothing(const td_question *q, const td_decision *decision)
{
    (void)q;
    return (td_promise){.bound.relative = (double)INFINITY, .is_native = !decision->engine};
}

bool td_no_sample(const td_question *q, td_product *product)
{
    (void)q, (void)product;
    return false;
}
