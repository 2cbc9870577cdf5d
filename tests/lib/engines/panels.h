/* panels.h - products of panels with known sums, for the tests of cuBLAS.
 * All elements and sums are whole numbers that their types hold. */
#ifndef SUPPORT_PANELS_H
#define SUPPORT_PANELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/engines/ozaki/cublas.h"

/* `count` products with the same sizes; all matrices of an operand stand behind each other, with
 * padding. */
typedef struct {
    td_panel_type type;
    int m, n, k, pad_a, pad_b, pad_c, count;
    bool accumulate, a_is_shared; /* one A for all */
} panels_case;

enum { PANELS_CASES = 7 };
extern const panels_case panels_cases[PANELS_CASES];

/* The text lives until the next call of the same thread. */
const char *panels_text(const panels_case *p);

/* Elements from one matrix to the next, with a gap that is a multiple of 16 as well. */
static inline int64_t panels_stride_a(const panels_case *p)
{
    return (int64_t)p->m * (p->k + p->pad_a) + 16;
}
static inline int64_t panels_stride_b(const panels_case *p)
{
    return (int64_t)p->n * (p->k + p->pad_b) + 32;
}
static inline int64_t panels_stride_c(const panels_case *p)
{
    return (int64_t)p->n * (p->m + p->pad_c) + 16;
}

/* The operands as whole numbers, and with them in host and device memory. */
typedef struct {
    int64_t *a, *b, *c;
    size_t a_count, b_count, c_count;
    void *device_a, *device_b, *device_c, *workspace;
} panels_data;

/* For any thread: null pointers, and in the end a wrong product, if there is no memory. */
panels_data panels_make(const panels_case *p, uint64_t seed);
void panels_free(panels_data *d);
td_panels panels_of(const panels_case *p, const panels_data *d, size_t workspace_bytes);

/* The product in place, `times` times; what is not part of C stays. */
void panels_multiply(const panels_case *p, const panels_data *d, int times);

/* Index of the first element of C's storage that differs, or -1; -2: no data came. */
int64_t panels_difference(const panels_case *p, const panels_data *d);

#endif
