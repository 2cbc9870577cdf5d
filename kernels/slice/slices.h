/* slices.h - fixed-point numbers as balanced digits, exact sums of digit products, and C from
 * these: modes ozaki1 (base 256, int8), ozaki-sgemm (smaller and larger bases, binary32) and
 * faithful:fp64 (larger bases, binary64; its sums are in double_split.h). For host C and for
 * kernels.
 *
 * A' is the sum over p of digit p times base^(slices - 1 - p). Digits are in [-base/2, base/2 - 1]
 * but for digit 0, which takes what is left. Products of digits p of A' and q of B' have the weight
 * p + q. Every function enqueues on `stream`, waits for nothing, and returns the launch's
 * status. */
#ifndef TD_SLICE_SLICES_H
#define TD_SLICE_SLICES_H

#include "../../include/tandem.h"
#include "../crt/finish_types.h"
#include "../measure/measure_ts.h"
#include "../select/fixed.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { TD_DIGIT_INT8, TD_DIGIT_FLOAT, TD_DIGIT_DOUBLE } td_digit_type;

/* Elements fixed.k_first .. + fixed.k_count - 1 of all lines of both operands into planes. Digit p
 * of element l of a line is at plane[o] + member * member_step[o] + p * slice_step[o] + line *
 * line_step + l: steps in elements, multiples of 4. Zeros fill lines up to TD_LINE_PAD and k up to
 * TD_K_PAD, and everything if alpha is 0. */
typedef struct {
    td_fixed fixed;
    td_digit_type type;
    /* operands are of tandem_ts: no shifts; the components of an element are rounded one by one */
    int is_ts;
    int slices;  /* of all members */
    int by_data; /* of each member choice.parameter, not more than `slices`, of choice.bits */
    int bits;    /* log2 of the base */
    void *plane[2];
    int64_t member_step[2], slice_step[2], line_step;
} td_slices;
cudaError_t td_slices_run(const td_slices *slices, cudaStream_t stream);

/* Sums of digit products by weight, the largest weight first: plane i of member z is at sum + (z *
 * planes + i) * plane_step, column-major. X is the sum of plane i times base^(planes + dropped - 1
 * - i). */
typedef struct {
    int32_t *sum;
    int64_t plane_step, ld; /* in elements; multiples of 4 */
    int m, n, batch;        /* columns as long as ld are worked on, but for C itself */
    int planes;
    int carries; /* so many of the planes, the first, have no products of their own */
    int dropped; /* smallest weights */
    int bits;    /* log2 of the base */
} td_slice_sums;

/* Makes room for more products: leaves a balanced digit in each plane and passes the rest on to the
 * next. Plane 0 keeps the rest. */
cudaError_t td_slices_carry(const td_slice_sums *sums, cudaStream_t stream);

/* Sets carries to zero, which hold nothing yet. */
cudaError_t td_slices_clear_carries(const td_slice_sums *sums, cudaStream_t stream);

/* Adds products of digits p_first .. p_first + p_count - 1 of A' with all digits of B', whole
 * numbers. Those of digits p and q for element (i, j) are at product + member * member_step + (p -
 * p_first) * p_step + q * q_step + i + j * ld. */
typedef struct {
    td_slice_sums sums;
    const float *product;
    int64_t member_step, p_step, q_step, ld; /* in elements */
    int slices, p_first, p_count;
    int is_first; /* planes that no product was added to hold nothing yet */
} td_slice_products;
cudaError_t td_slices_add(const td_slice_products *products, cudaStream_t stream);

/* C and masks. */
cudaError_t td_slices_finish(const td_slice_sums *sums, const td_finish *finish,
                             cudaStream_t stream);

/* C = alpha X 2^-scales + beta C for C of tandem_ts; X is rounded part by part. Elements of special
 * rows and columns become NaN. One member. */
typedef struct {
    td_target target; /* without masks and scalars */
    const td_line *line[2];
    tandem_ts alpha, beta;
} td_finish_ts;
cudaError_t td_slices_finish_ts(const td_slice_sums *sums, const td_finish_ts *finish,
                                cudaStream_t stream);

/* Loads these kernels on the current device, once, before the first launch: for digits of a type,
 * of binary64 operands; and for triple-single operands, to their sums, and around these. */
cudaError_t td_slices_prepare(td_digit_type type);
cudaError_t td_slices_of_ts_prepare(void);
cudaError_t td_slices_ts_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
