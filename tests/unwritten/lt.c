/* lt.c - drawn calls of cublasLtMatmul: orders, operations, batches, C in place or elsewhere. */
#include <stdio.h>

#include "../preload/lt_complex.h"
#include "../preload/require.h"
#include "drawn.h"

enum { MEMBERS = 3, WORKSPACE = 1 << 20 };

static cublasLtHandle_t handle;
static cublasLtMatmulDesc_t operation;
static cublasLtMatrixLayout_t layouts[4]; /* of A, B, C and D */
static const void *operands[3];
static void *d, *workspace;
static double scalars[4];

void lt_begin(void) { REQUIRE(cublasLtCreate(&handle)); }

static int run(void)
{
    const int status = (int)cublasLtMatmul(
        handle, operation, scalars, operands[0], layouts[0], operands[1], layouts[1], scalars + 2,
        operands[2], layouts[2], d, layouts[3], NULL, workspace, WORKSPACE, drawn_stream);
    for (int i = 0; i < 4; i++) REQUIRE(cublasLtMatrixLayoutDestroy(layouts[i]));
    REQUIRE(cublasLtMatmulDescDestroy(operation));
    return status;
}

static void set(cublasLtMatmulDescAttributes_t which, int32_t value)
{
    REQUIRE(cublasLtMatmulDescSetAttribute(operation, which, &value, sizeof value));
}

/* A matrix that lies in rows is its transpose in columns. */
static matrix *place(test_random *r, bool is_complex, int rows, int columns, bool is_row,
                     int members, part in, part out, cublasLtMatrixLayout_t *layout)
{
    const int lines = is_row ? columns : rows, count = is_row ? rows : columns,
              ld = lines + random_int(r, 0, 4);
    const int64_t stride = (int64_t)ld * count + random_int(r, 0, 2);
    *layout =
        lt_layout(is_complex ? CUDA_C_64F : CUDA_R_64F, is_row, rows, columns, ld, members, stride);
    return add_matrix(r, is_complex ? COMPLEX : REAL, lines, count, ld, members, stride, in, out,
                      any_numbers(r));
}

static cublasOperation_t any_op(test_random *r)
{
    static const cublasOperation_t ops[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
    return ops[random_int(r, 0, 2)];
}

void lt_draw(test_random *r, drawn_call *call)
{
    const bool is_complex = random_int(r, 0, 1), beta_is_zero = random_int(r, 0, 1),
               is_in_place = random_int(r, 0, 1);
    const int m = any_size(r), n = any_size(r), k = any_size(r),
              members = random_int(r, 1, MEMBERS), orders = random_int(r, 0, 15);
    const cublasOperation_t op_a = any_op(r), op_b = any_op(r);
    const bool a_is_plain = op_a == CUBLAS_OP_N, b_is_plain = op_b == CUBLAS_OP_N;
    const part of_c = beta_is_zero ? NOTHING : ALL;
    REQUIRE(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_64F,
                                     is_complex ? CUDA_C_64F : CUDA_R_64F));
    set(CUBLASLT_MATMUL_DESC_TRANSA, (int32_t)op_a);
    set(CUBLASLT_MATMUL_DESC_TRANSB, (int32_t)op_b);
    operands[0] = place(r, is_complex, a_is_plain ? m : k, a_is_plain ? k : m, orders & 1, members,
                        ALL, NOTHING, &layouts[0])
                      ->at;
    operands[1] = place(r, is_complex, b_is_plain ? k : n, b_is_plain ? n : k, orders & 2, members,
                        ALL, NOTHING, &layouts[1])
                      ->at;
    matrix *const of_d = place(r, is_complex, m, n, orders & 4, members,
                               is_in_place ? of_c : NOTHING, ALL, &layouts[3]);
    d = of_d->at;
    if (is_in_place) {
        operands[2] = d;
        layouts[2] = lt_layout(is_complex ? CUDA_C_64F : CUDA_R_64F, orders & 4, m, n, of_d->ld,
                               members, of_d->stride);
    } else {
        operands[2] =
            place(r, is_complex, m, n, orders & 8, members, of_c, NOTHING, &layouts[2])->at;
    }
    scalars[0] = random_uniform(r);
    scalars[1] = is_complex ? random_uniform(r) : 0.0;
    scalars[2] = beta_is_zero ? 0.0 : random_uniform(r);
    scalars[3] = 0.0;
    workspace = add_work(WORKSPACE);
    call->run = run;
    snprintf(call->text, sizeof call->text,
             "LtMatmul %s m %d n %d k %d ops %d %d orders %d members %d beta 0 %d in place %d",
             is_complex ? "complex" : "real", m, n, k, (int)op_a, (int)op_b, orders, members,
             beta_is_zero, is_in_place);
}
