/* estimate.h - abs(A')abs(B') from below, by one product of int8, and what it decides: which
 * candidate multiplies least and repairs least, and which elements of C it certifies. For host C
 * and for kernels.
 *
 * With u = min(127, floor(abs(a) 2^-unit)), the unit of a line being 1/16 of its typical magnitude
 * rounded down to a power of two, u v <= abs(a) abs(b) 2^-(both units): sums of such products are
 * whole numbers that no device rounds. Only four leading bits of each sum over TD_ESTIMATE_K
 * elements of k are kept, rounded down. */
#ifndef TD_ESTIMATE_H
#define TD_ESTIMATE_H

#include "../view/planes.h"
#include "fixed.h"
#include "select.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The longest sums; part of the modes' definition. k is cut into as few parts as there can be, all
 * but the last of equal length. */
enum { TD_ESTIMATE_K = 1 << 14 };
static inline int64_t td_estimate_sums(int64_t k)
{
    return (k + TD_ESTIMATE_K - 1) / TD_ESTIMATE_K;
}
static inline int64_t td_estimate_length(int64_t k)
{
    const int64_t sums = td_estimate_sums(k), length = (k + sums - 1) / sums;
    return (length + TD_K_PAD - 1) / TD_K_PAD * TD_K_PAD;
}

/* u and v of a part: [batch][place of line][k_padded], op(A)'s lines as td_place_of_line
 * (../view/planes.h) says, zeros in the padding. Nothing is done for members whose choice is not
 * estimated. fixed.k_first .. of k; scales need not be set. */
typedef struct {
    td_fixed fixed;
    int8_t *plane[2];
    int64_t k_padded;
    uint32_t *nonzero[2]; /* td_panels.nonzero: bits are set; NULL: none */
} td_magnitudes;
cudaError_t td_magnitudes_run(const td_magnitudes *magnitudes, cudaStream_t stream);

/* Finds the first candidate that certifies each element of a part by the logarithms of its sums
 * (TD_PANEL_LOGARITHM). After all parts of a member one of its candidates is chosen and scales are
 * set, if there is more than one; or all of C is left to binary64. */
typedef struct {
    td_target target;       /* the part of C: its sizes alone count */
    const td_line *line[2]; /* the first line of member z is line[o] + z * lines_of_member[o] */
    int64_t lines_of_member[2];
    td_cut cut;
    td_min_moduli min_moduli; /* before, `of` has the logarithms of the first sum */
    td_choose choose;         /* of the whole product */
    int64_t sum_step;         /* from one sum to the next */
    int sums;
    int multiprocessors; /* of the device */
    int blocks;          /* of all parts, td_certify_blocks() each; 0: the choice stands */
    int64_t tiles;       /* of all parts */
    unsigned long long *uncertified; /* [batch][TD_CHOICES]: zeros before the first part */
    unsigned long long *met;         /* [batch]: zeros before the first part */
    int32_t *done;                   /* [batch]: zeros before the first part */
    /* td_panels.nonzero of the magnitudes, in one sum; NULL: none is 0 */
    const uint32_t *nonzero[2];
} td_estimate;
int td_certify_blocks(int m, int n, int batch, int multiprocessors); /* of a member */
cudaError_t td_estimate_run(const td_estimate *estimate, int batch, cudaStream_t stream);

cudaError_t td_magnitudes_prepare(void);
cudaError_t td_estimate_prepare(void); /* all */

#ifdef __cplusplus
}
#endif

#endif
