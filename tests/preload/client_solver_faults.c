/* client_solver_faults.c - each allocation, launch and load of a call of cuSOLVER fails, one after
 * another. The call then gives the result that it gives without faults, or, if its operands have
 * been written, an error; the next call gives the result, and no memory is lost.
 *
 * usage: client_solver_faults [strict]    an error with operands as they were is wrong, too: not so
 * of modes whose products are enqueued by several kernels, the first of which may have failed */
#include <cuda_runtime_api.h>
#include <cusolverDn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injected.h"

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s: line %d: %s\n", routine->name, __LINE__, #condition);             \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

/* Two panels of every routine; K right-hand sides, or columns that are multiplied by Q. */
enum { N = 70, K = 20, LEAST_WORK = 64 * N };

/* What a call reads and writes, in device memory, with room for complex numbers. */
typedef struct {
    double a[2 * N * N], b[2 * N * N], tau[2 * N];
    int pivots[N], info;
} operands;

static bool is_strict;
static cusolverDnHandle_t handle;
static operands *on;
static void *lent;

/* ---- routines ---- */

typedef struct {
    const char *name;
    cusolverStatus_t (*call)(void);
} routine_row;
static const routine_row *routine;

#define CALL(letter, function, ...)                                                                \
    static cusolverStatus_t call_##letter##function(void)                                          \
    {                                                                                              \
        void *const a = on->a, *const b = on->b, *const tau = on->tau;                             \
        (void)b, (void)tau;                                                                        \
        return cusolverDn##letter##function(handle, __VA_ARGS__, &on->info);                       \
    }
#define LOWER CUBLAS_FILL_MODE_LOWER
#define CALLS(letter, form_q, apply_q)                                                             \
    CALL(letter, getrf, N, N, a, N, lent, on->pivots)                                              \
    CALL(letter, potrf, LOWER, N, a, N, lent, LEAST_WORK)                                          \
    CALL(letter, geqrf, N, N, a, N, tau, lent, LEAST_WORK)                                         \
    CALL(letter, form_q, N, N, N, a, N, tau, lent, LEAST_WORK)                                     \
    CALL(letter, apply_q, CUBLAS_SIDE_LEFT, CUBLAS_OP_N, N, K, N, a, N, tau, b, N, lent,           \
         LEAST_WORK)                                                                               \
    CALL(letter, getrs, CUBLAS_OP_N, N, K, a, N, on->pivots, b, N)                                 \
    CALL(letter, potrs, LOWER, N, K, a, N, b, N)                                                   \
    CALL(letter, potri, LOWER, N, a, N, lent, LEAST_WORK)
CALLS(D, orgqr, ormqr)
CALLS(Z, ungqr, unmqr)
CALL(D, syevd, CUSOLVER_EIG_MODE_VECTOR, LOWER, N, a, N, tau, lent, 8 * N * N)

#define ROW(name)                                                                                  \
    {                                                                                              \
#name, call_##name                                                                         \
    }
static const routine_row routines[] = {
    ROW(Dgetrf), ROW(Dpotrf), ROW(Dgeqrf), ROW(Dorgqr), ROW(Dormqr), ROW(Dgetrs),
    ROW(Dpotrs), ROW(Dpotri), ROW(Dsyevd), ROW(Zgetrf), ROW(Zpotrf), ROW(Zgeqrf),
    ROW(Zungqr), ROW(Zunmqr), ROW(Zgetrs), ROW(Zpotrs), ROW(Zpotri),
};

/* ---- operands ---- */

static double uniform(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(int)*seed * 0x1p-31;
}

/* The diagonal, which is real, is large: A is positive definite, as are factors that it stands for;
 * and of reflectors it is not read. */
static void fill(operands *to)
{
    const size_t parts = routine->name[0] == 'Z' ? 2 : 1;
    unsigned seed = 1;
    memset(to, 0, sizeof *to);
    for (int i = 0; i < 2 * N * N; i++) {
        to->a[i] = uniform(&seed);
        to->b[i] = uniform(&seed);
    }
    for (int j = 0; j < N; j++) {
        const size_t own = (size_t)j * parts, at = own * (N + 1);
        if (parts == 2) to->a[at + 1] = 0;
        to->a[at] = 2 * N + j;
        to->tau[own] = 1.0 / N;
        to->pivots[j] = j + 1 + (int)((uniform(&seed) + 1.0) / 2 * (N - j));
    }
    to->info = -1;
}

/* ---- results ---- */

static operands *expected; /* shared with the process that has made it */

/* Vectors may be the negative ones. */
static bool are_near(const double *found, const double *wanted, int count)
{
    const bool has_signs = routine->call != call_Dsyevd;
    double largest = 0;
    bool are = true;
    for (int i = 0; i < count; i++) largest = fmax(largest, fabs(wanted[i]));
    for (int i = 0; i < count; i++)
        are &= fabs(has_signs ? found[i] - wanted[i] : fabs(found[i]) - fabs(wanted[i])) <=
               1e-9 * largest;
    return are;
}

static bool is_expected(void)
{
    return are_near(on->a, expected->a, 2 * N * N) && are_near(on->b, expected->b, 2 * N * N) &&
           are_near(on->tau, expected->tau, 2 * N) && on->info == 0 &&
           !memcmp(on->pivots, expected->pivots, sizeof on->pivots);
}

static bool are_untouched(void)
{
    static operands before;
    fill(&before);
    for (int i = 0; i < 2 * N * N; i++)
        if (before.a[i] != on->a[i] || before.b[i] != on->b[i]) return false;
    return true;
}

static size_t free_bytes(void)
{
    size_t left = 0, all = 0;
    REQUIRE(!cudaMemGetInfo(&left, &all));
    return left;
}

/* ---- trials ---- */

static void open_device(void)
{
    REQUIRE(!cusolverDnCreate(&handle) && !cudaMalloc((void **)&on, sizeof *on) &&
            !cudaMalloc(&lent, sizeof(double) * 16 * N * N));
}

static int call(void)
{
    fill(on);
    const int status = (int)routine->call();
    REQUIRE(!cudaGetLastError() && !cudaDeviceSynchronize());
    return status;
}

static void call_with_faults(int kind, unsigned long long first, unsigned long long count)
{
    open_device();
    const size_t before = free_bytes();
    inject(kind, first, count);
    const int status = call();
    const bool has_failed = injected(kind) > 0;
    inject(kind, 0, 0);
    REQUIRE(status == 0 || (kind == INJECTED_LAUNCH && status == CUSOLVER_STATUS_EXECUTION_FAILED));
    REQUIRE(status == 0 ? is_expected() : !is_strict || !are_untouched());
    REQUIRE(!call() && is_expected());
    REQUIRE(free_bytes() == before);
    injected_end(has_failed);
}

static void find_expected(void)
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        open_device();
        REQUIRE(!call());
        *expected = *on;
        _exit(0);
    }
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
}

int main(int count, char **arguments)
{
    is_strict = count == 2 && !strcmp(arguments[1], "strict");
    routine = routines;
    REQUIRE(injected_prepare());
    expected =
        mmap(NULL, sizeof *expected, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(expected != MAP_FAILED);
    for (size_t i = 0; i < sizeof routines / sizeof *routines; i++) {
        char name[32];
        routine = &routines[i];
        snprintf(name, sizeof name, "%s ", routine->name);
        find_expected();
        inject_everywhere(name, call_with_faults);
    }
    return 0;
}
