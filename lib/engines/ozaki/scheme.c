#include "scheme.h"

#include "../tiler.h"

/* Most lines and elements of k of a product: keeps their numbers in 31 bits. */
enum { MAX_LINES = 1 << 24 };
static const int64_t max_k = INT64_C(0x7fffff00);

/* Shortest pass over k that is worth having. */
enum { LEAST_K_PASS = 512 };

bool td_scheme_takes(const td_problem *p)
{
    return p->m <= MAX_LINES && p->n <= MAX_LINES && p->k <= max_k;
}

td_scheme_sizes td_scheme_largest(const td_problem *p, int64_t most_k)
{
    return (td_scheme_sizes){.m = td_smaller(p->m, TD_MAX_PART_LINES),
                             .n = td_smaller(p->n, TD_MAX_PART_LINES),
                             .k_pass = td_round_up(td_smaller(p->k, most_k), TD_K_PAD),
                             .cublas_bytes = TD_CUBLAS_WORKSPACE};
}

static bool shrink_cublas(size_t *bytes)
{
    const size_t least = TD_CUBLAS_LEAST_WORKSPACE, fewer = *bytes / 8;
    if (*bytes <= least) return false;
    *bytes = fewer > least ? fewer : least;
    return true;
}

bool td_scheme_shrink(td_scheme_sizes *s)
{
    return shrink_cublas(&s->cublas_bytes) ||
           (s->k_pass > td_smaller(s->m, s->n) && td_halve(&s->k_pass, LEAST_K_PASS)) ||
           td_halve(s->m > s->n ? &s->m : &s->n, TD_TILE) || td_halve(&s->k_pass, TD_K_PAD);
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
