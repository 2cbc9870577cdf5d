/* cublaslt_matmul.c - cublasLtMatmul of the stand-in for cublasLt: products of real binary64 matrices, element by element in
 * plain loops, for tests of small sizes. Epilogues, vectors of alpha and other types are not supported. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cublaslt_internal.h"
#include "executor.h"

/* Matrix i of a batch has element (r, c) at data[i * stride + r * row_step + c * column_step]. */
typedef struct {
    const double *data;
    int64_t rows, columns, row_step, column_step, stride;
} matrix;

/* D <- alpha A B + beta C, transposes and orders resolved, as a graph may keep it. */
typedef struct {
    matrix a, b, c, d;
    int64_t batch;
    const double *alpha, *beta; /* in device memory; NULL: the values */
    double alpha_value, beta_value;
} lt_product;

static lt_layout read_layout(cublasLtMatrixLayout_t from)
{
    lt_layout layout;

    memcpy(&layout, from, sizeof layout);
    return layout;
}

static matrix matrix_of(const void *data, const lt_layout *l, int32_t op)
{
    const bool is_row = l->order == CUBLASLT_ORDER_ROW;
    const matrix plain = {
        data,     (int64_t)l->rows, (int64_t)l->columns, is_row ? l->ld : 1, is_row ? 1 : l->ld,
        l->stride};

    if (op == CUBLAS_OP_N) return plain;
    return (matrix){plain.data,        plain.columns,  plain.rows,
                    plain.column_step, plain.row_step, plain.stride};
}

static bool is_supported_layout(const lt_layout *l)
{
    return l->type == CUDA_R_64F && l->batch_mode == CUBLASLT_BATCH_MODE_STRIDED &&
           (l->order == CUBLASLT_ORDER_COL || l->order == CUBLASLT_ORDER_ROW);
}

static bool is_valid_layout(const lt_layout *l)
{
    const uint64_t least = l->order == CUBLASLT_ORDER_ROW ? l->columns : l->rows;

    return l->batch >= 0 && l->ld >= 0 && (uint64_t)l->ld >= least;
}

/* SUCCESS, or what is wrong with a call; sets what the layouts say. */
static cublasStatus_t read_call(cublasLtMatmulDesc_t operation,
                                const cublasLtMatrixLayout_t layouts[4], lt_operation *o,
                                lt_product *p)
{
    lt_layout l[4];

    if (!operation) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(o, operation, sizeof *o);
    for (int i = 0; i < 4; i++) {
        if (!layouts[i]) return CUBLAS_STATUS_INVALID_VALUE;
        l[i] = read_layout(layouts[i]);
        if (!is_supported_layout(&l[i])) return CUBLAS_STATUS_NOT_SUPPORTED;
        if (!is_valid_layout(&l[i])) return CUBLAS_STATUS_INVALID_VALUE;
    }
    if (o->compute != CUBLAS_COMPUTE_64F && o->compute != CUBLAS_COMPUTE_64F_PEDANTIC)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (o->scale != CUDA_R_64F || o->epilogue != CUBLASLT_EPILOGUE_DEFAULT ||
        o->op_c != CUBLAS_OP_N || o->pointer_mode > CUBLASLT_POINTER_MODE_DEVICE)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    p->a = matrix_of(NULL, &l[0], o->op_a);
    p->b = matrix_of(NULL, &l[1], o->op_b);
    p->c = matrix_of(NULL, &l[2], CUBLAS_OP_N);
    p->d = matrix_of(NULL, &l[3], CUBLAS_OP_N);
    p->batch = l[3].batch;
    if (l[0].batch != l[3].batch || l[1].batch != l[3].batch || l[2].batch != l[3].batch)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (p->a.columns != p->b.rows || p->a.rows != p->d.rows || p->b.columns != p->d.columns ||
        p->c.rows != p->d.rows || p->c.columns != p->d.columns)
        return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;
}

static size_t at(const matrix *x, int64_t i, int64_t row, int64_t column)
{
    return (size_t)(i * x->stride + row * x->row_step + column * x->column_step);
}

/* True if a device could use the matrices; says on stderr which it could not. */
static bool is_usable(const lt_product *p, const char *name, const matrix *x)
{
    const size_t last = p->batch && x->rows && x->columns
                            ? at(x, p->batch - 1, x->rows - 1, x->columns - 1) + 1
                            : 0;

    if (!last || hostgpu_is_device_memory(x->data, last * sizeof(double))) return true;
    fprintf(stderr, "tandem: host device: cublasLtMatmul: %s is not all in device memory\n", name);
    return false;
}

static double sum_of(const lt_product *p, int64_t i, int64_t row, int64_t column)
{
    double sum = 0.0;

    for (int64_t l = 0; l < p->a.columns; l++)
        sum += p->a.data[at(&p->a, i, row, l)] * p->b.data[at(&p->b, i, l, column)];
    return sum;
}

static cudaError_t multiply(void *arguments)
{
    const lt_product *p = arguments;
    const double alpha = p->alpha ? *p->alpha : p->alpha_value,
                 beta = p->beta ? *p->beta : p->beta_value;
    double *d = (double *)(uintptr_t)p->d.data;

    if ((alpha != 0.0 && (!is_usable(p, "A", &p->a) || !is_usable(p, "B", &p->b))) ||
        (beta != 0.0 && !is_usable(p, "C", &p->c)) || !is_usable(p, "D", &p->d))
        return cudaErrorIllegalAddress;
    for (int64_t i = 0; i < p->batch; i++)
        for (int64_t column = 0; column < p->d.columns; column++)
            for (int64_t row = 0; row < p->d.rows; row++) {
                const double sum = alpha == 0.0 ? 0.0 : alpha * sum_of(p, i, row, column);
                const double kept = beta == 0.0 ? 0.0 : beta * p->c.data[at(&p->c, i, row, column)];

                d[at(&p->d, i, row, column)] = sum + kept;
            }
    return cudaSuccess;
}

static cublasStatus_t set_scalars(const lt_operation *o, lt_product *p, const double *alpha,
                                  const double *beta)
{
    const bool on_device = o->pointer_mode == CUBLASLT_POINTER_MODE_DEVICE;

    if (!alpha || !beta) return CUBLAS_STATUS_INVALID_VALUE;
    if (on_device && (!hostgpu_is_device_memory(alpha, sizeof *alpha) ||
                      !hostgpu_is_device_memory(beta, sizeof *beta)))
        return CUBLAS_STATUS_EXECUTION_FAILED;
    p->alpha = on_device ? alpha : NULL;
    p->beta = on_device ? beta : NULL;
    p->alpha_value = on_device ? 0.0 : *alpha;
    p->beta_value = on_device ? 0.0 : *beta;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                              const void *alpha, const void *a, cublasLtMatrixLayout_t of_a,
                              const void *b, cublasLtMatrixLayout_t of_b, const void *beta,
                              const void *c, cublasLtMatrixLayout_t of_c, void *d,
                              cublasLtMatrixLayout_t of_d, const cublasLtMatmulAlgo_t *algorithm,
                              void *workspace, size_t workspace_bytes, cudaStream_t stream)
{
    const cublasLtMatrixLayout_t layouts[] = {of_a, of_b, of_c, of_d};
    lt_operation o;
    lt_product p = {.batch = 0};

    (void)algorithm, (void)workspace, (void)workspace_bytes;
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    cublasStatus_t status = read_call(operation, layouts, &o, &p);
    if (!status) status = set_scalars(&o, &p, alpha, beta);
    if (status) return status;
    p.a.data = a;
    p.b.data = b;
    p.c.data = c;
    p.d.data = d;
    return hostgpu_enqueue(stream, cudaGraphNodeTypeKernel, multiply, &p, sizeof p)
               ? CUBLAS_STATUS_EXECUTION_FAILED
               : CUBLAS_STATUS_SUCCESS;
}

/* One algorithm, which needs no workspace, for what cublasLtMatmul can do. */
cublasStatus_t
cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                               cublasLtMatrixLayout_t of_a, cublasLtMatrixLayout_t of_b,
                               cublasLtMatrixLayout_t of_c, cublasLtMatrixLayout_t of_d,
                               cublasLtMatmulPreference_t preference, int requested,
                               cublasLtMatmulHeuristicResult_t results[], int *returned)
{
    const cublasLtMatrixLayout_t layouts[] = {of_a, of_b, of_c, of_d};
    lt_operation o;
    lt_product p;

    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!preference || requested < 1 || !results || !returned) return CUBLAS_STATUS_INVALID_VALUE;
    *returned = 0;
    const cublasStatus_t status = read_call(operation, layouts, &o, &p);
    if (status) return status;
    results[0] =
        (cublasLtMatmulHeuristicResult_t){.state = CUBLAS_STATUS_SUCCESS, .wavesCount = 1.0f};
    *returned = 1;
    return CUBLAS_STATUS_SUCCESS;
}
