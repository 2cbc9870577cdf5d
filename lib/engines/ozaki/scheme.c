#include "scheme.h"

#include "../tiler.h"

/* Most lines and elements of k of a product: keeps their numbers in 31 bits. */
enum { MAX_LINES = 1 << 24 };
static const int64_t max_k = INT64_C(0x7fffff00);

/* Shortest pass over k that is worth having. */
enum { LEAST_K_PASS = 512 };

bool td_scheme_takes(const td_real_product *p)
{
    return p->m <= MAX_LINES && p->n <= MAX_LINES && p->k <= max_k;
}

td_part_sizes td_scheme_largest(const td_real_product *p, int64_t most_k)
{
    const td_window made = td_real_made(p);
    td_part_sizes sizes = td_largest_part(p);
    sizes.m = td_smaller(sizes.m, td_round_up(made.m, TD_TILE));
    sizes.n = td_smaller(sizes.n, td_round_up(made.n, TD_TILE));
    sizes.k_pass = td_round_up(td_smaller(p->k, most_k), TD_K_PAD);
    sizes.cublas_bytes = TD_CUBLAS_WORKSPACE;
    return sizes;
}

bool td_scheme_shrink(td_part_sizes *sizes)
{
    static const td_pass_units units = {
        .deep = LEAST_K_PASS, .deep_unit = LEAST_K_PASS, .unit = TD_K_PAD};
    return td_shrink(sizes, &units);
}

cudaError_t td_scheme_passes(const td_scheme_part *whole, const void *layout,
                             cudaError_t (*pass)(const td_scheme_part *part, const void *layout))
{
    const int64_t k = whole->fixed.operand[0].k;
    td_scheme_part part = *whole;
    cudaError_t error = cudaSuccess;
    for (int64_t first = 0; first < k && error == cudaSuccess; first += whole->k_pass) {
        part.fixed.k_first = first;
        part.fixed.k_count = td_smaller(whole->k_pass, k - first);
        error = pass(&part, layout);
    }
    return error;
}
