/* measure.h - measures whole operands: the records of their lines (line.h) but for the scale, what
 * is seen of all lines together, and the shifts along k. For host C and for kernels; every function
 * enqueues on `stream`, waits for nothing, and returns the launch's status. */
#ifndef TD_MEASURE_H
#define TD_MEASURE_H

#include <stdbool.h>
#include <stddef.h>

#include <cuda_runtime_api.h>

#include "../routes.h"
#include "../view/target.h"
#include "line.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A chunk is so many elements of k of a line, which are measured together; part of the modes'
 * definition. */
enum { TD_CHUNK = 64 };

/* How a line's scale follows from its record. Lines of zeros and special ones have 0. */
typedef enum {
    TD_SCALE_BY_NORM, /* (limit - norm) / TD_LOG, rounded down */
    /* limit - floor(peak / TD_LOG), one less if the rest is at least peak_limit */
    TD_SCALE_BY_PEAK,
    TD_SCALE_BY_DIGITS /* limit - floor(peak / TD_LOG) */
} td_scale_rule;
typedef struct {
    td_scale_rule rule;
    int32_t limit, peak_limit;
} td_scaling;

/* The largest of some numbers of an operand's lines (extremes.h), above a number below all. */
enum { TD_EXTREMES = 6 };
typedef struct {
    int32_t above[TD_EXTREMES];
} td_line_extremes;

/* What a probe knows of the lines that it looked at, in device memory: the largest looseness
 * (extremes.h) of rows of op(A) and of columns of op(B), if lines alone certify all of their pairs;
 * else TD_NOT_BY_LINES in both. NULL: nobody has probed. A candidate (../select/choice.h) certifies
 * a pair of lines whose looseness adds up to less than its limit. */
enum { TD_NOT_BY_LINES = -1, TD_LIMITS = 7 };
typedef struct {
    const int32_t *looseness;
    int limits, limit[TD_LIMITS]; /* rising */
} td_probed_lines;

/* Of both operands: without shifts, and of members that are measured again with them. loose: if
 * lines alone certified what a probe looked at, how many lines without shifts each candidate does
 * not certify beside the loosest of these. */
typedef struct {
    td_line_extremes of[2], again[2];
    int32_t loose[2][TD_LIMITS];
} td_extremes;

/* What shifts change: the sum over an operand's lines of (norm + sum) / 2 with them, less those
 * without; of how many lines; and how many blocks have added theirs. */
typedef struct {
    unsigned long long sum[2];
    uint32_t lines[2];
    int32_t blocks;
} td_rise;

/* Steps that the blocks of a member may have to do together once lines are measured whole: the
 * largest exponents along k, then the lines again, with shifts. A td_step counts the strips of
 * lines that blocks have begun, and those that they have ended; zeros before. */
enum { TD_STEP_TOPS, TD_STEP_AGAIN, TD_STEPS };
typedef struct {
    int32_t taken, done;
} td_step;

/* Device memory that holds what is known of lines while they are measured: a workspace, which needs
 * no values before and has none after but for `steps`. */
typedef struct {
    /* td_chunk_bytes() for each TD_CHUNK elements of k of each line, strip_lines lines at a time;
     * without shifts and with them. Not if lines are measured whole. */
    void *chunks[2], *chunks_again[2];
    int strip_lines; /* TD_TILE times 1 to 65535 */

    int32_t *tops[2];   /* [batch][k] */
    int32_t *bounds[2]; /* [batch][td_bounds(k)][2] */
    td_rise *rise;      /* [batch] */
    td_step *steps;     /* [batch][TD_STEPS], zeros before; if lines are measured whole */
} td_measure_scratch;

/* What is to be measured, how, and where the records go. */
typedef struct {
    td_view operand[2];

    /* Lines that are not read, as they have the magnitudes of others: these lines' records are
     * stored for them. Of op(A), operand[0] has the first of so many neighbours, which are alike
     * (0 and 1: all lines). is_gram: op(B) has as many lines as operand[0] and the same magnitudes,
     * so that no shift is of use. Neither if lines are measured whole. */
    int neighbours;
    bool is_gram;

    /* No line is measured again with shifts, however far exponents spread along k. */
    bool is_measured_once;

    /* Nor if lines alone certified what a probe looked at. */
    td_probed_lines probed;

    td_scalar alpha;
    const int32_t *verdict; /* a td_verdict: others than TD_RESIDUES need no lines; or NULL */
    int64_t batch_first;
    int batch;

    td_measure_route route; /* one that serves on the current device */

    td_scaling scaling;  /* by which the next two know which elements are rounded */
    bool counts_rounded; /* lines are to know how many elements are (td_line.rounded) */

    /* Elements 2l and 2l + 1 of a line are the parts of a complex number, and have one shift; k is
     * even. */
    bool has_parts;

    td_extremes *extremes; /* [batch]: zeros before; raised, if it is not NULL */

    td_measure_scratch scratch;

    td_line *line[2];       /* [batch][lines]: without shifts */
    td_line *line_again[2]; /* [batch][lines]: with shifts, of members that are measured again */
    int16_t *shift;         /* [batch][k] */
    int32_t *shifted;       /* [batch]: 0 if the shifts are not used */

    /* The first kernel may be put in place while what comes before in the stream still runs, for
     * which it waits: not in graphs. */
    bool begins_early;
    int32_t *clear; /* what else is to be 0 when this is done: [clear_count] */
    int64_t clear_count;
} td_measure;
size_t td_chunk_bytes(void);

/* Of each TD_BOUND of the largest exponents along k: the largest, and what they are not below, or
 * INT32_MIN. */
enum { TD_BOUND = 32 };
TD_BOTH int64_t td_bounds(int64_t k) { return (k + TD_BOUND - 1) / TD_BOUND; }

/* Lines of up to TD_SHORT_K elements of k may be measured whole. The next kernel measures these
 * again if exponents spread along k (../select/select.h). */
enum { TD_SHORT_K = 4096 };

/* True if the current device has the tensor memory accelerator, and there is code for it: for
 * TD_MEASURE_TMA and TD_SPLIT_TMA. */
bool td_tma_exists(void);

cudaError_t td_measure_run(const td_measure *measure, cudaStream_t stream);

/* Parts of td_measure_run: sets what is added up, counted or raised to where it begins; and
 * measures lines whole. */
cudaError_t td_measure_clear(const td_measure *measure, cudaStream_t stream);
cudaError_t td_measure_whole_run(const td_measure *measure, cudaStream_t stream);

/* Loads these kernels on the current device: once, before the first launch. */
cudaError_t td_measure_prepare(void);
cudaError_t td_measure_whole_prepare(void); /* part of it */

#ifdef __cplusplus
}
#endif

#endif
