/* plan.h - how a product of the Ozaki family (stages.c) is cut into parts that fit the workspace,
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
    int64_t columns; /* of a part that are multiplied at a time, of which p->progress is told */
    int strip_lines; /* measured at a time */
    td_measure_route measure;
    size_t bytes, plane_bytes; /* of the workspace, and of its planes */

    /* Words of 32 bits of a part's maps of what is not zero. */
    int64_t scheme_map, estimate_map;

    td_part_sizes second; /* m is 0 if dense tiles have no product of their own */
    size_t second_bytes;  /* that planes have for it at least */
} td_ozaki_plan;

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
    td_open_counts *tiles; /* [part][strip][batch] */
    uint32_t *nonzero;     /* [part]: maps */
    int64_t words;         /* of 32 bits, in all */
} td_ozaki_counts;

/* Where things are in the workspace, one piece each that a plan carves from it. Scratch of the
 * measuring (chunks .. rise) and of the parts (masks .. planes) share memory. */
typedef struct {
    td_line *line[2], *line_again[2]; /* [member][line]: records of op(A)'s rows, op(B)'s columns */
    int16_t *shift;                   /* [member][k] */
    int32_t *shifted;                 /* [member] */
    td_choice *choice;                /* [member] */
    td_ozaki_counts counts;
    int32_t *zeros; /* the counts' first word: all of them are zeros before a product */

    char *chunks[2], *chunks_again[2];
    int32_t *tops[2], *bounds[2];
    td_rise *rise;

    uint16_t *masks;
    int32_t *open_tile;
    uint8_t *second_scratch;
    char *cublas;
    uint8_t *min_moduli; /* NULL unless td_ozaki_certifies */
    char *planes;
} td_ozaki_memory;

typedef struct {
    const td_real_product *p;
    const td_ozaki_mode *mode;
    td_parameter parameter;
    td_device *device;
    td_route_terms terms;
    td_counters *counters;
    td_ozaki_plan plan;
    td_ozaki_memory memory;
    bool is_captured; /* becomes part of a graph */
    bool has_branch;  /* cuBLAS makes C where the data leave all of it to binary64 */
} td_ozaki_product;

/* The product as its scheme's functions take it. */
static inline td_scheme_case td_ozaki_case(const td_ozaki_product *product)
{
    const td_real_product *p = product->p;
    return (td_scheme_case){product->mode->scheme, product->parameter, p->k, p->m, p->n};
}

/* Of the part of that number: the scheme's map, and behind it the estimate's. */
static inline uint32_t *td_ozaki_maps(const td_ozaki_plan *plan, const td_ozaki_counts *counts,
                                      int64_t number)
{
    return counts->nonzero + number * (plan->scheme_map + plan->estimate_map);
}

/* Strips of a part: 1 if it is multiplied in one piece. */
static inline int64_t td_ozaki_strips(const td_ozaki_plan *plan)
{
    return td_ceil_div(plan->part.n, plan->columns);
}

/* True if elements of C may be left to the repair kernel though their row and column are finite
 * numbers. */
bool td_ozaki_certifies(const td_ozaki_product *product);

/* A td_planner, of a td_ozaki_product. */
size_t td_ozaki_plan_make(void *of, size_t limit);

/* Sets product->memory to pieces of a workspace of plan.bytes, 256-byte aligned. */
void td_ozaki_carve(td_ozaki_product *product, char *workspace);

/* Makes C (stages.c), with at most `limit` bytes of workspace; never waits. */
td_run_status td_ozaki_run(td_ozaki_product *product, size_t limit);

#endif
