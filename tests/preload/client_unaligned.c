/* client_unaligned.c - a program that knows nothing of Tandem solves systems and factors matrices
 * of complex numbers that lie at odd multiples of 8 bytes, as C and Fortran allow. For each routine
 * and operand it prints a line ROUTINE OPERAND; the status is 1 if a result is not that of operands
 * that are aligned to 16 bytes. */
#include <complex.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../support/random.h"

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "client_unaligned: line %d: %s\n", __LINE__, #condition);              \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* K right-hand sides, or columns that are multiplied by Q. */
enum { N = 40, K = 9, WORK = 64 * N };

typedef double complex number;

/* In device memory, with room to lie 8 bytes further. */
typedef struct {
    number a[N * N + 1], b[N * K + 1], tau[N + 1], alpha[2];
} numbers;

typedef enum { A, B, TAU, ALPHA, OPERANDS } operand;
static const char *const operand_names[] = {"a", "b", "tau", "alpha"};

static cusolverDnHandle_t solver;
static cublasHandle_t blas;
static numbers *on; /* the device */
static cuDoubleComplex *work;
static int *pivots, *info;

/* ---- routines ---- */

/* Where the operands begin. */
typedef struct {
    cuDoubleComplex *a, *b, *tau, *alpha;
} places;

typedef struct {
    const char *name;
    int (*call)(const places *at); /* returns the status */
    unsigned has;                  /* operands, as bits */
} routine;

#define LOWER CUBLAS_FILL_MODE_LOWER
#define CALL(name, function, ...)                                                                  \
    static int call_##name(const places *at) { return (int)function(__VA_ARGS__); }
CALL(getrf, cusolverDnZgetrf, solver, N, N, at->a, N, work, pivots, info)
CALL(getrs, cusolverDnZgetrs, solver, CUBLAS_OP_N, N, K, at->a, N, pivots, at->b, N, info)
CALL(potrf, cusolverDnZpotrf, solver, LOWER, N, at->a, N, work, WORK, info)
CALL(potrs, cusolverDnZpotrs, solver, LOWER, N, K, at->a, N, at->b, N, info)
CALL(potri, cusolverDnZpotri, solver, LOWER, N, at->a, N, work, WORK, info)
CALL(geqrf, cusolverDnZgeqrf, solver, N, N, at->a, N, at->tau, work, WORK, info)
CALL(ungqr, cusolverDnZungqr, solver, N, N, N, at->a, N, at->tau, work, WORK, info)
CALL(unmqr, cusolverDnZunmqr, solver, CUBLAS_SIDE_LEFT, CUBLAS_OP_N, N, K, N, at->a, N, at->tau,
     at->b, N, work, WORK, info)
CALL(trsm, cublasZtrsm, blas, CUBLAS_SIDE_LEFT, LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, N, K,
     at->alpha, at->a, N, at->b, N)

#define BIT(which) (1u << (which))
#define ROW(name, has)                                                                             \
    {                                                                                              \
        "Z" #name, call_##name, has                                                                \
    }
static const routine routines[] = {
    ROW(getrf, BIT(A)),
    ROW(getrs, BIT(A) | BIT(B)),
    ROW(potrf, BIT(A)),
    ROW(potrs, BIT(A) | BIT(B)),
    ROW(potri, BIT(A)),
    ROW(geqrf, BIT(A) | BIT(TAU)),
    ROW(ungqr, BIT(A) | BIT(TAU)),
    ROW(unmqr, BIT(A) | BIT(B) | BIT(TAU)),
    ROW(trsm, BIT(A) | BIT(B) | BIT(ALPHA)),
};

/* ---- calls ---- */

static numbers given;

/* A has a large real diagonal, so that it is positive definite and a factor at once. */
static void fill(uint64_t *seed)
{
    for (int i = 0; i < N * N; i++) {
        const double re = random_signed(seed), im = random_signed(seed);
        given.a[i] = i % (N + 1) == 0 ? 2 * N + re : re + im * I;
    }
    for (int i = 0; i < N * K; i++) given.b[i] = random_signed(seed) + random_signed(seed) * I;
    for (int i = 0; i < N; i++) given.tau[i] = random_signed(seed) / N;
    given.alpha[0] = 1.0 + random_signed(seed) * I;
}

static cuDoubleComplex *put(number *to, const number *from, int count, bool is_moved)
{
    char *place = (char *)to + (is_moved ? sizeof(double) : 0);
    REQUIRE(!cudaMemcpy(place, from, (size_t)count * sizeof *from, cudaMemcpyHostToDevice));
    return (cuDoubleComplex *)place;
}

static void get(number *to, const cuDoubleComplex *from, int count)
{
    REQUIRE(!cudaMemcpy(to, from, (size_t)count * sizeof *to, cudaMemcpyDeviceToHost));
}

/* Leaves what a call makes of the operands, of which `moved` is not aligned; OPERANDS: all are. */
static void call(const routine *r, operand moved, numbers *made)
{
    int order[N], found = -1;
    for (int i = 0; i < N; i++) order[i] = i + 1;
    REQUIRE(!cudaMemcpy(pivots, order, sizeof order, cudaMemcpyHostToDevice));
    REQUIRE(!cudaMemset(info, 0, sizeof *info));
    const places at = {
        put(on->a, given.a, N * N, moved == A), put(on->b, given.b, N * K, moved == B),
        put(on->tau, given.tau, N, moved == TAU), put(on->alpha, given.alpha, 1, moved == ALPHA)};
    REQUIRE(r->call(&at) == 0);
    REQUIRE(!cudaDeviceSynchronize());
    get(made->a, at.a, N * N);
    get(made->b, at.b, N * K);
    get(made->tau, at.tau, N);
    REQUIRE(!cudaMemcpy(&found, info, sizeof found, cudaMemcpyDeviceToHost));
    REQUIRE(found == 0);
}

static bool are_near(const number *x, const number *y, int count)
{
    bool are = true;
    for (int i = 0; i < count; i++) are = are && cabs(x[i] - y[i]) <= 1e-12 * (1.0 + cabs(y[i]));
    return are;
}

static bool is_as_wanted(const routine *r, operand moved)
{
    static numbers wanted, made;
    call(r, OPERANDS, &wanted);
    call(r, moved, &made);
    return are_near(made.a, wanted.a, N * N) && are_near(made.b, wanted.b, N * K) &&
           are_near(made.tau, wanted.tau, N);
}

/* As TEST_SEED says; without it another one in each second. */
static uint64_t seed_of_run(void)
{
    const char *const given_seed = getenv("TEST_SEED");
    return given_seed && *given_seed ? strtoull(given_seed, NULL, 10) : (uint64_t)time(NULL);
}

int main(void)
{
    uint64_t seed = seed_of_run(), first = seed;
    bool are_good = true;
    REQUIRE(!cudaMalloc((void **)&on, sizeof *on));
    REQUIRE(!cudaMalloc((void **)&work, WORK * sizeof *work));
    REQUIRE(!cudaMalloc((void **)&pivots, N * sizeof *pivots));
    REQUIRE(!cudaMalloc((void **)&info, sizeof *info));
    REQUIRE(!cusolverDnCreate(&solver) && !cublasCreate(&blas));
    REQUIRE(!cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_DEVICE));
    fill(&seed);
    for (size_t i = 0; i < sizeof routines / sizeof *routines; i++)
        for (operand o = 0; o < OPERANDS; o++) {
            if (!(routines[i].has & BIT(o))) continue;
            const bool is_good = is_as_wanted(&routines[i], o);
            if (!is_good) fprintf(stderr, "TEST_SEED=%llu\n", (unsigned long long)first);
            printf("%s %s%s\n", routines[i].name, operand_names[o], is_good ? "" : " is wrong");
            are_good &= is_good;
        }
    REQUIRE(!cublasDestroy(blas) && !cusolverDnDestroy(solver));
    return are_good ? 0 : 1;
}
