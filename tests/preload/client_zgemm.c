/* client_zgemm.c - a program that knows nothing of Tandem: products of complex matrices in all
 * their forms, for check_preload_zgemm.py. One line for each call:
 *
 *   FORM CASE : STATUS ERROR KINDS TOUCHED HASH
 *
 * ERROR: the largest of a part of C, relative to the sum of the magnitudes of the real products
 * that it is made of; 0 if the case has numbers that are not finite. KINDS: how many parts of C are
 * NaN or infinite where the four real products' sums are not, or the other way round. TOUCHED: how
 * many numbers beside C have changed. HASH: of the bits of the first member's C, with its columns'
 * padding. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cublas_api.h>
#include <cuda_runtime_api.h>

#include "../support/hash.h"
#include "require.h"

/* As cublas.h, which cannot be included together with cublas_api.h, declares them. */
cublasStatus_t cublasInit(void);
cublasStatus_t cublasGetError(void);
void cublasZgemm(char op_a, char op_b, int m, int n, int k, cuDoubleComplex alpha,
                 const cuDoubleComplex *a, int lda, const cuDoubleComplex *b, int ldb,
                 cuDoubleComplex beta, cuDoubleComplex *c, int ldc);

typedef cuDoubleComplex number;

enum { MEMBERS = 2, MOST = 64, LD_A = 59, LD_B = 61, LD_C = 57, SIZE = LD_B * MOST };

typedef struct {
    const char *name;
    int op_a, op_b;
    int m, n, k, lda, ldb, ldc;
    number alpha, beta;
    double special; /* in A, B and C at one place each, as `where` says */
    enum { NOWHERE, IN_A, IN_B, IN_C } where;
} call;

static cublasHandle_t handle;
static const number *alpha, *beta; /* on the host or the device */
static number *a, *b, *c;          /* on the device; members SIZE apart */
static number **arrays;            /* on the device: the members of A, of B, of C */
static number host_a[MEMBERS * SIZE], host_b[MEMBERS * SIZE], before[MEMBERS * SIZE],
    after[MEMBERS * SIZE];

/* ---- forms ---- */

#define OPS (cublasOperation_t) x->op_a, (cublasOperation_t)x->op_b, x->m, x->n, x->k

#define PLAIN(function)                                                                            \
    static cublasStatus_t call_##function(const call *x)                                           \
    {                                                                                              \
        return function(handle, OPS, alpha, a, x->lda, b, x->ldb, beta, c, x->ldc);                \
    }
#define STRIDED(function)                                                                          \
    static cublasStatus_t call_##function(const call *x)                                           \
    {                                                                                              \
        return function(handle, OPS, alpha, a, x->lda, SIZE, b, x->ldb, SIZE, beta, c, x->ldc,     \
                        SIZE, MEMBERS);                                                            \
    }
#define BATCHED(function)                                                                          \
    static cublasStatus_t call_##function(const call *x)                                           \
    {                                                                                              \
        return function(handle, OPS, alpha, (const number *const *)arrays, x->lda,                 \
                        (const number *const *)arrays + MEMBERS, x->ldb, beta,                     \
                        arrays + 2 * MEMBERS, x->ldc, MEMBERS);                                    \
    }
#define EX(function)                                                                               \
    static cublasStatus_t call_##function(const call *x)                                           \
    {                                                                                              \
        return function(handle, OPS, alpha, a, CUDA_C_64F, x->lda, b, CUDA_C_64F, x->ldb, beta, c, \
                        CUDA_C_64F, x->ldc, CUBLAS_COMPUTE_64F, CUBLAS_GEMM_DEFAULT);              \
    }
#define STRIDED_EX(function)                                                                       \
    static cublasStatus_t call_##function(const call *x)                                           \
    {                                                                                              \
        return function(handle, OPS, alpha, a, CUDA_C_64F, x->lda, SIZE, b, CUDA_C_64F, x->ldb,    \
                        SIZE, beta, c, CUDA_C_64F, x->ldc, SIZE, MEMBERS, CUBLAS_COMPUTE_64F,      \
                        CUBLAS_GEMM_DEFAULT);                                                      \
    }
#define BATCHED_EX(function)                                                                       \
    static cublasStatus_t call_##function(const call *x)                                           \
    {                                                                                              \
        return function(handle, OPS, alpha, (const void *const *)arrays, CUDA_C_64F, x->lda,       \
                        (const void *const *)arrays + MEMBERS, CUDA_C_64F, x->ldb, beta,           \
                        (void *const *)arrays + 2 * MEMBERS, CUDA_C_64F, x->ldc, MEMBERS,          \
                        CUBLAS_COMPUTE_64F, CUBLAS_GEMM_DEFAULT);                                  \
    }

/* DO(kind, function, members) */
#define FORMS(DO)                                                                                  \
    DO(PLAIN, cublasZgemm_v2, 1)                                                                   \
    DO(PLAIN, cublasZgemm_v2_64, 1)                                                                \
    DO(PLAIN, cublasZgemm3m, 1)                                                                    \
    DO(PLAIN, cublasZgemm3m_64, 1)                                                                 \
    DO(STRIDED, cublasZgemmStridedBatched, MEMBERS)                                                \
    DO(STRIDED, cublasZgemmStridedBatched_64, MEMBERS)                                             \
    DO(BATCHED, cublasZgemmBatched, MEMBERS)                                                       \
    DO(BATCHED, cublasZgemmBatched_64, MEMBERS)                                                    \
    DO(EX, cublasGemmEx, 1)                                                                        \
    DO(EX, cublasGemmEx_64, 1)                                                                     \
    DO(STRIDED_EX, cublasGemmStridedBatchedEx, MEMBERS)                                            \
    DO(STRIDED_EX, cublasGemmStridedBatchedEx_64, MEMBERS)                                         \
    DO(BATCHED_EX, cublasGemmBatchedEx, MEMBERS)                                                   \
    DO(BATCHED_EX, cublasGemmBatchedEx_64, MEMBERS)

#define DEFINE(kind, function, members) kind(function)
FORMS(DEFINE)

static cublasStatus_t call_cublasZgemm(const call *x)
{
    static const char letters[] = "NTCx";
    cublasZgemm(letters[x->op_a & 3], letters[x->op_b & 3], x->m, x->n, x->k, x->alpha, a, x->lda,
                b, x->ldb, x->beta, c, x->ldc);
    return cublasGetError();
}

typedef struct {
    const char *name;
    cublasStatus_t (*run)(const call *x);
    int members;
    bool has_handle;
} form;

#define ROW(kind, function, members) {#function, call_##function, members, true},
static const form forms[] = {FORMS(ROW){"cublasZgemm", call_cublasZgemm, 1, false}};
enum { FORM_COUNT = sizeof forms / sizeof *forms };

/* ---- data ---- */

static double noise(int i, int of) { return sin(1.7 * i + of) * exp((i * 7 + of) % 13 - 6.0); }

/* Rows of ld are numbers, what follows in a column is NaN. */
static void fill(number *x, int rows, int columns, int ld, int of)
{
    for (int e = 0; e < MEMBERS * SIZE; e++) {
        const bool is_inside = e % SIZE % ld < rows && e % SIZE / ld < columns;
        x[e] = is_inside ? make_cuDoubleComplex(noise(e, of), noise(e, of + 1))
                         : make_cuDoubleComplex(NAN, NAN);
    }
}

static bool is_zero(number x) { return x.x == 0.0 && x.y == 0.0; }

static void make_data(const call *x)
{
    const bool reads = !is_zero(x->alpha) && x->k > 0, plain_a = x->op_a == CUBLAS_OP_N,
               plain_b = x->op_b == CUBLAS_OP_N, reads_c = !is_zero(x->beta);
    fill(host_a, reads ? (plain_a ? x->m : x->k) : 0, plain_a ? x->k : x->m, x->lda, 1);
    fill(host_b, reads ? (plain_b ? x->k : x->n) : 0, plain_b ? x->n : x->k, x->ldb, 3);
    fill(before, reads_c ? x->m : 0, x->n, x->ldc, 5);
    number *const target[] = {NULL, host_a, host_b, before};
    if (x->where) target[x->where][1].y = x->special;
}

static void copy_data(void)
{
    REQUIRE(cudaMemcpy(a, host_a, sizeof host_a, cudaMemcpyHostToDevice));
    REQUIRE(cudaMemcpy(b, host_b, sizeof host_b, cudaMemcpyHostToDevice));
    REQUIRE(cudaMemcpy(c, before, sizeof before, cudaMemcpyHostToDevice));
}

/* ---- what became of C ---- */

static number element(const number *x, int op, int ld, int row, int column)
{
    number e = op == CUBLAS_OP_N ? x[row + column * ld] : x[column + row * ld];
    if (op == CUBLAS_OP_C) e.y = -e.y;
    return e;
}

/* The parts of a sum and the magnitude of each. */
typedef struct {
    long double part[2], size[2];
} sum;

static void add(sum *s, number x, number y)
{
    s->part[0] += (long double)x.x * y.x - (long double)x.y * y.y;
    s->part[1] += (long double)x.x * y.y + (long double)x.y * y.x;
    s->size[0] += fabsl((long double)x.x * y.x) + fabsl((long double)x.y * y.y);
    s->size[1] += fabsl((long double)x.x * y.y) + fabsl((long double)x.y * y.x);
}

static void scale(sum *to, number by, const sum *s)
{
    to->part[0] += by.x * s->part[0] - (by.y == 0.0 ? 0.0L : by.y * s->part[1]);
    to->part[1] += by.x * s->part[1] + (by.y == 0.0 ? 0.0L : by.y * s->part[0]);
    to->size[0] += fabsl(by.x * s->size[0]) + fabsl(by.y * s->size[1]);
    to->size[1] += fabsl(by.x * s->size[1]) + fabsl(by.y * s->size[0]);
}

static sum expected(const call *x, int member, int i, int j)
{
    sum product = {{0}, {0}}, result = {{0}, {0}};
    for (int l = 0; l < x->k && !is_zero(x->alpha); l++)
        add(&product, element(host_a + member * SIZE, x->op_a, x->lda, i, l),
            element(host_b + member * SIZE, x->op_b, x->ldb, l, j));
    if (!is_zero(x->alpha)) scale(&result, x->alpha, &product);
    if (is_zero(x->beta)) return result;
    const number old = before[member * SIZE + i + j * x->ldc];
    const sum of_c = {{old.x, old.y}, {fabs(old.x), fabs(old.y)}};
    scale(&result, x->beta, &of_c);
    return result;
}

/* What elements of C are to be, at their places in `before`, in a case's calls of all forms. */
static sum wanted[MEMBERS * SIZE];

/* Element e of C's storage, padding included. */
typedef struct {
    int member, i, j;
} place;

static place place_of(const call *x, int e)
{
    return (place){e / SIZE, e % SIZE % x->ldc, e % SIZE / x->ldc};
}

static bool is_inside(const call *x, place at) { return at.i < x->m && at.j < x->n; }

static void make_wanted(const call *x)
{
    for (int e = 0; e < MEMBERS * SIZE; e++) {
        const place at = place_of(x, e);
        if (is_inside(x, at)) wanted[e] = expected(x, at.member, at.i, at.j);
    }
}

static char kind_of(long double x) { return isnan(x) ? 'n' : !isinf(x) ? 'f' : x > 0 ? '+' : '-'; }

typedef struct {
    double error;
    int kinds, touched;
} outcome;

static void compare(const call *x, outcome *o, const sum *want, number got)
{
    const double parts[] = {got.x, got.y};
    for (int i = 0; i < 2; i++) {
        o->kinds += kind_of(want->part[i]) != kind_of(parts[i]);
        if (x->where) continue;
        const long double off = fabsl(want->part[i] - parts[i]);
        const double error = off == 0.0L ? 0.0 : (double)(off / want->size[i]);
        if (!(error <= o->error)) o->error = error;
    }
}

static outcome look(const call *x, const form *f, cublasStatus_t status)
{
    outcome o = {0.0, 0, 0};
    for (int e = 0; e < MEMBERS * SIZE; e++) {
        const place at = place_of(x, e);
        if (!status && at.member < f->members && is_inside(x, at))
            compare(x, &o, &wanted[e], after[e]);
        else
            o.touched += memcmp(&before[e], &after[e], sizeof *after) != 0;
    }
    return o;
}

/* ---- calls ---- */

static void run(const form *f, const call *x, const number *device_scalars)
{
    const number scalars[] = {x->alpha, x->beta};
    const bool on_device = device_scalars;
    copy_data();
    alpha = on_device ? device_scalars : &scalars[0];
    beta = on_device ? device_scalars + 1 : &scalars[1];
    if (on_device)
        REQUIRE(cudaMemcpy((void *)(uintptr_t)device_scalars, scalars, sizeof scalars,
                           cudaMemcpyHostToDevice));
    REQUIRE(cublasSetPointerMode_v2(handle, on_device ? CUBLAS_POINTER_MODE_DEVICE
                                                      : CUBLAS_POINTER_MODE_HOST));
    const cublasStatus_t status = f->run(x);
    REQUIRE(cudaMemcpy(after, c, sizeof after, cudaMemcpyDeviceToHost));
    const outcome o = look(x, f, status);
    printf("%s %s%s : %d %.3g %d %d %016llx\n", f->name, x->name, on_device ? " device" : "",
           (int)status, o.error, o.kinds, o.touched,
           (unsigned long long)hash_bytes(HASH_START, after, SIZE * sizeof *after));
}

static const call usual = {.name = "usual",
                           .op_a = CUBLAS_OP_N,
                           .op_b = CUBLAS_OP_N,
                           .m = 23,
                           .n = 17,
                           .k = 41,
                           .lda = LD_A,
                           .ldb = LD_B,
                           .ldc = LD_C,
                           .alpha = {1.5, -0.75},
                           .beta = {0.25, 2.0}};

enum { MOST_CASES = 64 };
static call cases[MOST_CASES];
static int case_count;

static void add_case(const call *x, const char *what)
{
    static char names[MOST_CASES][160];
    char *name = names[case_count];
    snprintf(name, sizeof names[0], "%s,%c%c,%dx%dx%d,%g%+gi,%g%+gi,%g,%d", what,
             "NTCx"[x->op_a & 3], "NTCx"[x->op_b & 3], x -> m, x -> n, x -> k, x -> alpha.x,
             x->alpha.y, x->beta.x, x->beta.y, x->special, (int)x->where);
    cases[case_count] = *x;
    cases[case_count++].name = name;
}

static void add_operations_and_scalars(void)
{
    static const number scalars[][2] = {{{1, 0}, {0, 0}}, {{-2, 0}, {1, 0}},  {{0, 1}, {0, 0}},
                                        {{0, 0}, {0, 3}}, {{0, 0}, {0, 0}},   {{0, 0}, {1, 0}},
                                        {{1, 0}, {0, 1}}, {{0.5, 1}, {-1, 0}}};
    for (int i = 0; i < 9; i++) {
        call x = usual;
        x.op_a = i % 3;
        x.op_b = i / 3;
        add_case(&x, "operations");
    }
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        call x = usual;
        x.op_a = (int)i % 3;
        x.alpha = scalars[i][0];
        x.beta = scalars[i][1];
        add_case(&x, "scalars");
    }
}

static void add_sizes_and_specials(void)
{
    static const int sizes[][3] = {{1, 1, 1}, {0, 5, 5},  {5, 0, 5},
                                   {5, 5, 0}, {57, 1, 3}, {2, 40, 57}};
    static const double specials[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        call x = usual;
        x.m = sizes[i][0];
        x.n = sizes[i][1];
        x.k = sizes[i][2];
        add_case(&x, "size");
    }
    for (int i = 0; i < 9; i++) {
        call x = usual;
        x.where = i / 3 == 0 ? IN_A : i / 3 == 1 ? IN_B : IN_C;
        x.alpha = make_cuDoubleComplex(1, 0);
        x.beta = make_cuDoubleComplex(x.where == IN_C, 0);
        x.special = specials[i % 3];
        add_case(&x, "special");
    }
}

/* What cuBLAS refuses. */
static void add_bad_cases(void)
{
    static const char *const names[] = {"bad m",   "bad k",   "bad lda",
                                        "bad ldb", "bad ldc", "bad operation"};
    call bad[6];
    for (int i = 0; i < 6; i++) bad[i] = usual;
    bad[0].m = -1;
    bad[1].k = -1;
    bad[2].lda = usual.m - 1;
    bad[3].ldb = usual.k - 1;
    bad[4].ldc = usual.m - 1;
    bad[5].op_a = 7;
    for (int i = 0; i < 6; i++) add_case(&bad[i], names[i]);
}

int main(int argc, char **argv)
{
    number *pointers[3 * MEMBERS], *device_scalars;
    REQUIRE(cudaMalloc((void **)&a, sizeof host_a));
    REQUIRE(cudaMalloc((void **)&b, sizeof host_b));
    REQUIRE(cudaMalloc((void **)&c, sizeof before));
    REQUIRE(cudaMalloc((void **)&device_scalars, 2 * sizeof *device_scalars));
    REQUIRE(cudaMalloc((void **)&arrays, sizeof pointers));
    for (int i = 0; i < MEMBERS; i++) {
        pointers[i] = a + i * SIZE;
        pointers[MEMBERS + i] = b + i * SIZE;
        pointers[2 * MEMBERS + i] = c + i * SIZE;
    }
    REQUIRE(cudaMemcpy(arrays, pointers, sizeof pointers, cudaMemcpyHostToDevice));
    REQUIRE(cublasCreate_v2(&handle));
    REQUIRE(cublasInit());
    add_operations_and_scalars();
    add_sizes_and_specials();
    add_bad_cases();
    for (int i = 0; i < case_count; i++) {
        make_data(&cases[i]);
        make_wanted(&cases[i]);
        for (int f = 0; f < FORM_COUNT; f++) {
            if (argc > 1 && strcmp(argv[1], forms[f].name) != 0) continue;
            run(&forms[f], &cases[i], NULL);
            if (forms[f].has_handle && i % 2) run(&forms[f], &cases[i], device_scalars);
        }
    }
    REQUIRE(cublasDestroy_v2(handle));
    return 0;
}
