/* tile.h - which elements of a 64 x 64 tile of C each of 128 threads owns, and how a finished sum becomes an element of C.
 * The multiply, join and repair kernels share this, so that a bit of a repair mask means the same to all. */
#ifndef TD_TILE_H
#define TD_TILE_H

#include "df.h"
#include "df_kernels.h"
#include "portable.h"

/* Rows and columns of a thread's elements. Warps are 2 x 2, lanes 8 x 4; a thread has 4 neighbouring rows and two
 * groups of 4 neighbouring columns, 16 apart. */
enum { TD_ROWS = 4, TD_COLS = 8 };

TD_DEVICE int td_tile_row(int thread) { return (thread >> 5 & 1) * 32 + (thread & 7) * 4; }
TD_DEVICE int td_tile_col(int thread) { return (thread >> 6) * 32 + (thread >> 3 & 3) * 4; }
TD_DEVICE int td_tile_col_step(int j)
{
    return (j >> 2) * 16 + (j & 3);
} /* of column j past the first */

TD_HOST_DEVICE int td_tiles(int lines) { return (lines + TD_STRIP - 1) / TD_STRIP; }

TD_DEVICE double td_scalar_value(const td_scalar &s) { return s.device ? *s.device : s.value; }

/* First element of a batch member; T is the type of its elements. */
template <class T> TD_DEVICE T *td_member(const td_matrix &matrix, int64_t index)
{
    if (matrix.array) return reinterpret_cast<T *>(matrix.array[index]);
    return reinterpret_cast<T *>(matrix.data) + index * matrix.stride;
}

TD_DEVICE int64_t td_operand_at(const td_operand &o, int line, int64_t l)
{
    return o.offset + line * o.line_step + l * o.k_step;
}

/* alpha sum + beta c as cuBLAS rounds it, c not read if beta is 0. */
TD_DEVICE double td_axpby(double alpha, double sum, double beta, const double *c)
{
    return beta == 0.0 ? td_mul64(alpha, sum) : td_fma64(alpha, sum, td_mul64(beta, *c));
}

#endif
