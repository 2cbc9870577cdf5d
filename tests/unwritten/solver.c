/* solver.c - drawn calls of cuSOLVER: factors, solutions, inverses, and eigenvalues. */
#include <cusolverDn.h>
#include <stdio.h>
#include <string.h>

#include "../preload/require.h"
#include "drawn.h"

enum { GETRF, GETRS, POTRF, POTRS, POTRI, GEQRF, ORGQR, ORMQR, SYEVD, ROUTINES };

static cusolverDnHandle_t handle;
static struct {
    bool is_complex, has_pivots;
    int m, n, k;
    matrix *a, *c, *pivots, *tau, *info, *values;
    cublasFillMode_t fill;
    cublasOperation_t op;
    cublasSideMode_t side;
    cusolverEigMode_t job;
    void *work;
    int elements; /* of work */
} x;

void solver_begin(void)
{
    REQUIRE(cusolverDnCreate(&handle));
    REQUIRE(cusolverDnSetStream(handle, drawn_stream));
}

#define AT(number, operand) ((number *)(void *)(operand)->at)
#define INFO                AT(int, x.info)
/* The functions of the two types; `number` is that of their elements. */
#define CALL(function)                                                                             \
    ((int)(x.is_complex ? function(Z, un, cuDoubleComplex) : function(D, or, double)))
#define SYMMETRIC(function)                                                                        \
    ((int)(x.is_complex ? function(Zhe, cuDoubleComplex) : function(Dsy, double)))

#define GETRF_SIZE(l, q, number)                                                                   \
    cusolverDn##l##getrf_bufferSize(handle, x.m, x.n, AT(number, x.a), x.a->ld, &x.elements)
#define CALL_GETRF(l, q, number)                                                                   \
    cusolverDn##l##getrf(handle, x.m, x.n, AT(number, x.a), x.a->ld, x.work,                       \
                         x.has_pivots ? AT(int, x.pivots) : NULL, INFO)
#define CALL_GETRS(l, q, number)                                                                   \
    cusolverDn##l##getrs(handle, x.op, x.n, x.k, AT(number, x.a), x.a->ld,                         \
                         x.has_pivots ? AT(int, x.pivots) : NULL, AT(number, x.c), x.c->ld, INFO)
#define POTRF_SIZE(l, q, number)                                                                   \
    cusolverDn##l##potrf_bufferSize(handle, x.fill, x.n, AT(number, x.a), x.a->ld, &x.elements)
#define CALL_POTRF(l, q, number)                                                                   \
    cusolverDn##l##potrf(handle, x.fill, x.n, AT(number, x.a), x.a->ld, x.work, x.elements, INFO)
#define CALL_POTRS(l, q, number)                                                                   \
    cusolverDn##l##potrs(handle, x.fill, x.n, x.k, AT(number, x.a), x.a->ld, AT(number, x.c),      \
                         x.c->ld, INFO)
#define POTRI_SIZE(l, q, number)                                                                   \
    cusolverDn##l##potri_bufferSize(handle, x.fill, x.n, AT(number, x.a), x.a->ld, &x.elements)
#define CALL_POTRI(l, q, number)                                                                   \
    cusolverDn##l##potri(handle, x.fill, x.n, AT(number, x.a), x.a->ld, x.work, x.elements, INFO)
#define GEQRF_SIZE(l, q, number)                                                                   \
    cusolverDn##l##geqrf_bufferSize(handle, x.m, x.n, AT(number, x.a), x.a->ld, &x.elements)
#define CALL_GEQRF(l, q, number)                                                                   \
    cusolverDn##l##geqrf(handle, x.m, x.n, AT(number, x.a), x.a->ld, AT(number, x.tau), x.work,    \
                         x.elements, INFO)
#define ORGQR_SIZE(l, q, number)                                                                   \
    cusolverDn##l##q##gqr_bufferSize(handle, x.m, x.n, x.k, AT(number, x.a), x.a->ld,              \
                                     AT(number, x.tau), &x.elements)
#define CALL_ORGQR(l, q, number)                                                                   \
    cusolverDn##l##q##gqr(handle, x.m, x.n, x.k, AT(number, x.a), x.a->ld, AT(number, x.tau),      \
                          x.work, x.elements, INFO)
#define ORMQR_SIZE(l, q, number)                                                                   \
    cusolverDn##l##q##mqr_bufferSize(handle, x.side, x.op, x.c->rows, x.c->columns, x.k,           \
                                     AT(number, x.a), x.a->ld, AT(number, x.tau), AT(number, x.c), \
                                     x.c->ld, &x.elements)
#define CALL_ORMQR(l, q, number)                                                                   \
    cusolverDn##l##q##mqr(handle, x.side, x.op, x.c->rows, x.c->columns, x.k, AT(number, x.a),     \
                          x.a->ld, AT(number, x.tau), AT(number, x.c), x.c->ld, x.work,            \
                          x.elements, INFO)
#define SYEVD_SIZE(l, number)                                                                      \
    cusolverDn##l##evd_bufferSize(handle, x.job, x.fill, x.n, AT(number, x.a), x.a->ld,            \
                                  AT(double, x.values), &x.elements)
#define CALL_SYEVD(l, number)                                                                      \
    cusolverDn##l##evd(handle, x.job, x.fill, x.n, AT(number, x.a), x.a->ld, AT(double, x.values), \
                       x.work, x.elements, INFO)

static void make_work(void)
{
    x.work = add_work(((size_t)x.elements + 1) * (x.is_complex ? 16 : 8));
}

static int run_getrf(void) { return CALL(CALL_GETRF); }
static int run_getrs(void) { return CALL(CALL_GETRS); }
static int run_potrf(void) { return CALL(CALL_POTRF); }
static int run_potrs(void) { return CALL(CALL_POTRS); }
static int run_potri(void) { return CALL(CALL_POTRI); }
static int run_geqrf(void) { return CALL(CALL_GEQRF); }
static int run_orgqr(void) { return CALL(CALL_ORGQR); }
static int run_ormqr(void) { return CALL(CALL_ORMQR); }
static int run_syevd(void) { return SYMMETRIC(CALL_SYEVD); }

static matrix *add(test_random *r, int rows, int columns, part in, part out, bool is_small)
{
    numbers of = any_numbers(r);
    of.is_small = is_small;
    return add_any(r, x.is_complex ? COMPLEX : REAL, rows, columns, in, out, of);
}

/* What a call before the drawn one has written is what its matrix was. */
static void keep(matrix *of, part out)
{
    REQUIRE(cudaStreamSynchronize(drawn_stream));
    REQUIRE(cudaMemcpy(of->before, of->memory, of->bytes, cudaMemcpyDeviceToHost));
    of->out = out;
}

static void draw_lu(test_random *r, int what)
{
    x.m = what == GETRF && random_int(r, 0, 1) ? any_size(r) : x.n;
    x.has_pivots = random_int(r, 0, 3) != 0;
    x.a = add(r, x.m, x.n, ALL, ALL, !x.has_pivots || random_int(r, 0, 1));
    x.pivots = add_result(r, INTEGER, x.m < x.n ? x.m : x.n);
    if (!x.has_pivots) x.pivots->out = NOTHING;
    REQUIRE(CALL(GETRF_SIZE));
    make_work();
    if (what == GETRF) return;
    REQUIRE(CALL(CALL_GETRF));
    keep(x.a, NOTHING);
    keep(x.pivots, NOTHING);
    x.c = add(r, x.n, x.k, ALL, ALL, false);
}

static void draw_cholesky(test_random *r, int what)
{
    const part triangle = triangle_of(x.fill);
    x.a = add(r, x.n, x.n, triangle, triangle, random_int(r, 0, 5) != 0);
    REQUIRE(CALL(POTRF_SIZE));
    make_work();
    if (what == POTRF) return;
    REQUIRE(CALL(CALL_POTRF));
    keep(x.a, what == POTRI ? triangle : NOTHING);
    if (what == POTRS) x.c = add(r, x.n, x.k, ALL, ALL, false);
    if (what == POTRI) {
        REQUIRE(CALL(POTRI_SIZE));
        make_work();
    }
}

static void draw_qr(test_random *r, int what)
{
    x.m = any_size(r);
    if (what != GEQRF && x.m < x.n) x.n = x.m;
    x.k = what == GEQRF ? 0 : random_int(r, 1, x.n);
    x.a = add(r, x.m, x.n, ALL, ALL, false);
    x.tau = add_matrix(r, x.is_complex ? COMPLEX : REAL, x.m < x.n ? x.m : x.n, 1, x.m, 1, 0,
                       NOTHING, ALL, (numbers){0});
    REQUIRE(CALL(GEQRF_SIZE));
    make_work();
    if (what == GEQRF) return;
    REQUIRE(CALL(CALL_GEQRF));
    keep(x.a, what == ORGQR ? ALL : NOTHING);
    keep(x.tau, NOTHING);
    if (what == ORMQR) {
        const bool is_left = x.side == CUBLAS_SIDE_LEFT;
        if (x.op != CUBLAS_OP_N) x.op = x.is_complex ? CUBLAS_OP_C : CUBLAS_OP_T;
        x.c = add(r, is_left ? x.m : any_size(r), is_left ? any_size(r) : x.m, ALL, ALL, false);
        REQUIRE(CALL(ORMQR_SIZE));
    } else {
        REQUIRE(CALL(ORGQR_SIZE));
    }
    make_work();
}

static void draw_eigen(test_random *r)
{
    x.job = random_int(r, 0, 2) ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR;
    x.a = add(r, x.n, x.n, triangle_of(x.fill), ALL, false);
    x.a->is_spoilt = x.job == CUSOLVER_EIG_MODE_NOVECTOR;
    x.values = add_matrix(r, REAL, x.n, 1, x.n, 1, 0, NOTHING, ALL, (numbers){0});
    REQUIRE(SYMMETRIC(SYEVD_SIZE));
    make_work();
}

void solver_draw(test_random *r, drawn_call *call)
{
    static int (*const runs[ROUTINES])(void) = {run_getrf, run_getrs, run_potrf,
                                                run_potrs, run_potri, run_geqrf,
                                                run_orgqr, run_ormqr, run_syevd};
    static const char *const names[ROUTINES] = {"getrf", "getrs", "potrf", "potrs", "potri",
                                                "geqrf", "orgqr", "ormqr", "syevd"};
    static const cublasOperation_t ops[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
    const int what = random_int(r, 0, ROUTINES - 1);
    memset(&x, 0, sizeof x);
    x.is_complex = random_int(r, 0, 1);
    x.m = x.n = any_size(r);
    x.k = any_size(r);
    x.fill = random_int(r, 0, 1) ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
    x.op = ops[random_int(r, 0, 2)];
    x.side = random_int(r, 0, 1) ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT;
    x.info = add_result(r, INTEGER, 1);
    if (what <= GETRS)
        draw_lu(r, what);
    else if (what <= POTRI)
        draw_cholesky(r, what);
    else if (what <= ORMQR)
        draw_qr(r, what);
    else
        draw_eigen(r);
    call->run = runs[what];
    call->may_capture = what != POTRI && what != SYEVD;
    snprintf(call->text, sizeof call->text,
             "%c%s m %d n %d k %d pivots %d fill %d op %d side %d job %d", x.is_complex ? 'Z' : 'D',
             names[what], x.m, x.n, x.k, x.has_pivots, (int)x.fill, (int)x.op, (int)x.side,
             (int)x.job);
}
