/* client_orders.c - a program that makes the same products by cublasLtMatmul with A, B, C and D in
 * rows or in columns, in all sixteen ways, and by cublasDgemm or cublasZgemm. A line for each
 * product:
 *
 *   NAME ; WHAT
 *
 * WHAT: `same` if all have the same bits, else in which orders of ABCD (r, c) they differ.
 *
 * usage: client_orders [TURN]    makes products TURN, TURN + 5 and TURN + 10 alone; TURN: 0 to 4 */
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/random.h"
#include "require.h"

enum { ORDERS = 16, MOST = 1 << 15 };

/* One product of `members` matrices. Operations are cuBLAS's. */
typedef struct {
    bool is_complex, is_wide, is_in_place;
    int op_a, op_b, m, n, k, members;
} product;

/* How a matrix lies in memory: its rows and columns as stored, before any operation. */
typedef struct {
    int rows, columns, ld, stride;
    bool in_rows;
} place;

static cublasHandle_t handle;
static cublasLtHandle_t lt;
static double *device[5]; /* A, B, C, D, scalars */

static int parts_of(const product *p) { return p->is_complex ? 2 : 1; }

/* ---- data ---- */

/* From -1 to 1, another one for each place. */
static double noise(uint64_t seed)
{
    test_random r = random_start((seed - 1) * 0x9e3779b97f4a7c15u + 1);
    return ldexp((double)(int64_t)random_bits(&r), -63);
}

/* A part of element (row, column) of matrix `which`, whose terms of the product are its rows or its
 * columns. If they are wide, each term has an exponent of its own: odd sums and differences of
 * those of A and B, and line 3 loses its bits to the others. */
static double value(const product *p, int which, int member, int row, int column, int part)
{
    const bool is_line = which == 0 ? p->op_a == CUBLAS_OP_N : p->op_b != CUBLAS_OP_N;
    const int term = is_line ? column : row, line = is_line ? row : column,
              seed = (((which * 8 + member) * 256 + row) * 256 + column) * 2 + part;
    const double x = noise((uint64_t)seed);
    if (which > 1 || !p->is_wide) return x;
    return ldexp(x, (which == 0 ? 7 : -4) * (term % 11 - 5) - (line == 3 ? 40 * (term % 2) : 0));
}

static place place_of(int rows, int columns, bool in_rows, int pad)
{
    const int ld = (in_rows ? columns : rows) + pad;
    return (place){rows, columns, ld, ld * (in_rows ? rows : columns) + 1, in_rows};
}

static int index_of(const place *x, int member, int row, int column)
{
    return member * x->stride + (x->in_rows ? row * x->ld + column : row + column * x->ld);
}

/* NaN is beside the elements, and in all of D but where it is C. */
static void fill(const product *p, int which, const place *x, bool is_poison)
{
    static double host[MOST];
    const int parts = parts_of(p);
    for (int e = 0; e < MOST; e++) host[e] = NAN;
    REQUIRE(x->stride * p->members * parts > MOST);
    for (int z = 0; z < p->members && !is_poison; z++)
        for (int i = 0; i < x->rows; i++)
            for (int j = 0; j < x->columns; j++)
                for (int part = 0; part < parts; part++)
                    host[index_of(x, z, i, j) * parts + part] =
                        value(p, which == 3 ? 2 : which, z, i, j, part);
    REQUIRE(cudaMemcpy(device[which], host, sizeof host, cudaMemcpyHostToDevice));
}

/* ---- calls ---- */

static cublasLtMatrixLayout_t layout_of(const product *p, const place *x)
{
    cublasLtMatrixLayout_t l;
    const int32_t order = x->in_rows ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL,
                  members = p->members;
    const int64_t stride = x->stride;
    REQUIRE(cublasLtMatrixLayoutCreate(&l, p->is_complex ? CUDA_C_64F : CUDA_R_64F,
                                       (uint64_t)x->rows, (uint64_t)x->columns, x->ld));
    REQUIRE(
        cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order));
    REQUIRE(cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &members,
                                             sizeof members));
    REQUIRE(cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                             &stride, sizeof stride));
    return l;
}

static void multiply_by_lt(const product *p, const place x[4], const double *scalars)
{
    cublasLtMatrixLayout_t l[4];
    cublasLtMatmulDesc_t operation;
    const int32_t ops[] = {p->op_a, p->op_b};
    for (int i = 0; i < 4; i++) l[i] = layout_of(p, &x[i]);
    REQUIRE(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_64F,
                                     p->is_complex ? CUDA_C_64F : CUDA_R_64F));
    REQUIRE(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &ops[0],
                                           sizeof ops[0]));
    REQUIRE(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSB, &ops[1],
                                           sizeof ops[1]));
    REQUIRE(cublasLtMatmul(lt, operation, scalars, device[0], l[0], device[1], l[1], scalars + 2,
                           p->is_in_place ? device[3] : device[2], l[2], device[3], l[3], NULL,
                           NULL, 0, NULL));
    for (int i = 0; i < 4; i++) REQUIRE(cublasLtMatrixLayoutDestroy(l[i]));
    REQUIRE(cublasLtMatmulDescDestroy(operation));
}

/* In place; D is in columns, as are the others. */
static void multiply_by_cublas(const product *p, const place x[4], const double *scalars)
{
    const cublasOperation_t a = (cublasOperation_t)p->op_a, b = (cublasOperation_t)p->op_b;
    if (p->is_complex)
        REQUIRE(cublasZgemmStridedBatched(
            handle, a, b, p->m, p->n, p->k, (const cuDoubleComplex *)scalars,
            (const cuDoubleComplex *)device[0], x[0].ld, x[0].stride,
            (const cuDoubleComplex *)device[1], x[1].ld, x[1].stride,
            (const cuDoubleComplex *)(scalars + 2), (cuDoubleComplex *)device[3], x[3].ld,
            x[3].stride, p->members));
    else
        REQUIRE(cublasDgemmStridedBatched(
            handle, a, b, p->m, p->n, p->k, scalars, device[0], x[0].ld, x[0].stride, device[1],
            x[1].ld, x[1].stride, scalars + 2, device[3], x[3].ld, x[3].stride, p->members));
}

/* The elements of D, whatever their order in memory. */
static void download(const product *p, const place *d, double *elements)
{
    static double host[MOST];
    const int parts = parts_of(p);
    REQUIRE(cudaDeviceSynchronize());
    REQUIRE(cudaMemcpy(host, device[3], sizeof host, cudaMemcpyDeviceToHost));
    for (int z = 0; z < p->members; z++)
        for (int i = 0; i < d->rows; i++)
            for (int j = 0; j < d->columns; j++, elements += parts)
                memcpy(elements, host + index_of(d, z, i, j) * parts, (size_t)parts * sizeof *host);
}

/* D by matrices in these orders, a bit each; -1: by cuBLAS. */
static void compute(const product *p, int orders, double *elements)
{
    const bool is_by_cublas = orders < 0, turns_a = p->op_a != CUBLAS_OP_N,
               turns_b = p->op_b != CUBLAS_OP_N;
    const double scalars[] = {0.75, p->is_complex && p->is_wide ? -1.25 : 0.0, -0.5, 0.0};
    product own = *p;
    if (is_by_cublas) orders = 0;
    own.is_in_place = is_by_cublas || (p->is_in_place && (orders >> 2 & 1) == (orders >> 3 & 1));
    const int pad_c = own.is_in_place ? 3 : 4;
    const place x[] = {
        place_of(turns_a ? p->k : p->m, turns_a ? p->m : p->k, orders & 1, 1),
        place_of(turns_b ? p->n : p->k, turns_b ? p->k : p->n, orders & 2, 2),
        place_of(p->m, p->n, orders & 4, pad_c),
        place_of(p->m, p->n, orders & 8, 3),
    };
    for (int i = 0; i < 4; i++) fill(p, i, &x[i], i == 3 && !own.is_in_place);
    (is_by_cublas ? multiply_by_cublas : multiply_by_lt)(&own, x, scalars);
    download(p, &x[3], elements);
}

static void run(const product *p)
{
    static const char letters[] = "NTC";
    static double want[MOST], got[MOST];
    char differs[ORDERS * 6 + 1] = "";
    memset(want, 0, sizeof want);
    memset(got, 0, sizeof got);
    compute(p, -1, want);
    for (int orders = 0; orders < ORDERS; orders++) {
        compute(p, orders, got);
        if (memcmp(want, got, sizeof want) == 0) continue;
        char text[8] = " ";
        for (int i = 0; i < 4; i++) text[i + 1] = orders >> i & 1 ? 'r' : 'c';
        strcat(differs, text);
    }
    printf("%s %c%c %d x %d x %d, %d%s%s ; %s\n", p->is_complex ? "complex" : "real",
           letters[p->op_a], letters[p->op_b], p->m, p->n, p->k, p->members,
           p->is_wide ? ", wide" : "", p->is_in_place ? ", in place" : "",
           differs[0] ? differs + 1 : "same");
}

int main(int count, char **arguments)
{
    static const int sizes[][3] = {{37, 22, 50}, {5, 70, 33}, {1, 1, 3}};
    REQUIRE(cublasCreate(&handle));
    REQUIRE(cublasLtCreate(&lt));
    for (int i = 0; i < 4; i++) REQUIRE(cudaMalloc((void **)&device[i], MOST * sizeof(double)));
    const int first = count > 1 ? atoi(arguments[1]) : 0, step = count > 1 ? 5 : 1;
    for (int i = first; i < 4 + 9; i += step) {
        const bool is_complex = i >= 4;
        const int op_a = is_complex ? (i - 4) % 3 : i % 2, op_b = is_complex ? (i - 4) / 3 : i / 2;
        const int *size = sizes[i % 3];
        run(&(product){.is_complex = is_complex,
                       .is_wide = i % 2,
                       .is_in_place = i % 4 < 2,
                       .op_a = op_a,
                       .op_b = op_b,
                       .m = size[0],
                       .n = size[1],
                       .k = size[2],
                       .members = 1 + i % 2});
    }
    return 0;
}
