#include "lu_refine.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "common.h"
#include "wide.h"

bool refinement_make(const lu_system *factors, const double *a, const double *b,
                     const double *b_rest, refinement *f)
{
    int n = factors->n;
    size_t column_bytes = (size_t)n * sizeof(double);

    *f = (refinement){.factors = factors, .rows = host_matrix(n, 1), .a = device_matrix(n, n + 3)};
    if (!f->rows || !f->a) goto out;
    f->b = f->a + (ptrdiff_t)n * n;
    f->b_rest = f->b + n;
    f->r = f->b_rest + n;
    CHECK_CUDA(cudaMemcpy(f->a, a, (size_t)n * column_bytes, cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMemcpy(f->b, b, column_bytes, cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMemcpy(f->b_rest, b_rest, column_bytes, cudaMemcpyHostToDevice));
    return true;
out:
    return false;
}

void refinement_free(refinement *f)
{
    cudaFree(f->a);
    free(f->rows);
}

bool refinement_step(const refinement *f, double *x)
{
    static const double one = 1.0, minus_one = -1.0;
    cublasHandle_t blas = f->factors->blas;
    int n = f->factors->n;

    CHECK_CUDA(cudaMemcpy(f->r, f->b, (size_t)n * sizeof *x, cudaMemcpyDeviceToDevice));
    CHECK_CUBLAS(cublasDgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, 1, n, &minus_one, f->a, n, x, n,
                             &one, f->r, n));
    CHECK_CUBLAS(cublasDaxpy(blas, n, &one, f->b_rest, 1, f->r, 1));
    if (!lu_solve_again(f->factors, f->r, f->rows)) goto out;
    CHECK_CUBLAS(cublasDaxpy(blas, n, &one, f->r, 1, x, 1));
    return true;
out:
    return false;
}

/* residual <- b + b_rest - A x, scale <- |A| |x| + |b|, row_sums <- row sums of |A|, n numbers
 * each. */
static void residual_and_scale(const dense_matrix *a, const double *b, const double *b_rest,
                               const double *x, wide *residual, wide *scale, wide *row_sums)
{
    ptrdiff_t n = a->rows;

    for (ptrdiff_t i = 0; i < n; i++) {
        residual[i] = (wide)b[i] + (wide)b_rest[i];
        scale[i] = wide_magnitude(residual[i]);
        row_sums[i] = 0;
    }
    for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t i = 0; i < n; i++) {
            wide entry = (wide)a->entries[i + j * n], term = entry * (wide)x[j];
            residual[i] -= term;
            scale[i] += wide_magnitude(term);
            row_sums[i] += wide_magnitude(entry);
        }
}

/* The larger of two numbers, NaN if either is. */
static double larger(double a, wide b) { return isnan(a) || b <= (wide)a ? a : (double)b; }

bool solution_check(const dense_matrix *a, const double *b, const double *b_rest,
                    const double *exact, const double *x, solution_errors *errors)
{
    int n = a->rows;
    double r_norm = 0.0, a_norm = 0.0, x_norm = 0.0, b_norm = 0.0;
    wide *residual = calloc(3 * (size_t)n, sizeof *residual);

    if (!residual) {
        complain("no memory to check %d numbers", n);
        return false;
    }
    wide *scale = residual + n, *row_sums = scale + n;
    residual_and_scale(a, b, b_rest, x, residual, scale, row_sums);
    *errors = (solution_errors){0};
    for (int i = 0; i < n; i++) {
        wide size = wide_magnitude(residual[i]), error = (wide)x[i] - (wide)exact[i];
        if (size != 0) errors->componentwise = larger(errors->componentwise, size / scale[i]);
        errors->forward = larger(errors->forward, wide_magnitude(error / (wide)exact[i]));
        r_norm = larger(r_norm, size);
        a_norm = larger(a_norm, row_sums[i]);
        x_norm = larger(x_norm, wide_magnitude((wide)x[i]));
        b_norm = larger(b_norm, wide_magnitude((wide)b[i]));
    }
    errors->normwise = r_norm / (a_norm * x_norm + b_norm);
    free(residual);
    return true;
}

bool right_side_rest(const dense_matrix *a, const double *x, const double *b, double *b_rest)
{
    ptrdiff_t n = a->rows;
    wide *sums = calloc((size_t)n, sizeof *sums);

    if (!sums) {
        complain("no memory for %td sums", n);
        return false;
    }
    for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t i = 0; i < n; i++) sums[i] += (wide)a->entries[i + j * n] * (wide)x[j];
    for (ptrdiff_t i = 0; i < n; i++) b_rest[i] = (double)(sums[i] - (wide)b[i]);
    free(sums);
    return true;
}
