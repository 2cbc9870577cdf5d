/* finish.h - from the exact X of the Ozaki family to C: one block a tile, one thread a subtile. A template argument `source`
 * has
 *   limbs                        of X
 *   load(source, row, col, x)    X of rows row .. row + 3 of one column; row + 3 may be past the end of C */
#ifndef TD_FINISH_H
#define TD_FINISH_H

#include "access.h"
#include "ozaki.h"
#include "wide.h"

enum { TD_FINISH_THREADS = TD_SUBTILES };

/* True if the element is as good as a binary64 product's, or the mode does not ask. */
TD_DEVICE bool td_is_certified(td_line a, td_line b, const td_choice &choice)
{
    if (choice.need == INT32_MIN) return true;
    if (a.scale + a.low >= 0 && b.scale + b.low >= 0) return true;
    return a.mean + b.mean + TD_LOG * (a.scale + b.scale) >= choice.need;
}

/* Stores C from one column of a subtile; returns the bits of the elements that are left to the repair kernel. */
template <int limbs>
TD_DEVICE unsigned td_finish_column(const td_choice &choice, const td_wide<limbs> *x,
                                    const td_line *a, td_line b, int count, double *c, double alpha,
                                    double beta)
{
    unsigned mask = 0;
    TD_UNROLL
    for (int i = 0; i < TD_SUBTILE; i++) {
        if (i >= count) continue;
        const bool is_special = a[i].low == TD_SPECIAL || b.low == TD_SPECIAL;
        if (alpha != 0.0 && (is_special || !td_is_certified(a[i], b, choice)))
            mask |= 1u << i;
        else
            c[i] = td_axpby(alpha, td_wide_round64(x[i], -(a[i].scale + b.scale)), beta, &c[i]);
    }
    return mask;
}

/* One subtile of C at (row, col). */
template <class source>
TD_DEVICE void td_finish_subtile(const td_finish &finish, const source &from, int row, int col)
{
    const td_target &target = finish.target;
    const int rows = min((int)TD_SUBTILE, target.m - row);
    const int cols = min((int)TD_SUBTILE, target.n - col);
    if (rows <= 0 || cols <= 0) return;
    const double alpha = td_scalar_value(target.alpha), beta = td_scalar_value(target.beta);
    const td_choice choice = finish.choice[blockIdx.z];
    const td_line *line[2];
    TD_UNROLL
    for (int o = 0; o < 2; o++) line[o] = finish.line[o] + blockIdx.z * finish.lines_of_member[o];
    td_line a[TD_SUBTILE];
    TD_UNROLL
    for (int i = 0; i < TD_SUBTILE; i++) a[i] = line[0][row + (i < rows ? i : 0)];
    double *c = td_target_c<double>(target) + row + (int64_t)col * target.c.ld;
    unsigned mask = 0;
    TD_UNROLL_N(1)
    for (int j = 0; j < cols; j++) {
        td_wide<source::limbs> x[TD_SUBTILE];
        source::load(from, row, col + j, x);
        mask |= td_finish_column(choice, x, a, line[1][col + j], rows, c + (int64_t)j * target.c.ld,
                                 alpha, beta)
                << (TD_SUBTILE * j);
    }
    *td_target_mask(target, row, col) = (uint16_t)mask;
}

#endif
