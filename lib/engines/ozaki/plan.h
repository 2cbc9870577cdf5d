/* plan.h - how a product of the Ozaki family (engine.c) is cut into parts that fit the workspace,
 * and what lies there where. */
#ifndef TD_PLAN_H
#define TD_PLAN_H

#include "scheme.h"

/* A mode: how it multiplies, and what it makes of the sums. */
typedef struct {
    const td_scheme *scheme;
    td_finish_kind kind;
    td_deferred_tiles defers_tiles;
} td_ozaki_mode;

typedef struct {
    td_part_sizes part;
    int strip_lines; /* measured at a time */
    td_measure_route measure;

    /* Offsets, and the total. Scratch of the measuring and of the parts share memory. */
    size_t line[2], shift, shifted, choice, counts;
    size_t chunks[2], chunks_again[2], tops[2], bounds[2], line_again[2], rise;
    size_t masks, open_tile, min_moduli, cublas, planes, plane_bytes, bytes;
    int64_t scheme_map, estimate_map; /* words of a part's */

    td_part_sizes dense; /* m is 0 if dense tiles have no product of their own */
    size_t dense_bytes;  /* that planes have for it at least */
    size_t dense_scratch;
} td_ozaki_plan;

typedef struct {
    const td_problem *p;
    const td_ozaki_mode *mode;
    td_parameter parameter;
    td_device *device;
    td_route_terms terms;
    td_counters *counters;
    td_ozaki_plan plan;
    char *workspace;
    bool is_captured; /* becomes part of a graph */
} td_ozaki_product;

/* What kernels count of an estimate: zeros before it. */
typedef struct {
    unsigned long long *uncertified; /* [batch][TD_CHOICES]: elements that each candidate leaves */
    unsigned long long *met;         /* [batch]: blocks of both operands that meet */
    int32_t *done;                   /* [batch]: thread blocks that have done all of their tiles */
} td_ozaki_certifying;

/* What kernels count: zeros before a product. What lines spread; units of what blocks do together
 * and of products of panels that are taken; tiles of which elements are left. */
typedef struct {
    td_ozaki_certifying certifying;
    td_extremes *extremes; /* [batch] */
    td_step *steps;        /* [batch][TD_STEPS] */
    uint32_t *next_unit;
    td_open_counts *tiles; /* [part][batch] */
    uint32_t *nonzero;     /* [part]: maps */
    int64_t words;         /* of 32 bits, in all */
} td_ozaki_counts;

/* Those of a product whose counts lie at `memory`. */
td_ozaki_counts td_ozaki_counts_at(const td_ozaki_plan *plan, const td_problem *p, char *memory);

/* Of the part of that number: the scheme's map, and behind it the estimate's. */
static inline uint32_t *td_ozaki_maps(const td_ozaki_plan *plan, const td_ozaki_counts *counts,
                                      int64_t number)
{
    return counts->nonzero + number * (plan->scheme_map + plan->estimate_map);
}

/* True if elements of C may be left to the repair kernel though their row and column are finite
 * numbers. */
bool td_ozaki_certifies(const td_ozaki_product *product);

/* A td_planner, of a td_ozaki_product. */
size_t td_ozaki_plan_make(void *of, size_t limit);

#endif
