#include "estimate_sizes.h"

/* Finding out that lines do not suffice, and an estimate with what follows, take as long as so many
 * terms in binary64 for each element of op(A) and op(B), and for each element of C: on an H200 19
 * ps and 12 ps, where a term takes 0.036 ps. Where that is as long as all of C in binary64, or
 * longer, bad data would take more than three times native's time. */
enum { OPERAND_TERMS = 525, ELEMENT_TERMS = 350, ONE = 1024 };

/* Kernels of products of few terms begin and end, whatever they do. Where C has few tiles and k is
 * long, sums in binary64 do not fill a device, as the order of their terms is fixed. */
static bool is_estimated_anyway(int64_t m, int64_t n, int64_t k)
{
    const int64_t few_elements = 1 << 19, long_k = 2048;
    const double few_terms = 0x1p24;
    return (double)m * (double)n * (double)k < few_terms || (m * n <= few_elements && k > long_k);
}

bool td_is_worth_estimating(int64_t m, int64_t n, int64_t k, bool is_complex)
{
    const int64_t operand = (int64_t)ONE * OPERAND_TERMS, element = (int64_t)ONE * ELEMENT_TERMS,
                  parts = is_complex ? 2 : 1;
    return is_estimated_anyway(m, n, k) ||
           operand / (m / parts) + operand / n + element / (k / parts) < ONE;
}
