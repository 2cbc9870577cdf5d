/* ozaki.h - fixed-point operands and their exact products, for the modes of the Ozaki family; for host C and for kernels.
 *
 * Every line (a row of op(A), a column of op(B)) becomes whole numbers A' = RN(a 2^(shift + scale)), ties to even:
 * the scale belongs to the line, the shift to the index of k (rows of op(B) have its negative). A scheme cuts A' and B'
 * into planes of small numbers, multiplies these exactly, and puts X = A' B' together, or a stated part of it; then
 * C = alpha X 2^-(scale of row + scale of column) + beta C. */
#ifndef TD_OZAKI_H
#define TD_OZAKI_H

#include <stdbool.h>

#include <cuda_runtime_api.h>

#include "../arithmetic/float32.h"
#include "../device/step.h"
#include "../measure/line.h"
#include "../view/target.h"
#include "prices.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Lines are measured in units of so many elements of k; part of the modes' definition. */
enum { TD_UNIT = 64 };

/* What is decided for one member of the batch, from the data or by the mode's parameter. */
typedef struct {
    int32_t
        parameter; /* number of moduli, or of slices; 0: all of C is left to the repair kernel */
    int32_t level; /* TD_SCALE_BY_NORM: scale = (level - norm) / TD_LOG rounded down */
    int32_t bits;  /* TD_SCALE_BY_DIGITS: log2 of the base */
    int32_t need;  /* see td_finish; INT32_MIN: every element is certified */
    int32_t need_of_estimate; /* see estimate.h */
    int32_t is_estimated;     /* abs(A')abs(B') is, and decides ... */
    int32_t rank; /* ... this choice among the candidates, and which elements it certifies */
    int32_t room; /* a td_room: what binary64 has for sums of all lines, where this is estimated */

    /* Logarithm of X's error, at least, but for the larger part of what rounding A' and B' costs. */
    int32_t rest;
} td_choice;

/* True if abs(A')abs(B') is to be estimated for a member of the batch: not if all of C is left to
 * binary64 already. On the device. */
TD_BOTH bool td_wants_estimate(const td_choice *choice)
{
    return choice->is_estimated && choice->parameter > 0;
}

/* Moduli of most products, as good as binary64 for all but wide exponents: they have code of their own. Those of TD_FINISH_EXACT. */
enum { TD_COMMON_MODULI = 14, TD_EXACT_MODULI = 20 };

/* True of members that one kernel multiplies and finishes where it suits their shape (../fused/fused.h): of up to so many moduli, and nothing is
 * estimated. On the device. */
enum { TD_MOST_RESIDENT = TD_COMMON_MODULI + 2 };
TD_BOTH bool td_is_resident(const td_choice *choice)
{
    return choice->parameter >= TD_COMMON_MODULI && choice->parameter <= TD_MOST_RESIDENT &&
           !choice->is_estimated;
}

/* A plane is small whole numbers, [line][k], zeros in the padding of lines and of k: tensor cores like such sizes. */
enum { TD_LINE_PAD = 16, TD_K_PAD = 64 };

/* Part of a product that becomes planes. The first line of member z of the part is at line[o] + z * lines_of_member[o]. */
typedef struct {
    td_view operand[2];
    td_scalar alpha; /* nothing is read if it is 0 */
    int64_t batch_first;
    int batch;
    int64_t k_first, k_count; /* of this pass over k */
    const td_line *line[2];
    int64_t lines_of_member[2];
    const int16_t *shift;    /* [batch][k] */
    const int32_t *shifted;  /* [batch]: 0 if the shifts are not used */
    const td_choice *choice; /* [batch] */

    /* The lines are a sample: of each operand's groups of TD_TILE lines every group_step-th, counted
     * from the first. 0 and 1: all. */
    int group_step[2];
} td_fixed;

/* The operand's line that line number `line` of a sample is. */
TD_BOTH int td_sampled_line(int group_step, int line)
{
    return group_step > 1 ? line + line / TD_TILE * (group_step - 1) * TD_TILE : line;
}

/* What X is of A' B'. */
typedef struct {
    int digits; /* A' and B' have so many, and X only the products of the weights below that (../slice/slices.h); 0: X is all */
    int bits;   /* log2 of their base */
    int unit;   /* X counts 2^unit */
    int by_data; /* digits and bits are choice.parameter and choice.bits, and unit (digits - 1) bits */
} td_cut;

/* The first of the candidates that certifies an element, TD_CHOICES if none does: [batch][column][ld]. */
typedef struct {
    uint8_t *of;
    int64_t ld, batch_step; /* ld is a multiple of TD_LINE_GROUP (../igemm/plane_gemm.h) */
} td_ranks;
enum { TD_CHOICES = 7 };

/* How X becomes C. */
typedef enum {
    TD_FINISH_ROUND, /* X rounded to binary64, then alpha and beta as cuBLAS has them */
    TD_FINISH_EXACT  /* alpha X + beta C, rounded once; repaired if X's error may change that */
} td_finish_kind;

/* What becomes of tiles of which many elements are left. */
typedef enum {
    TD_LEAVES_NO_TILES, /* they are as others */
    TD_LEAVES_BINARY64, /* binary64 has them where there is room (../repair/binary64.h) */
    TD_LEAVES_EXACT     /* a second product has them (../crt/second.h) */
} td_left_tiles;

/* An element is left to the repair kernel if its row or column is special, or if it is not certified. X may be off by half the
 * larger sum of magnitudes of A' and of B' from their rounding, twice, or by less if it is counted what is rounded
 * (td_log_error_counted), and by choice.rest. With TD_FINISH_ROUND an element is
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
    td_ranks ranks;      /* with choice.is_estimated these tell what is certified */
    bool counts_rounded; /* of TD_FINISH_EXACT: lines know how many elements are rounded */
    td_left_tiles leaves_tiles;
} td_finish;

/* What shifts change: the sum over an operand's lines of (norm + sum) / 2 with them, less those without; of how many lines; and how
 * many blocks have added theirs. */
typedef struct {
    unsigned long long sum[2];
    uint32_t lines[2];
    int32_t blocks;
} td_rise;

/* What blocks may have to do together once lines are measured: exponents along k, the lines again, with shifts, and their scales; the
 * estimate's magnitudes, and its tiles. */
enum { TD_STEP_TOPS, TD_STEP_AGAIN, TD_STEP_LINES, TD_STEP_MAGNITUDES, TD_STEP_TILES, TD_STEPS };

/* Measures whole operands: their lines' records but for the scale, and the shifts. */
typedef struct {
    td_view operand[2];
    td_scalar alpha;
    int64_t batch_first;
    int batch;

    bool
        are_short; /* lines are measured whole: td_lines_are_short() of this batch or a larger one */

    /* Scratch: td_unit_bytes() for each TD_UNIT of k of each line, strip_lines lines at a time; without shifts and with them. Not if
     * lines are measured whole. */
    void *units[2], *units_again[2];
    int strip_lines; /* TD_TILE times 1 to 65535 */

    int32_t *tops[2];       /* scratch: [batch][k] */
    int32_t *bounds[2];     /* scratch: [batch][td_bounds(k)][2] */
    td_rise *rise;          /* scratch: [batch] */
    td_step *steps;         /* scratch: [batch][TD_STEPS], zeros */
    td_line *line[2];       /* [batch][lines]: without shifts */
    td_line *line_again[2]; /* the same with them, of members that are shifted */
    int16_t *shift;         /* [batch][k] */
    int32_t *shifted;       /* [batch]: 0 if the shifts are not used */

    /* Of this run alone, never of one before or after: then the first kernel may be put in place while what comes before in the stream still
     * runs, for which it waits, and leaves the mark at `cleared`. 0: all of it may run again, as part of a graph. */
    uint64_t mark, *cleared;
    int32_t *clear; /* what else is to be 0 when this is done */
    int64_t clear_count;
} td_measure;
size_t td_unit_bytes(void);

/* Of each TD_BOUND of the largest exponents along k: the largest, and what they are not below, or INT32_MIN. */
enum { TD_BOUND = 32 };
TD_BOTH int64_t td_bounds(int64_t k) { return (k + TD_BOUND - 1) / TD_BOUND; }

/* What lines of both operands are at most, above a number below all; and with shifts. */
enum { TD_SPREADS = 6 };
typedef struct {
    int32_t above[TD_SPREADS];
} td_spread_of_lines;
typedef struct {
    td_spread_of_lines of[2], again[2];
} td_spread;

/* Decides, and sets the scales. */
typedef enum { TD_SCALE_BY_NORM, TD_SCALE_BY_PEAK, TD_SCALE_BY_DIGITS } td_scale_rule;
typedef struct {
    td_line *line[2]; /* [batch][lines] */
    const td_line *line_again
        [2]; /* the same of members that are shifted, which go to `line`; NULL: they are there */
    const int32_t *shifted;
    int lines[2];
    int batch;
    td_scalar alpha; /* no line is read if it is 0 */
    int64_t k;
    td_scale_rule rule;
    /* TD_SCALE_BY_DIGITS: scale = parameter * bits - 2 - floor(peak / TD_LOG), and planes are a line's digits from the first to the
     * last that is not zero. TD_SCALE_BY_PEAK: scale = width - floor(peak / TD_LOG), one less if the rest is at least ... */
    int width;
    int peak_limit;    /* ... this */
    td_spread *spread; /* scratch: [batch], zeros before lines are measured, which raises `of` */
    td_step *steps;    /* those of td_measure */
    /* 1: as given, without scratch. More: the first of candidates_of_lines that certifies all pairs of lines, else what the
     * estimate finds. */
    int candidates, candidates_of_lines;
    td_prices prices;    /* by which the estimate chooses a candidate, or binary64 for all of C */
    bool counts_rounded; /* lines are to know how many elements the only candidate rounds */
    td_choice candidate[TD_CHOICES];
    /* A pair of lines counts as certified with a candidate if floor((norm + sum) / 2) - mean of both add up to less than
     * level - so much. */
    int level_of_pair;
    /* TD_SCALE_BY_DIGITS: the logarithm of the share of elements that are repaired with a candidate, if elements are as large as
     * the product of both lines' peaks; and of k. */
    int share[TD_CHOICES];
    int log_k;
    td_choice *choice;          /* [batch] */
    unsigned long long *planes; /* raised to what is chosen; NULL: not */
} td_choose;

cudaError_t td_measure_run(const td_measure *measure, const td_choose *choose, cudaStream_t stream);

/* And makes the estimate (estimate.h) if one is wanted; NULL: that comes after it. */
typedef struct td_small_estimate td_small_estimate;
cudaError_t td_choose_run(const td_choose *choose, const td_small_estimate *estimate,
                          cudaStream_t stream);

/* Both. Lines of up to TD_SHORT_K elements of k may be measured whole if there are not many; if they are short for a batch, they are for a
 * smaller one. */
enum { TD_SHORT_K = 4096 };
bool td_lines_are_short(int64_t m, int64_t n, int64_t k, int64_t batch);
cudaError_t td_lines_run(const td_measure *measure, const td_choose *choose,
                         const td_small_estimate *estimate, cudaStream_t stream);

/* Sets what is added up, counted or raised while lines are measured, by a kernel, and measure->mark to 0; or leaves both to the first block
 * of the next kernel, if there is a mark, and not much to be set. */
cudaError_t td_measure_clear(td_measure *measure, cudaStream_t stream);

/* Loads these kernels on the current device: once, before the first launch. */
cudaError_t td_measure_prepare(void);
cudaError_t td_choose_prepare(void);
cudaError_t td_lines_prepare(void); /* both, too */

#ifdef __cplusplus
}
#endif

#endif
