/* xt.c - cublasXt's routines on 1, 2, 4 ... devices, and what the bus takes for the same bytes.
 * usage: xt N [MOST_DEVICES [ROUTINE|all [PLACE]]]   dgemm of order N; the others of half of it
 *        xt bus MEBIBYTES [MOST_DEVICES]
 *
 * A line of JSON for each routine, place of its matrices (pageable, pinned, or pinned by cublasXt
 * for the call) and number of devices: the median time of a call, and whether the result has the
 * bits that one device gave in the same place. `bus`: seconds of plain copies of so many MiB to
 * devices and a third of them back, with pageable and pinned memory, by one thread a device and by
 * four; of pinning; and of a copy from device to device. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cublasXt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

/* Smaller matrices get smaller tiles than cublasXt's own, so that several devices have some. */
enum { RUNS = 3, MOST = 16, THREADS = 4, LEAST_FOR_BLOCKS = 4096 };

/* Ends the program with a line that says what failed, and with which status. */
#define CHECKED(call)                                                                              \
    do {                                                                                           \
        const int status_ = (int)(call);                                                           \
        if (status_ == 0) break;                                                                   \
        fprintf(stderr, "%s:%d: %s: status %d\n", __FILE__, __LINE__, #call, status_);             \
        exit(1);                                                                                   \
    } while (0)

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int smaller(int a, int b) { return a < b ? a : b; }

static double median(double *times)
{
    for (int i = 1; i < RUNS; i++)
        for (int j = i; j > 0 && times[j] < times[j - 1]; j--) {
            const double time = times[j];
            times[j] = times[j - 1];
            times[j - 1] = time;
        }
    return times[RUNS / 2];
}

/* ---- matrices ---- */

typedef enum { PAGEABLE, PINNED, PINNED_FOR_CALLS, PLACES } place;
static const char *const places[] = {"pageable", "pinned", "pinned for the call"};

static void *allocate(size_t bytes, place where)
{
    void *p = NULL;
    if (where == PINNED)
        CHECKED(cudaHostAlloc(&p, bytes, cudaHostAllocPortable));
    else
        p = malloc(bytes);
    CHECKED(!p);
    return p;
}

static void release(void *p, place where)
{
    if (where == PINNED)
        CHECKED(cudaFreeHost(p));
    else
        free(p);
}

/* Numbers between -1 and 1, columns of which have magnitudes from 1 to 2^-15. */
static void fill(double *x, size_t rows, size_t columns, uint64_t seed)
{
    uint64_t state = seed;
    for (size_t j = 0; j < columns; j++) {
        const double scale = 1.0 / (double)(1 << (j * 16 / columns));
        for (size_t i = 0; i < rows; i++) {
            state = state * UINT64_C(6364136223846793005) + 1;
            x[i + j * rows] = scale * ((double)(int64_t)state * 0x1p-63);
        }
    }
}

/* ---- routines ---- */

typedef enum { DGEMM, ZGEMM, DSYRK, DTRSM, ROUTINES } routine;
static const char *const names[] = {"dgemm", "zgemm", "dsyrk", "dtrsm"};
static const double one[2] = {1.0, 0.0}, zero[2] = {0.0, 0.0};

typedef struct {
    routine routine;
    place place;
    size_t n, bytes;   /* of each matrix */
    double *a, *b, *c; /* dtrsm solves in c what was in b */
    double *first;     /* what one device made */
} job;

static cublasStatus_t call(cublasXtHandle_t xt, const job *j)
{
    const size_t n = j->n;
    switch (j->routine) {
    case DGEMM:
        return cublasXtDgemm(xt, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, one, j->a, n, j->b, n, zero,
                             j->c, n);
    case ZGEMM:
        return cublasXtZgemm(xt, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, (const cuDoubleComplex *)one,
                             (const cuDoubleComplex *)j->a, n, (const cuDoubleComplex *)j->b, n,
                             (const cuDoubleComplex *)zero, (cuDoubleComplex *)j->c, n);
    case DSYRK:
        return cublasXtDsyrk(xt, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, n, one, j->a, n, zero,
                             j->c, n);
    default:
        return cublasXtDtrsm(xt, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                             CUBLAS_DIAG_NON_UNIT, n, n, one, j->a, n, j->c, n);
    }
}

static job make(routine r, place where, size_t n)
{
    const size_t parts = r == ZGEMM ? 2 : 1, rows = parts * n;
    job j = {.routine = r, .place = where, .n = n, .bytes = rows * n * sizeof(double)};
    j.a = allocate(j.bytes, where);
    j.b = allocate(j.bytes, where);
    j.c = allocate(j.bytes, where);
    j.first = allocate(j.bytes, PAGEABLE);
    fill(j.a, rows, n, 1);
    fill(j.b, rows, n, 2);
    memset(j.c, 0, j.bytes);
    for (size_t i = 0; i < n && r == DTRSM; i++) j.a[i + i * n] = (double)n;
    return j;
}

static void drop(const job *j)
{
    release(j->a, j->place);
    release(j->b, j->place);
    release(j->c, j->place);
    free(j->first);
}

static double time_call(cublasXtHandle_t xt, const job *j)
{
    if (j->routine == DTRSM) memcpy(j->c, j->b, j->bytes);
    const double start = seconds_now();
    CHECKED(call(xt, j));
    return seconds_now() - start;
}

static void run(const job *j, int devices)
{
    int ordinals[MOST];
    double times[RUNS];
    int block = 0;
    cublasXtHandle_t xt;
    for (int i = 0; i < devices; i++) ordinals[i] = i;
    CHECKED(cublasXtCreate(&xt));
    CHECKED(cublasXtDeviceSelect(xt, devices, ordinals));
    if (j->n < LEAST_FOR_BLOCKS) CHECKED(cublasXtSetBlockDim(xt, (int)(j->n + 3) / 4));
    if (j->place == PINNED_FOR_CALLS)
        CHECKED(cublasXtSetPinningMemMode(xt, CUBLASXT_PINNING_ENABLED));
    CHECKED(cublasXtGetBlockDim(xt, &block));
    (void)time_call(xt, j);
    for (int i = 0; i < RUNS; i++) times[i] = time_call(xt, j);
    if (devices == 1) memcpy(j->first, j->c, j->bytes);
    printf("{\"routine\": \"%s\", \"n\": %zu, \"block\": %d, \"place\": \"%s\", \"devices\": %d, "
           "\"ms\": %.2f, \"same_bits\": %s}\n",
           names[j->routine], j->n, block, places[j->place], devices, 1e3 * median(times),
           memcmp(j->first, j->c, j->bytes) == 0 ? "true" : "false");
    fflush(stdout);
    CHECKED(cublasXtDestroy(xt));
}

static bool is_left_out(const char *name, const char *wanted)
{
    return wanted && strcmp(wanted, "all") != 0 && strcmp(name, wanted) != 0;
}

/* Of all routines and places, or of one. */
static void run_all(size_t n, int most, const char *name, const char *place_name)
{
    for (int r = 0; r < ROUTINES; r++)
        for (int where = 0; where < PLACES; where++) {
            if (r != DGEMM && where == PINNED_FOR_CALLS) continue;
            if (is_left_out(names[r], name) || is_left_out(places[where], place_name)) continue;
            const job j = make((routine)r, (place)where, r == DGEMM ? n : n / 2);
            for (int devices = 1; devices <= most; devices *= 2) run(&j, devices);
            drop(&j);
        }
}

/* ---- the bus ---- */

/* A thread's copies: some bytes to a device's memory, a third of them back. */
typedef struct {
    pthread_t thread;
    int device;
    char *host, *memory;
    size_t bytes;
} copies;

static void *copy(void *of)
{
    const copies *c = of;
    CHECKED(cudaSetDevice(c->device));
    CHECKED(cudaMemcpy(c->memory, c->host, c->bytes, cudaMemcpyHostToDevice));
    CHECKED(cudaMemcpy(c->host, c->memory, c->bytes / 3, cudaMemcpyDeviceToHost));
    return NULL;
}

/* All threads at once, each with its share. */
static double copy_shares(char *host, char *memory[MOST], size_t bytes, int devices, int threads)
{
    copies c[MOST * THREADS];
    const size_t share = bytes / (size_t)(devices * threads) / 4096 * 4096;
    const double start = seconds_now();
    for (int i = 0; i < devices * threads; i++) {
        c[i] = (copies){.device = i / threads,
                        .host = host + (size_t)i * share,
                        .memory = memory[i / threads] + (size_t)(i % threads) * share,
                        .bytes = share};
        CHECKED(pthread_create(&c[i].thread, NULL, copy, &c[i]));
    }
    for (int i = 0; i < devices * threads; i++) CHECKED(pthread_join(c[i].thread, NULL));
    return seconds_now() - start;
}

static void time_copies(char *host, const char *where, char *memory[MOST], size_t bytes, int most)
{
    for (int devices = 1; devices <= most; devices *= 2)
        for (int threads = 1; threads <= THREADS; threads += THREADS - 1) {
            double times[RUNS];
            (void)copy_shares(host, memory, bytes, devices, threads);
            for (int i = 0; i < RUNS; i++)
                times[i] = copy_shares(host, memory, bytes, devices, threads);
            printf("{\"copies\": \"%s\", \"MiB\": %zu, \"devices\": %d, \"threads\": %d, \"ms\": "
                   "%.2f}\n",
                   where, bytes >> 20, devices, threads, 1e3 * median(times));
        }
}

static void time_pinning(char *host, size_t bytes)
{
    const double start = seconds_now();
    CHECKED(cudaHostRegister(host, bytes, cudaHostRegisterPortable));
    const double pinned = seconds_now();
    CHECKED(cudaHostUnregister(host));
    printf("{\"pinning\": %.2f, \"unpinning\": %.2f, \"MiB\": %zu}\n", 1e3 * (pinned - start),
           1e3 * (seconds_now() - pinned), bytes >> 20);
}

static void time_peers(char *memory[MOST], size_t bytes)
{
    int can = 0;
    CHECKED(cudaDeviceCanAccessPeer(&can, 0, 1));
    const double start = seconds_now();
    CHECKED(cudaMemcpyPeer(memory[1], 1, memory[0], 0, bytes));
    CHECKED(cudaDeviceSynchronize());
    printf("{\"from device to device\": %.2f, \"MiB\": %zu, \"peers\": %d}\n",
           1e3 * (seconds_now() - start), bytes >> 20, can);
}

static void run_bus(size_t bytes, int most)
{
    char *memory[MOST] = {NULL};
    char *const pageable = allocate(bytes, PAGEABLE), *const pinned = allocate(bytes, PINNED);
    memset(pageable, 1, bytes);
    memset(pinned, 1, bytes);
    for (int i = 0; i < most; i++) {
        CHECKED(cudaSetDevice(i));
        CHECKED(cudaMalloc((void **)&memory[i], bytes));
    }
    CHECKED(cudaSetDevice(0));
    time_copies(pageable, "pageable", memory, bytes, most);
    time_copies(pinned, "pinned", memory, bytes, most);
    time_pinning(pageable, bytes);
    if (most > 1) time_peers(memory, bytes);
}

int main(int argc, char **argv)
{
    const bool is_bus = argc > 1 && strcmp(argv[1], "bus") == 0;
    const int at = is_bus ? 2 : 1;
    const long size = argc > at ? strtol(argv[at], NULL, 10) : 0;
    int count = 0;
    if (size <= 0 || argc > at + 4 || (is_bus && argc > at + 2)) {
        fprintf(stderr, "usage: xt N [MOST_DEVICES [ROUTINE|all [PLACE]]], or\n"
                        "       xt bus MEBIBYTES [MOST_DEVICES]\n");
        return 2;
    }
    CHECKED(cudaGetDeviceCount(&count));
    int most = argc > at + 1 ? (int)strtol(argv[at + 1], NULL, 10) : count;
    most = smaller(smaller(most, count), MOST);
    if (is_bus)
        run_bus((size_t)size << 20, most);
    else
        run_all((size_t)size, most, argc > at + 2 ? argv[at + 2] : NULL,
                argc > at + 3 ? argv[at + 3] : NULL);
    return 0;
}
