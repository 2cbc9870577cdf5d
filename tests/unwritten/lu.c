/* lu.c - drawn calls of cuBLAS's batches of small systems: LU factors, solutions, inverses. */
#include <cublas_v2.h>
#include <stdio.h>
#include <string.h>

#include "../preload/require.h"
#include "drawn.h"

enum { MOST_MEMBERS = 5 };
enum { GETRF, GETRI, GETRS, MATINV, TRSM, ROUTINES };

static struct {
    element_type type;
    int n, columns, members, host_info;
    matrix *a, *c, *pivots, *info;
    bool has_pivots;
    cublasOperation_t op;
    cublasSideMode_t side;
    cublasFillMode_t fill;
    cublasDiagType_t diag;
} x;

static const double one[2] = {1.0, 0.0};
static const float single_one[2] = {1.0F, 0.0F};

/* A function of the four types; `number` is that of its elements. */
#define CALL(function)                                                                             \
    (x.type == SINGLE    ? function(S, float)                                                      \
     : x.type == REAL    ? function(D, double)                                                     \
     : x.type == COMPLEX ? function(Z, cuDoubleComplex)                                            \
                         : function(C, cuComplex))
#define MATRIX(number, m) (number *const *)(m)->array, (m)->ld
#define INPUT(number, m)  (const number *const *)(m)->array, (m)->ld
#define PIVOTS            (x.has_pivots ? (int *)(void *)x.pivots->at : NULL)
#define INFO              (int *)(void *)x.info->at
#define CALL_GETRF(letter, number)                                                                 \
    cublas##letter##getrfBatched(blas_handle, x.n, MATRIX(number, x.a), PIVOTS, INFO, x.members)
#define CALL_GETRI(letter, number)                                                                 \
    cublas##letter##getriBatched(blas_handle, x.n, INPUT(number, x.a), PIVOTS,                     \
                                 MATRIX(number, x.c), INFO, x.members)
#define CALL_GETRS(letter, number)                                                                 \
    cublas##letter##getrsBatched(blas_handle, x.op, x.n, x.columns, INPUT(number, x.a), PIVOTS,    \
                                 MATRIX(number, x.c), &x.host_info, x.members)
#define CALL_MATINV(letter, number)                                                                \
    cublas##letter##matinvBatched(blas_handle, x.n, INPUT(number, x.a), MATRIX(number, x.c), INFO, \
                                  x.members)
#define CALL_TRSM(letter, number)                                                                  \
    cublas##letter##trsmBatched(                                                                   \
        blas_handle, x.side, x.fill, x.op, x.diag, x.c->rows, x.c->columns,                        \
        (const number *)(x.type == SINGLE || x.type == SINGLE_COMPLEX ? (const void *)single_one   \
                                                                      : one),                      \
        INPUT(number, x.a), MATRIX(number, x.c), x.members)

static int run_getrf(void) { return (int)CALL(CALL_GETRF); }
static int run_getri(void) { return (int)CALL(CALL_GETRI); }
static int run_getrs(void) { return (int)CALL(CALL_GETRS); }
static int run_matinv(void) { return (int)CALL(CALL_MATINV); }
static int run_trsm(void) { return (int)CALL(CALL_TRSM); }

/* Of all members. */
static matrix *add(test_random *r, int rows, int columns, part in, part out, bool is_small)
{
    numbers of = any_numbers(r);
    const int ld = rows + random_int(r, 0, 3);
    of.is_small = is_small;
    return add_matrix(r, x.type, rows, columns, ld, x.members,
                      (int64_t)ld * columns + random_int(r, 0, 2), in, out, of);
}

/* Factors and pivots, as getrfBatched leaves them. */
static void factor(void)
{
    if (CALL(CALL_GETRF) != CUBLAS_STATUS_SUCCESS) return;
    REQUIRE(cudaStreamSynchronize(drawn_stream));
}

/* Matrices that a call before this one has written are what they are now. */
static void keep_results(void)
{
    REQUIRE(cudaMemcpy(x.a->before, x.a->memory, x.a->bytes, cudaMemcpyDeviceToHost));
    REQUIRE(
        cudaMemcpy(x.pivots->before, x.pivots->memory, x.pivots->bytes, cudaMemcpyDeviceToHost));
    REQUIRE(cudaMemcpy(x.info->before, x.info->memory, x.info->bytes, cudaMemcpyDeviceToHost));
    x.pivots->out = NOTHING;
}

static void draw_triangular(test_random *r)
{
    x.side = random_int(r, 0, 1) ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT;
    x.fill = random_int(r, 0, 1) ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
    x.diag = random_int(r, 0, 1) ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
    const bool is_left = x.side == CUBLAS_SIDE_LEFT;
    x.a = add(r, x.n, x.n, triangle_of(x.fill), NOTHING, true);
    x.c = add(r, is_left ? x.n : x.columns, is_left ? x.columns : x.n, ALL, ALL, false);
}

static void draw_lu(test_random *r, int what)
{
    x.a = add(r, x.n, x.n, ALL, what == GETRF ? ALL : NOTHING, random_int(r, 0, 2) != 0);
    x.has_pivots = what == MATINV || random_int(r, 0, 3) != 0;
    x.pivots = add_result(r, INTEGER, x.n * x.members);
    if (!x.has_pivots || what == MATINV) x.pivots->out = NOTHING;
    x.info = add_result(r, INTEGER, x.members);
    if (what == GETRI || what == GETRS) {
        factor();
        keep_results();
    }
    if (what == GETRS) x.info->out = NOTHING;
    /* Of a singular member the inverse may stay unwritten. */
    if (what == GETRI || what == MATINV) x.c = add(r, x.n, x.n, ALL, ALL, false);
    if (what == GETRS) x.c = add(r, x.n, x.columns, ALL, ALL, false);
}

void lu_draw(test_random *r, drawn_call *call)
{
    static int (*const runs[ROUTINES])(void) = {[GETRF] = run_getrf,
                                                [GETRI] = run_getri,
                                                [GETRS] = run_getrs,
                                                [MATINV] = run_matinv,
                                                [TRSM] = run_trsm};
    static const char *const names[ROUTINES] = {"getrf", "getri", "getrs", "matinv", "trsm"};
    static const cublasOperation_t ops[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
    const int what = random_int(r, 0, ROUTINES - 1), most = drawn_side < 200 ? drawn_side : 200;
    memset(&x, 0, sizeof x);
    x.type = (element_type)random_int(r, SINGLE, COMPLEX);
    x.n = random_int(r, 1, what == MATINV ? 32 : random_int(r, 0, 1) ? most : 20);
    x.columns = random_int(r, 1, 20);
    x.members = random_int(r, 1, MOST_MEMBERS);
    x.op = ops[random_int(r, 0, 2)];
    if (what == TRSM)
        draw_triangular(r);
    else
        draw_lu(r, what);
    REQUIRE(cublasSetPointerMode(blas_handle, CUBLAS_POINTER_MODE_HOST));
    call->run = runs[what];
    snprintf(call->text, sizeof call->text,
             "%c%sBatched n %d columns %d members %d pivots %d op %d side %d fill %d diag %d",
             "SDCZ"[x.type], names[what], x.n, x.columns, x.members, x.has_pivots, (int)x.op,
             (int)x.side, (int)x.fill, (int)x.diag);
}
