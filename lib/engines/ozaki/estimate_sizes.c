#include "estimate_sizes.h"

#include "../../routine/sizes.h"

/* Finding out that lines do not suffice, and an estimate with what follows, take as long as so many
 * terms in binary64 for each element of op(A) and op(B), and for each element of C. Where that is
 * as long as all of C in binary64, or longer, bad data would take more than three times native's
 * time. */
typedef struct {
    int64_t of_operand, of_element;
} terms;
static const terms estimate_terms = {660, 440}, complex_estimate_terms = {525, 350};

/* Residues of ordinary data alone take three times as long as these many terms for each element of
 * op(A) and op(B): a third of 46 bytes of memory. */
static const terms residue_terms = {200, 0}, complex_residue_terms = {100, 0};

/* True if an m x n product of k terms has no more terms for each element. In 1024ths, each part
 * rounded down. */
static bool is_exceeded(terms by, int64_t m, int64_t n, int64_t k)
{
    const int64_t one = 1024;
    return one * by.of_operand / m + one * by.of_operand / n + one * by.of_element / k >= one;
}

static int64_t tiles_of(int64_t m, int64_t n)
{
    const int64_t tile = 64;
    return td_ceil_div(m, tile) * td_ceil_div(n, tile);
}

/* Kernels of products of few terms begin and end, whatever they do. */
static bool has_few_terms(int64_t m, int64_t n, int64_t k)
{
    return (double)m * (double)n * (double)k < 0x1p24;
}

bool td_is_worth_residues(int64_t m, int64_t n, int64_t k, bool is_complex)
{
    const int64_t parts = is_complex ? 2 : 1, enough_tiles = 64;
    return has_few_terms(m, n, k) || tiles_of(m, n) < enough_tiles ||
           !is_exceeded(is_complex ? complex_residue_terms : residue_terms, m / parts, n, k);
}

/* Where C has few tiles and k is long, sums in binary64 do not fill a device, as the order of their
 * terms is fixed. */
static bool is_estimated_anyway(int64_t m, int64_t n, int64_t k)
{
    const int64_t few_tiles = 96, long_k = 2048;
    return has_few_terms(m, n, k) || (tiles_of(m, n) <= few_tiles && k > long_k);
}

bool td_is_worth_estimating(int64_t m, int64_t n, int64_t k, bool is_complex)
{
    const int64_t parts = is_complex ? 2 : 1;
    if (!td_is_worth_residues(m, n, k, is_complex)) return false;
    return is_estimated_anyway(m, n, k) ||
           !is_exceeded(is_complex ? complex_estimate_terms : estimate_terms, m / parts, n,
                        k / parts);
}
