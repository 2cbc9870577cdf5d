#include "lu.h"

#include <float.h>
#include <math.h>
#include <stddef.h>

#include "common.h"

static const double one = 1.0, minus_one = -1.0;

static double *at(const lu_system *s, int row, int column)
{
    return s->entries + row + (ptrdiff_t)column * s->n;
}

/* Brings the largest entry on and below the diagonal of column j to the diagonal, swapping whole
 * rows, and returns it in *pivot. */
static bool choose_pivot(const lu_system *s, int j, double *pivot)
{
    int place = 0; /* from 1 */

    CHECK_CUBLAS(cublasIdamax(s->blas, s->n - j, at(s, j, j), 1, &place));
    if (s->pivots) s->pivots[j] = j + place - 1;
    if (place > 1)
        CHECK_CUBLAS(
            cublasDswap(s->blas, s->n + 1, at(s, j, 0), s->n, at(s, j + place - 1, 0), s->n));
    CHECK_CUDA(cudaMemcpy(pivot, at(s, j, j), sizeof *pivot, cudaMemcpyDeviceToHost));
    if (fabs(*pivot) >= DBL_MIN) return true; /* so that 1 / pivot is finite; false for NaN */
    complain("no pivot in column %d: the matrix is singular or holds a NaN", j + 1);
out:
    return false;
}

/* Factors columns [first, end) on and below the diagonal, one column at a time. */
static bool factor_panel(const lu_system *s, int first, int end)
{
    for (int j = first; j < end; j++) {
        double pivot = 0.0;
        int below = s->n - j - 1, right = end - j - 1;

        if (!choose_pivot(s, j, &pivot)) return false;
        if (!below) continue;
        double scale = 1.0 / pivot;
        CHECK_CUBLAS(cublasDscal(s->blas, below, &scale, at(s, j + 1, j), 1));
        if (!right) continue;
        CHECK_CUBLAS(cublasDger(s->blas, below, right, &minus_one, at(s, j + 1, j), 1,
                                at(s, j, j + 1), s->n, at(s, j + 1, j + 1), s->n));
    }
    return true;
out:
    return false;
}

/* With the panel of columns [first, end) factored: U's rows [first, end) right of it, then
 * everything below those rows, by one product. */
static bool update_rest(const lu_system *s, int first, int end)
{
    int width = end - first, right = s->n + 1 - end, below = s->n - end;

    CHECK_CUBLAS(cublasDtrsm(s->blas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                             CUBLAS_DIAG_UNIT, width, right, &one, at(s, first, first), s->n,
                             at(s, first, end), s->n));
    if (below)
        CHECK_CUBLAS(cublasDgemm(s->blas, CUBLAS_OP_N, CUBLAS_OP_N, below, right, width, &minus_one,
                                 at(s, end, first), s->n, at(s, first, end), s->n, &one,
                                 at(s, end, end), s->n));
    return true;
out:
    return false;
}

bool lu_factor(const lu_system *s)
{
    for (int first = 0; first < s->n; first += s->block) {
        int end = s->n - first < s->block ? s->n : first + s->block;
        if (!factor_panel(s, first, end) || !update_rest(s, first, end)) return false;
    }
    return true;
}

/* b <- inv(U) b */
static bool solve_upper(const lu_system *s, double *b)
{
    CHECK_CUBLAS(cublasDtrsm(s->blas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N,
                             CUBLAS_DIAG_NON_UNIT, s->n, 1, &one, s->entries, s->n, b, s->n));
    return true;
out:
    return false;
}

bool lu_back_substitute(const lu_system *s) { return solve_upper(s, at(s, 0, s->n)); }

bool lu_solve_again(const lu_system *s, double *b, double *rows)
{
    size_t bytes = (size_t)s->n * sizeof *rows;

    CHECK_CUDA(cudaMemcpy(rows, b, bytes, cudaMemcpyDeviceToHost));
    for (int j = 0; j < s->n; j++) {
        double row = rows[j];
        rows[j] = rows[s->pivots[j]];
        rows[s->pivots[j]] = row;
    }
    CHECK_CUDA(cudaMemcpy(b, rows, bytes, cudaMemcpyHostToDevice));
    CHECK_CUBLAS(cublasDtrsm(s->blas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                             CUBLAS_DIAG_UNIT, s->n, 1, &one, s->entries, s->n, b, s->n));
    return solve_upper(s, b);
out:
    return false;
}
