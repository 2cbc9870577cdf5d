/* parts.h - how a product is cut into parts that fit a workspace: sizes that shrink, and which
 * parts C has. Pure: no CUDA calls. */
#ifndef TD_PARTS_H
#define TD_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "product.h"
#include "sizes.h"

/* Most rows or columns, and members, of a part: keeps the tile numbers of a launch in 31 bits, and
 * its grid in CUDA's limits. */
enum { TD_MAX_PART_LINES = 1 << 20, TD_MAX_PART_MEMBERS = 32767 };

/* Bytes that cuBLAS may work in: the most that the vendor recommends for any device, and what no
 * product fails for the lack of. */
enum { TD_CUBLAS_WORKSPACE = 32 << 20, TD_CUBLAS_LEAST_WORKSPACE = 16 << 10 };

/* Most that a part has: m x n elements of C in each of `batch` members, whose sums take k_pass
 * terms at a time. cuBLAS may work in cublas_bytes; 0: it is not called. */
typedef struct {
    int64_t m, n, batch, k_pass;
    size_t cublas_bytes;
} td_part_sizes;

/* How passes over k get shorter. Those of more than `deep` terms do so before the part's lines get
 * fewer, as long as terms are more than lines, and become a multiple of deep_unit; all others
 * become a multiple of `unit` once the lines are one tile. */
typedef struct {
    int64_t deep, deep_unit, unit;
} td_pass_units;

/* Rows i .. i + m - 1 and columns j .. j + n - 1 of C, in the members z .. z + batch - 1. Parts of
 * the same members have numbers, column by column, from 0; those of which C has no elements are
 * counted. */
typedef struct {
    int64_t i, j, z, number;
    int m, n, batch;
} td_part;

/* All of a product's lines and members, as far as one part may have them; k_pass is all of k. */
td_part_sizes td_largest_part(const td_real_product *p);

/* Makes *size about half, a multiple of `unit`; false if it is no more than one unit. */
bool td_halve(int64_t *size, int64_t unit);

/* Makes parts smaller in one of their sizes; false if all are as small as they can be. */
bool td_shrink(td_part_sizes *sizes, const td_pass_units *units);

/* Shrinks a plan until what lay_out says it takes is at most `limit` bytes, which are returned; 0:
 * it cannot shrink that far. */
size_t td_fit(void *plan, size_t limit, size_t (*lay_out)(void *plan), bool (*shrink)(void *plan));

/* Parts of the same members, with those of which C has no elements. */
int64_t td_parts_of_members(const td_real_product *p, const td_part_sizes *sizes);

/* What precedes the first part of the members from z on: it has these members, and no elements. */
td_part td_before_parts(const td_real_product *p, const td_part_sizes *sizes, int64_t z);

/* Moves on to the next part of the same members of which C has elements; false if there is none.
 * Elements of C outside these parts are neither read nor written. */
bool td_next_part(const td_real_product *p, const td_part_sizes *sizes, td_part *part);

/* As td_next_part, but only of parts that the product's window has elements of, which are cut to
 * the window. */
bool td_next_made_part(const td_real_product *p, const td_part_sizes *sizes, td_part *part);

#endif
