/* ozaki.h - fixed-point operands and their exact products, for the modes of the Ozaki family; for host C and for kernels.
 *
 * Every line (a row of op(A), a column of op(B)) becomes whole numbers A' = RN(a 2^(shift + scale)), ties to even:
 * the scale belongs to the line, the shift to the index of k (rows of op(B) have its negative). A scheme cuts A' and B'
 * into planes of small numbers, multiplies these exactly, and puts X = A' B' together, or a stated part of it; then
 * C = alpha X 2^-(scale of row + scale of column) + beta C. */
#ifndef TD_OZAKI_H
#define TD_OZAKI_H

#include "../arithmetic/float32.h"
#include "../product.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Logarithms here are to base 2 and in units of 1/256: whole numbers, the same on every device. */
enum { TD_LOG = 256 };

/* Lines are measured in units of so many elements of k; part of the modes' definition. */
enum { TD_UNIT = 64 };

/* What is known of a line, shifts included. Lines that hold a NaN or an infinity are special and count as zeros. */
typedef struct {
    int32_t norm; /* logarithm of the Euclidean norm, at least */
    int32_t sum;  /* logarithm of the sum of the magnitudes, at least */
    int32_t mean; /* mean of the logarithms of the magnitudes, at most; TD_NO_MEAN if any is zero */
    int32_t peak; /* of the largest magnitude 2^e (1 + f): TD_LOG e + floor(TD_LOG f) */
    int16_t low;  /* exponent of the lowest bit set in any element; TD_NO_LOW, TD_SPECIAL */
    int16_t scale; /* set when all lines are measured */
} td_line;
/* A line of zeros has TD_NO_LOW, a special line TD_SPECIAL; norm, sum, peak and scale of both are 0. */
enum { TD_NO_MEAN = -(1 << 28), TD_NO_LOW = 0x7fff, TD_SPECIAL = -0x8000 };

/* What is decided for one member of the batch, from the data or by the mode's parameter. */
typedef struct {
    int32_t parameter;   /* number of moduli, or of slices */
    int32_t level;       /* TD_SCALE_BY_NORM: scale = (level - norm) / TD_LOG rounded down */
    int32_t bits;        /* TD_SCALE_BY_DIGITS: log2 of the base */
    int32_t need;        /* see td_finish; INT32_MIN: every element is certified */
    int32_t need_of_one; /* see td_certify_run */
    int32_t by_products; /* the masks have what is not certified, by td_certify_run */

    /* Logarithm of X's error, at least, but for the larger part of what rounding A' and B' costs. */
    int32_t rest;
} td_choice;

/* A plane is small whole numbers, [line][k], zeros in the padding of lines and of k: tensor cores like such sizes. */
enum { TD_LINE_PAD = 16, TD_K_PAD = 64 };

/* Part of a product that becomes planes. The first line of member z of the part is at line[o] + z * lines_of_member[o]. */
typedef struct {
    td_operand operand[2];
    td_scalar alpha; /* nothing is read if it is 0 */
    int64_t batch_first;
    int batch;
    int64_t k_first, k_count; /* of this pass over k */
    const td_line *line[2];
    int64_t lines_of_member[2];
    const int16_t *shift;    /* [batch][k] */
    const int32_t *shifted;  /* [batch]: 0 if the shifts are not used */
    const td_choice *choice; /* [batch] */
} td_fixed;

/* What X is of A' B'. */
typedef struct {
    int digits; /* A' and B' have so many, and X only the products of the weights below that (slices.h); 0: X is all */
    int bits;   /* log2 of their base */
    int unit;   /* X counts 2^unit */
    int by_data; /* digits and bits are choice.parameter and choice.bits, and unit (digits - 1) bits */
} td_cut;

/* How X becomes C. */
typedef enum {
    TD_FINISH_ROUND, /* X rounded to binary64, then alpha and beta as cuBLAS has them */
    TD_FINISH_EXACT  /* alpha X + beta C, rounded once; repaired if X's error may change that */
} td_finish_kind;

/* An element is left to the repair kernel if its row or column is special, or if it is not certified. X may be off by half the
 * larger sum of magnitudes of A' and of B' from their rounding, twice, and by choice.rest. With TD_FINISH_ROUND an element is
 * certified if that is little beside abs(A') abs(B'), which is at least k times 2^ the sum of the means of the logarithms (the
 * arithmetic mean is no less than the geometric one): if the means of both lines, with TD_LOG * scales, add up to
 * choice.need and the logarithm of the error. Also if X is off by nothing. */
typedef struct {
    td_target target;
    td_finish_kind kind;
    const td_line *line[2];
    int64_t lines_of_member[2];
    const td_choice *choice;
    td_cut cut;
} td_finish;

/* Measures whole operands: their lines' records but for the scale, and the shifts. */
typedef struct {
    td_operand operand[2];
    td_scalar alpha;
    int64_t batch_first;
    int batch;

    /* Scratch: td_unit_bytes() for each TD_UNIT of k of each line, strip_lines lines at a time. */
    void *units[2];
    int strip_lines; /* TD_TILE times 1 to 65535 */

    int32_t *tops[2];       /* scratch: [batch][k] */
    int32_t *bounds[2];     /* scratch: [batch][td_bounds(k)][2] */
    int32_t *done;          /* scratch: td_done_counts() */
    td_line *line[2];       /* [batch][lines] */
    td_line *line_again[2]; /* scratch: the same, with shifts */
    int16_t *shift;         /* [batch][k] */
    int32_t *shifted;       /* [batch]: 0 if the shifts are not used */

    int32_t *clear; /* what else is to be 0 when this is done */
    int64_t clear_count;
} td_measure;
size_t td_unit_bytes(void);

/* Of each TD_BOUND of the largest exponents along k: the largest, and what they are not below, or INT32_MIN. */
enum { TD_BOUND = 32 };
TD_BOTH int64_t td_bounds(int64_t k) { return (k + TD_BOUND - 1) / TD_BOUND; }

/* How far the strips of a batch of operands are measured again. */
TD_BOTH int64_t td_done_counts(int64_t lines_a, int64_t lines_b, int64_t batch)
{
    const int64_t strips = (lines_a + TD_TILE - 1) / TD_TILE + (lines_b + TD_TILE - 1) / TD_TILE;
    return batch * (1 + strips);
}
cudaError_t td_measure_run(const td_measure *measure, cudaStream_t stream);

/* Decides, and sets the scales. */
typedef enum { TD_SCALE_BY_NORM, TD_SCALE_BY_PEAK, TD_SCALE_BY_DIGITS } td_scale_rule;
enum { TD_CHOICES = 7 };
typedef struct {
    td_line *line[2]; /* [batch][lines] */
    int lines[2];
    int batch;
    td_scale_rule rule;
    /* TD_SCALE_BY_DIGITS: scale = parameter * bits - 2 - floor(peak / TD_LOG), and planes are a line's digits from the first to the
     * last that is not zero. TD_SCALE_BY_PEAK: scale = width - floor(peak / TD_LOG), one less if the rest is at least ... */
    int width;
    int peak_limit; /* ... this */
    int candidates; /* 1: as given. More: what is cheapest for the data */
    td_choice candidate[TD_CHOICES];
    /* A pair of lines counts as certified with a candidate if floor(((norm + sum) / 2 - mean) / TD_LOG) of both add up to
     * less than so much. TD_SCALE_BY_DIGITS: the logarithm of the share of elements that are repaired, if elements are as large
     * as the product of both lines' peaks. */
    int limit[TD_CHOICES];
    int log_k;                  /* TD_SCALE_BY_DIGITS */
    td_choice *choice;          /* [batch] */
    unsigned long long *planes; /* raised to what is chosen; NULL: not */
} td_choose;
cudaError_t td_choose_run(const td_choose *choose, cudaStream_t stream);

/* Where a choice has by_products: the masks of a part, before it is finished. An element that td_finish does not certify is
 * certified too if the largest product of its sum is large enough beside what X may be off: choice.need_of_one. Logarithms
 * are rounded down to 1/16 of those of the lines' largest elements, and what is below these by more than 2^512 is not seen. */
cudaError_t td_certify_run(const td_fixed *fixed, const td_finish *finish, cudaStream_t stream);

/* Loads these kernels on the current device: once, before the first launch. */
cudaError_t td_lines_prepare(void);
cudaError_t td_choose_prepare(void);
cudaError_t td_certify_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
