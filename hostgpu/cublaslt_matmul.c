/* cublaslt_matmul.c - cublasLtMatmul of the stand-in for cublasLt: products of real and complex
 * binary64 matrices, element by element in plain loops, for tests of small sizes. Epilogues,
 * vectors of alpha and other types are not supported. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cublaslt_internal.h"
#include "executor.h"

typedef struct {
    double re, im; /* im: 0 of real numbers, whose products and sums know nothing of it */
} number;

/* Matrix i of a batch has element (r, c) at element i * stride + r * row_step + c * column_step. */
typedef struct {
    const double *data;
    int64_t rows, columns, row_step, column_step, stride;
    bool is_conjugate;
} matrix;

/* D <- alpha A B + beta C, transposes and orders resolved, as a graph may keep it. */
typedef struct {
    matrix a, b, c, d;
    int64_t batch;
    bool is_complex;
    const double *alpha, *beta; /* in device memory; NULL: the values */
    number alpha_value, beta_value;
    int64_t scalar_stride[2]; /* of alpha and beta in device memory, from member to member */
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
    const matrix plain = {data,
                          (int64_t)l->rows,
                          (int64_t)l->columns,
                          is_row ? l->ld : 1,
                          is_row ? 1 : l->ld,
                          l->stride,
                          false};

    if (op == CUBLAS_OP_N) return plain;
    return (matrix){plain.data,     plain.columns, plain.rows,       plain.column_step,
                    plain.row_step, plain.stride,  op == CUBLAS_OP_C};
}

static bool is_supported_layout(const lt_layout *l, const lt_operation *o)
{
    return (l->type == CUDA_R_64F || l->type == CUDA_C_64F) && (int32_t)l->type == o->scale &&
           l->batch_mode == CUBLASLT_BATCH_MODE_STRIDED &&
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
        if (!is_supported_layout(&l[i], o)) return CUBLAS_STATUS_NOT_SUPPORTED;
        if (!is_valid_layout(&l[i])) return CUBLAS_STATUS_INVALID_VALUE;
    }
    if (o->compute != CUBLAS_COMPUTE_64F && o->compute != CUBLAS_COMPUTE_64F_PEDANTIC &&
        o->compute != CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (o->epilogue != CUBLASLT_EPILOGUE_DEFAULT || o->op_c != CUBLAS_OP_N ||
        o->pointer_mode > CUBLASLT_POINTER_MODE_DEVICE)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    p->a = matrix_of(NULL, &l[0], o->op_a);
    p->b = matrix_of(NULL, &l[1], o->op_b);
    p->c = matrix_of(NULL, &l[2], CUBLAS_OP_N);
    p->d = matrix_of(NULL, &l[3], CUBLAS_OP_N);
    p->batch = l[3].batch;
    p->is_complex = o->scale == CUDA_C_64F;
    if (l[0].batch != l[3].batch || l[1].batch != l[3].batch || l[2].batch != l[3].batch)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (p->a.columns != p->b.rows || p->a.rows != p->d.rows || p->b.columns != p->d.columns ||
        p->c.rows != p->d.rows || p->c.columns != p->d.columns)
        return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;
}

static int64_t at(const matrix *x, int64_t i, int64_t row, int64_t column)
{
    return i * x->stride + row * x->row_step + column * x->column_step;
}

static int components(const lt_product *p) { return p->is_complex ? 2 : 1; }

/* True if a device could use the matrices; says on stderr which it could not. A batch lies before
 * its first matrix where the stride is negative. */
static bool is_usable(const lt_product *p, const char *name, const matrix *x)
{
    const int64_t last = p->batch - 1, step = x->stride < 0 ? -x->stride : x->stride;
    const double *first = x->data + (x->stride < 0 ? at(x, last, 0, 0) * components(p) : 0);
    const int64_t elements = last * step + at(x, 0, x->rows - 1, x->columns - 1) + 1;

    if (p->batch == 0 || x->rows == 0 || x->columns == 0 ||
        hostgpu_is_device_memory(first, (size_t)(elements * components(p)) * sizeof(double)))
        return true;
    fprintf(stderr, "tandem: host device: cublasLtMatmul: %s is not all in device memory\n", name);
    return false;
}

static number number_at(const lt_product *p, const double *x, bool is_conjugate)
{
    if (!p->is_complex) return (number){x[0], 0.0};
    return (number){x[0], is_conjugate ? -x[1] : x[1]};
}

static number element(const lt_product *p, const matrix *x, int64_t i, int64_t row, int64_t column)
{
    return number_at(p, x->data + at(x, i, row, column) * components(p), x->is_conjugate);
}

static bool is_zero(number x) { return x.re == 0.0 && x.im == 0.0; }

/* sum + x y */
static number add_product(const lt_product *p, number sum, number x, number y)
{
    if (!p->is_complex) return (number){sum.re + x.re * y.re, 0.0};
    return (number){sum.re + (x.re * y.re - x.im * y.im), sum.im + (x.re * y.im + x.im * y.re)};
}

static number sum_of(const lt_product *p, int64_t i, int64_t row, int64_t column)
{
    number sum = {0.0, 0.0};

    for (int64_t l = 0; l < p->a.columns; l++)
        sum = add_product(p, sum, element(p, &p->a, i, row, l), element(p, &p->b, i, l, column));
    return sum;
}

/* A scalar of a member: alpha (0) or beta (1). */
static number scalar_of(const lt_product *p, int which, int64_t member)
{
    const double *on_device = which ? p->beta : p->alpha;

    if (!on_device) return which ? p->beta_value : p->alpha_value;
    return number_at(p, on_device + member * p->scalar_stride[which] * components(p), false);
}

static number element_of_d(const lt_product *p, number alpha, number beta, int64_t member,
                           int64_t row, int64_t column)
{
    number d = {0.0, 0.0};

    if (!is_zero(alpha)) d = add_product(p, d, alpha, sum_of(p, member, row, column));
    if (!is_zero(beta)) d = add_product(p, d, beta, element(p, &p->c, member, row, column));
    return d;
}

static bool is_member_usable(const lt_product *p, int64_t i)
{
    return (is_zero(scalar_of(p, 0, i)) ||
            (is_usable(p, "A", &p->a) && is_usable(p, "B", &p->b))) &&
           (is_zero(scalar_of(p, 1, i)) || is_usable(p, "C", &p->c)) && is_usable(p, "D", &p->d);
}

static void multiply_member(const lt_product *p, int64_t i)
{
    const number alpha = scalar_of(p, 0, i), beta = scalar_of(p, 1, i);

    for (int64_t column = 0; column < p->d.columns; column++)
        for (int64_t row = 0; row < p->d.rows; row++) {
            const number d = element_of_d(p, alpha, beta, i, row, column);

            memcpy((double *)(uintptr_t)p->d.data + at(&p->d, i, row, column) * components(p), &d,
                   (size_t)components(p) * sizeof(double));
        }
}

static cudaError_t multiply(void *arguments)
{
    const lt_product *p = arguments;

    for (int64_t i = 0; i < p->batch; i++)
        if (!is_member_usable(p, i)) return cudaErrorIllegalAddress;
    for (int64_t i = 0; i < p->batch; i++) multiply_member(p, i);
    return cudaSuccess;
}

static cublasStatus_t set_scalars(const lt_operation *o, lt_product *p, const double *alpha,
                                  const double *beta)
{
    const bool on_device = o->pointer_mode == CUBLASLT_POINTER_MODE_DEVICE;
    const size_t bytes = (size_t)components(p) * sizeof(double);

    if (!alpha || !beta) return CUBLAS_STATUS_INVALID_VALUE;
    if (on_device &&
        (!hostgpu_is_device_memory(alpha, bytes) || !hostgpu_is_device_memory(beta, bytes)))
        return CUBLAS_STATUS_EXECUTION_FAILED;
    p->alpha = on_device ? alpha : NULL;
    p->beta = on_device ? beta : NULL;
    if (!on_device && (o->scalar_stride[0] || o->scalar_stride[1]))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    memcpy(p->scalar_stride, o->scalar_stride, sizeof p->scalar_stride);
    if (!on_device) {
        p->alpha_value = number_at(p, alpha, false);
        p->beta_value = number_at(p, beta, false);
    }
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
