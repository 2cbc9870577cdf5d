/* select.h - decides how many planes A' and B' are cut into, and sets the scales of lines. What it
 * decides by, what it is given and what it writes are three structs. For host C and for kernels;
 * every function enqueues on `stream`, waits for nothing, and returns the launch's status. */
#ifndef TD_SELECT_H
#define TD_SELECT_H

#include <cuda_runtime_api.h>

#include "../measure/measure.h"
#include "choice.h"
#include "prices.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a mode decides: part of its definition, the same for all members. */
typedef struct {
    td_scale_rule scale;
    int width;      /* TD_SCALE_BY_PEAK: td_scaling.limit */
    int peak_limit; /* TD_SCALE_BY_PEAK: td_scaling.peak_limit */

    /* 1 candidate: it is taken. More: the first of candidates_of_lines that certifies all pairs of
     * lines, else what the estimate finds. With 0 of them lines choose nothing. */
    int candidates, candidates_of_lines;
    td_choice candidate[TD_CHOICES];

    /* Of members that lines do not certify all of C is left to binary64: nothing is estimated, and
     * no line is measured again with shifts (td_measure.is_measured_once). */
    bool skips_estimate;
    td_prices prices; /* by which the estimate chooses a candidate, or binary64 for all of C */

    /* The numbers of moduli below those of all candidates, from least_of_fewer on, have these
     * levels: the first that rounds no line is taken, as X is the same as with more. */
    int fewer, least_of_fewer;
    int32_t level_of_fewer[TD_FEWER];

    /* A pair of lines counts as certified with a candidate if their looseness
     * (../measure/extremes.h) adds up to less than level - so much. */
    int level_of_pair;

    /* TD_SCALE_BY_DIGITS: the logarithm of the share of elements that are repaired with a
     * candidate, if elements are as large as the product of both lines' peaks; and of k. */
    int share[TD_CHOICES];
    int log_k;
} td_rule;

/* How lines are scaled with a choice. */
TD_BOTH td_scaling td_scaling_of(const td_rule *rule, const td_choice *choice)
{
    td_scaling scaling = {rule->scale, choice->level, rule->peak_limit};
    if (rule->scale == TD_SCALE_BY_PEAK) scaling.limit = rule->width;
    if (rule->scale == TD_SCALE_BY_DIGITS) scaling.limit = choice->parameter * choice->bits - 2;
    return scaling;
}

/* Where a pair of lines begins to be too loose for each candidate. */
TD_BOTH td_probed_lines td_probed_by(const td_rule *rule, const int32_t *looseness)
{
    td_probed_lines probed = {looseness, rule->candidates, {0}};
    for (int i = 0; i < rule->candidates && i < TD_LIMITS; i++)
        probed.limit[i] = rule->candidate[i].level - rule->level_of_pair;
    return probed;
}

/* What is known of the lines of some members: what td_measure has made. */
typedef struct {
    const td_line *line[2];       /* [batch][lines] */
    const td_line *line_again[2]; /* [batch][lines], of shifted members; NULL: `line` has these */
    const int32_t *shifted;       /* [batch] */
    const td_extremes *extremes;  /* [batch], if there are several candidates and no digits */
    int lines[2];
    int batch;
    int64_t k;
    td_scalar alpha;          /* no line is read if it is 0 */
    const int32_t *verdict;   /* a td_verdict: others than TD_RESIDUES need no lines; or NULL */
    const int32_t *looseness; /* td_probed_lines.looseness */
} td_measured;

/* Where td_choose writes what it chose. */
typedef struct {
    td_choice *choice;          /* [batch] */
    td_line *line[2];           /* [batch][lines]: td_measured's or others, with their scales */
    unsigned long long *planes; /* raised to what is chosen; NULL: not */
    unsigned long long *work;   /* raised as td_counters.work says; NULL: not */
} td_chosen;

typedef struct {
    td_rule rule;
    td_measured measured;
    td_chosen chosen;
} td_choose;

cudaError_t td_choose_run(const td_choose *choose, cudaStream_t stream);

/* Measures lines, then chooses. */
cudaError_t td_lines_run(const td_measure *measure, const td_choose *choose, cudaStream_t stream);

/* The part of td_lines_run for lines that are measured whole: measures them again where exponents
 * spread along k, and chooses. A choice by digits (TD_SCALE_BY_DIGITS) is left to td_choose_run. */
cudaError_t td_choose_whole_run(const td_measure *measure, const td_choose *choose,
                                cudaStream_t stream);

/* Loads these kernels on the current device, and those of td_measure: once, before the first
 * launch. */
cudaError_t td_lines_prepare(void);
cudaError_t td_choose_prepare(void); /* this one and the next are parts of td_lines_prepare */
cudaError_t td_choose_whole_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
