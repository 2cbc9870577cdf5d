#include "promised.h"

#include "proven.h"

/* Roundings of a product without scalars, to which these are then multiplied and beta C is added,
 * and of one whose mirror image is added, too (kernels/unfold/scalars.cu). */
static const double roundings = 5.0 * 0x1p-53, roundings_of_mirror = 7.0 * 0x1p-53;

/* Real products that an element is the sum of: as one sum, where cuBLAS makes it. */
static int64_t terms_of(const td_product *product, bool is_native)
{
    const int64_t parts = product->type == TD_COMPLEX_BINARY64 ? 2 : 1;
    return product->k * parts * (is_native && product->adds_mirror ? 2 : 1);
}

td_promise td_promised_of_product(const td_engine *engine, td_parameter parameter,
                                  const td_product *product, bool is_native)
{
    td_promise promise = {td_proven(engine, parameter, terms_of(product, is_native)), 0.0,
                          is_native};
    const double of_scalars = product->adds_mirror ? roundings_of_mirror : roundings;
    if (product->type != TD_COMPLEX_BINARY64) return promise;
    if (is_native || product->adds_mirror)
        promise.bound.relative += of_scalars;
    else
        promise.of_scalars = of_scalars;
    return promise;
}
