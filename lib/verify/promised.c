#include "promised.h"

#include <math.h>

#include "../engines/proven.h"
#include "../routine/lower.h"

/* Roundings of a product without scalars, to which these are then multiplied and beta C is added,
 * and of one whose mirror image is added, too (kernels/unfold/scalars.cu). */
static const double roundings = 5.0 * 0x1p-53, roundings_of_mirror = 7.0 * 0x1p-53;

/* Gauss's three products: an imaginary part has errors of the size of the real one. */
static bool is_of_three_products(td_entry entry)
{
    return entry == TD_ENTRY_cublasZgemm3m || entry == TD_ENTRY_cublasZgemm3m_64;
}

/* Real products that an element is the sum of: as one sum, where cuBLAS makes it. */
static int64_t terms_of(const td_problem *product, bool is_native)
{
    const int64_t parts = product->type == TD_COMPLEX_BINARY64 ? 2 : 1;
    return product->k * parts * (is_native && product->adds_mirror ? 2 : 1);
}

static td_promise of_product(const td_engine *engine, td_parameter parameter,
                             const td_problem *product, bool is_native)
{
    td_promise promise = {engine->proven(parameter, terms_of(product, is_native)), 0.0, is_native};
    const double of_scalars = product->adds_mirror ? roundings_of_mirror : roundings;
    if (product->type != TD_COMPLEX_BINARY64) return promise;
    if (is_native || product->adds_mirror)
        promise.bound.relative += of_scalars;
    else
        promise.of_scalars = of_scalars;
    return promise;
}

td_promise td_promised(const td_decision *decision, td_entry entry, const td_problem *p)
{
    const bool is_native = !decision->engine;
    const td_engine *engine = is_native ? td_engines[0] : decision->engine;
    const td_promise nothing = {.bound.relative = (double)INFINITY, .is_native = is_native};
    td_problem product;
    if (!engine->proven || (is_native && is_of_three_products(entry))) return nothing;
    if (td_lower(p, &product)) {
        if (product.k < decision->cut.least_terms) /* of a part of a solve */
            return of_product(&td_engine_fp64, (td_parameter){0}, &product, is_native);
        return of_product(engine, decision->parameter, &product, is_native);
    }
    if (!td_problem_is_solve(p) || is_native) return nothing;
    return (td_promise){
        .bound = td_proven_solve(engine, decision->parameter, p, decision->cut.block_rows)};
}
