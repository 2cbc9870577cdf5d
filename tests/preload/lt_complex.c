#include "lt_complex.h"

#include <cuComplex.h>
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "require.h"

typedef cuDoubleComplex number;

enum { M = 9, N = 7, K = 11, MEMBERS = 2, MOST_LD = 24, SIZE = MOST_LD * MOST_LD };

/* A matrix as a layout has it, members SIZE apart, on host and device. */
typedef struct {
    int rows, columns, ld, op;
    bool is_row;
    number host[MEMBERS * SIZE], *device;
} matrix;

typedef struct {
    matrix a, b, c, d;
    number scalars[2], *device_scalars;
    bool on_device;
    int members;
} call;

static int place_of(const matrix *x, int row, int column)
{
    return x->is_row ? row * x->ld + column : row + column * x->ld;
}

/* Element (row, column) of op(X). */
static number element(const matrix *x, int member, int row, int column)
{
    const int place = x->op == CUBLAS_OP_N ? place_of(x, row, column) : place_of(x, column, row);
    number e = x->host[member * SIZE + place];
    if (x->op == CUBLAS_OP_C) e.y = -e.y;
    return e;
}

/* op(X) has so many rows and columns; NaN is beside it. */
static void make_matrix(matrix *x, int rows, int columns, int op, bool is_row, int pad)
{
    x->op = op;
    x->is_row = is_row;
    x->rows = op == CUBLAS_OP_N ? rows : columns;
    x->columns = op == CUBLAS_OP_N ? columns : rows;
    x->ld = (is_row ? x->columns : x->rows) + pad;
    for (int e = 0; e < MEMBERS * SIZE; e++) x->host[e] = make_cuDoubleComplex(NAN, NAN);
    for (int z = 0; z < MEMBERS; z++)
        for (int i = 0; i < x->rows; i++)
            for (int j = 0; j < x->columns; j++)
                x->host[z * SIZE + place_of(x, i, j)] =
                    make_cuDoubleComplex(sin(1.3 * i + 2.1 * j + z + pad), cos(i - 1.7 * j + pad));
    REQUIRE(cudaMalloc((void **)&x->device, sizeof x->host));
    REQUIRE(cudaMemcpy(x->device, x->host, sizeof x->host, cudaMemcpyHostToDevice));
}

cublasLtMatrixLayout_t lt_layout(cudaDataType type, bool is_row, int64_t rows, int64_t columns,
                                 int64_t ld, int32_t members, int64_t stride)
{
    cublasLtMatrixLayout_t layout;
    const int32_t order = is_row ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL;
    REQUIRE(cublasLtMatrixLayoutCreate(&layout, type, (uint64_t)rows, (uint64_t)columns, ld));
    REQUIRE(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, &order,
                                             sizeof order));
    REQUIRE(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &members,
                                             sizeof members));
    REQUIRE(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                             &stride, sizeof stride));
    return layout;
}

static cublasLtMatrixLayout_t layout_of(const matrix *x, int32_t members)
{
    return lt_layout(CUDA_C_64F, x->is_row, x->rows, x->columns, x->ld, members, SIZE);
}

static void set(cublasLtMatmulDesc_t of, cublasLtMatmulDescAttributes_t which, int32_t value)
{
    REQUIRE(cublasLtMatmulDescSetAttribute(of, which, &value, sizeof value));
}

static int multiply(const call *x, cublasLtHandle_t handle, __typeof__(&cublasLtMatmul) matmul)
{
    const matrix *c = x->c.device ? &x->c : &x->d;
    const cublasLtMatrixLayout_t l[] = {layout_of(&x->a, x->members), layout_of(&x->b, x->members),
                                        layout_of(c, x->members), layout_of(&x->d, x->members)};
    const number *scalars = x->on_device ? x->device_scalars : x->scalars;
    cublasLtMatmulDesc_t operation;
    REQUIRE(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_64F, CUDA_C_64F));
    set(operation, CUBLASLT_MATMUL_DESC_TRANSA, x->a.op);
    set(operation, CUBLASLT_MATMUL_DESC_TRANSB, x->b.op);
    set(operation, CUBLASLT_MATMUL_DESC_POINTER_MODE,
        x->on_device ? CUBLASLT_POINTER_MODE_DEVICE : CUBLASLT_POINTER_MODE_HOST);
    const int status =
        (int)matmul(handle, operation, scalars, x->a.device, l[0], x->b.device, l[1], scalars + 1,
                    c->device, l[2], x->d.device, l[3], NULL, NULL, 0, NULL);
    for (int i = 0; i < 4; i++) REQUIRE(cublasLtMatrixLayoutDestroy(l[i]));
    REQUIRE(cublasLtMatmulDescDestroy(operation));
    return status;
}

/* to + x y */
static number add_product(number to, number x, number y)
{
    return make_cuDoubleComplex(to.x + (x.x * y.x - x.y * y.y), to.y + (x.x * y.y + x.y * y.x));
}

static bool is_near(number x, number y)
{
    return fabs(x.x - y.x) <= 0x1p-36 && fabs(x.y - y.y) <= 0x1p-36;
}

/* D is as it is now, what was in it or in C is in x. */
static bool is_right(const call *x, const number *now)
{
    const matrix *c = x->c.device ? &x->c : &x->d;
    for (int z = 0; z < x->members; z++)
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                number sum = {0.0, 0.0}, want = {0.0, 0.0};
                for (int l = 0; l < K; l++)
                    sum = add_product(sum, element(&x->a, z, i, l), element(&x->b, z, l, j));
                want = add_product(want, x->scalars[0], sum);
                if (x->scalars[1].x != 0.0 || x->scalars[1].y != 0.0)
                    want = add_product(want, x->scalars[1], element(c, z, i, j));
                if (!is_near(now[z * SIZE + place_of(&x->d, i, j)], want)) return false;
            }
    return true;
}

static const char *describe(const call *x)
{
    static number now[MEMBERS * SIZE];
    REQUIRE(cudaDeviceSynchronize());
    REQUIRE(cudaMemcpy(now, x->d.device, sizeof now, cudaMemcpyDeviceToHost));
    for (int e = 0; e < MEMBERS * SIZE; e++) {
        const int line = e % SIZE % x->d.ld, other = e % SIZE / x->d.ld;
        const bool is_inside =
            e / SIZE < x->members && line < (x->d.is_row ? N : M) && other < (x->d.is_row ? M : N);
        if (!is_inside && memcmp(&now[e], &x->d.host[e], sizeof now[e]) != 0) return "damaged";
    }
    return is_right(x, now) ? "right" : "wrong";
}

static void run(call *x, const char *name, cublasLtHandle_t handle,
                __typeof__(&cublasLtMatmul) matmul)
{
    REQUIRE(cudaMalloc((void **)&x->device_scalars, sizeof x->scalars));
    REQUIRE(cudaMemcpy(x->device_scalars, x->scalars, sizeof x->scalars, cudaMemcpyHostToDevice));
    const int status = multiply(x, handle, matmul);
    printf("%s ; status %d ; %s\n", name, status, status ? "refused" : describe(x));
    void *const memory[] = {x->a.device, x->b.device, x->c.device, x->d.device, x->device_scalars};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) REQUIRE(cudaFree(memory[i]));
}

void multiply_complex(cublasLtHandle_t handle, __typeof__(&cublasLtMatmul) matmul)
{
    static const char letters[] = "NTC";
    static call x;
    for (int i = 0; i < 8 * 9; i++) {
        const bool is_row_a = i & 1, is_row_b = i & 2, is_row_d = i & 4;
        const int op_a = i / 8 % 3, op_b = i / 24;
        const bool is_conjugate = (op_a == CUBLAS_OP_C && is_row_a != is_row_d) ||
                                  (op_b == CUBLAS_OP_C && is_row_b != is_row_d);
        char name[100];
        memset(&x, 0, sizeof x);
        x.members = i % 5 ? 1 : MEMBERS;
        x.on_device = i % 2;
        x.scalars[0] = make_cuDoubleComplex(0.5, i % 4 ? -1.25 : 0.0);
        if (i % 3) x.scalars[1] = make_cuDoubleComplex(-0.75, i % 4 ? 0.5 : 0.0);
        make_matrix(&x.a, M, K, op_a, is_row_a, 1);
        make_matrix(&x.b, K, N, op_b, is_row_b, 2);
        make_matrix(&x.d, M, N, CUBLAS_OP_N, is_row_d, 3);
        if (i % 3 == 2) make_matrix(&x.c, M, N, CUBLAS_OP_N, is_row_d != (i / 8 % 2), 4);
        snprintf(name, sizeof name, "complex %s of %c%c%c %c%c, %d, C %s, scalars on the %s",
                 is_conjugate ? "conjugate" : "product", is_row_a ? 'r' : 'c', is_row_b ? 'r' : 'c',
                 is_row_d ? 'r' : 'c', letters[op_a], letters[op_b], x.members,
                 i % 3 == 0   ? "nowhere"
                 : i % 3 == 1 ? "in place"
                              : "elsewhere",
                 x.on_device ? "device" : "host");
        run(&x, name, handle, matmul);
    }
}
