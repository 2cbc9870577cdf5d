/* client_xt.c - a program that knows nothing of Tandem: cublasXt's level 3 routines, for matrices
 * on the host and on a device. Usage:
 * client_xt [check|tiles|stages|faults|copies|in_place|far|threads BLOCK [WORD]]
 *
 * Without arguments, or with `check`, calls of every kind, a line each:
 *
 *   FUNCTION CASE ; status N ; WHAT ; device N
 *
 * WHAT: `same` if the result has the bits that the routine of cuBLAS gives it on the device,
 * `right` if it is only near them, `wrong`, `damaged` if something beside it was written, or
 * `unchanged`; device: the current one after the call, which was the last one before.
 *
 * With `tiles`, larger calls of each function, or those in whose names WORD is, by tiles of BLOCK
 * on all devices: `FUNCTION SIDE ; status N ; HASH`, of the result's bits. `stages` has solves
 * alone, of a larger A. `threads` has four threads call each function, with a handle each, and one
 * line if all of them found the same. With `faults`, one of these of three functions for each
 * allocation and each launch, which fails: `FUNCTION ; WHAT ; COUNT`, after a line for each wrong
 * result; with `copies` for each copy from or to the host, after a line for each call that has not
 * waited for all others. A brief test has every seventh fail. `in_place` has triangular products in
 * place of B: `FUNCTION ; COUNT`, of copies of results that wrote what others had still to read.
 * `far` has matrices on the host whose columns are more than 2^31 bytes apart: `FUNCTION ; status N
 * ; same`, if they become what they do where columns follow one another.
 *
 * XT_DEVICES has the numbers of the devices, with commas between them; all without it. XT_FULL is
 * the number of a device that has no memory left. With XT_PINS cublasXt may pin memory. */
#include <cublasXt.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../support/hash.h"
#include "../support/test.h"
#include "require.h"
#include "xt_calls.h"
#include "xt_copies.h"

static const char *const place_names[] = {"pageable", "pinned", "device", "managed"};

static cublasXtHandle_t xt;
static int own_block; /* the side of its tiles; 0: cublasXt's own */
static cublasHandle_t handle;

/* Makes a call with matrices at a place; C's numbers are `before` it and `after` it. */
typedef struct {
    shape shape;
    size_t ld, count; /* of doubles */
    double *before, *after;
} result;

static cublasStatus_t run(const call *x, place where, bool by_xt, result *r)
{
    matrix a = make(x, shape_of_a(x), area_of_a(x), 1),
           b = make(x, shape_of_b(x), area_of_a(x) == NONE ? NONE : ALL, 2),
           c = make(x, shape_of_c(x), area_of_c(x), 3);
    put(&a, where);
    put(&b, where);
    put(&c, where);
    copies_watch(a.at, a.bytes);
    copies_watch(b.at, b.bytes);
    copies_watch(c.at, c.bytes);
    const cublasStatus_t status =
        apply(x, by_xt ? x->r->xt : x->r->large, by_xt ? (void *)xt : (void *)handle, &a,
              x->is_in_place ? &c : &b, &c);
    if (!by_xt) REQUIRE(cudaDeviceSynchronize());
    *r = (result){c.shape, c.ld, c.bytes / sizeof(double), malloc(c.bytes), malloc(c.bytes)};
    REQUIRE(!r->before || !r->after);
    memcpy(r->before, c.host, c.bytes);
    REQUIRE(cudaMemcpy(r->after, c.at, c.bytes, cudaMemcpyDefault));
    drop(&a);
    drop(&b);
    drop(&c);
    return status;
}

static void free_result(const result *r)
{
    free(r->before);
    free(r->after);
}

/* ---- checks ---- */

static bool is_changed(const result *r, size_t e)
{
    return memcmp(&r->after[e], &r->before[e], sizeof *r->after) != 0;
}

static const char *compare(const call *x, const result *now, const result *want)
{
    const char *what = "same";
    const area written = is_rank_update(x) ? TRIANGLE : ALL;
    for (size_t e = 0; e < now->count; e++) {
        const size_t at = e / parts(x);
        if (!has(x, written, now->shape, at % now->ld, at / now->ld)) {
            if (is_changed(now, e)) return "damaged";
            continue;
        }
        if (memcmp(&now->after[e], &want->after[e], sizeof *now->after) == 0) continue;
        what = "right";
        if (!(fabs(now->after[e] - want->after[e]) <= 0x1p-24 * (double)(x->k + 1))) return "wrong";
    }
    return what;
}

static const char *look_for_changes(const result *r)
{
    for (size_t e = 0; e < r->count; e++)
        if (is_changed(r, e)) return "damaged";
    return "unchanged";
}

static void check(const call *x, const char *name)
{
    result now, want;
    int device = -1;
    const cublasStatus_t status = run(x, x->place, true, &now);
    const char *what = "unchanged";
    REQUIRE(cudaGetDevice(&device));
    if (status) {
        what = look_for_changes(&now);
    } else {
        REQUIRE(run(x, DEVICE, false, &want));
        what = compare(x, &now, &want);
        free_result(&want);
    }
    printf("cublasXt%s %s ; status %d ; %s ; device %d\n", x->r->name, name, (int)status, what,
           device);
    free_result(&now);
}

static call usual_call(const routine *r)
{
    return (call){.r = r,
                  .m = 70,
                  .n = 45,
                  .k = 60,
                  .pad = 3,
                  .alpha = {1.25, -0.5},
                  .beta = {-0.75, 0.25},
                  .place = PAGEABLE};
}

/* Complex updates take one of the two transposes. */
static bool is_allowed(const call *x)
{
    if (!is_rank_update(x) || !x->r->is_complex) return true;
    return x->op != (x->r->is_hermitian ? CUBLAS_OP_T : CUBLAS_OP_C);
}

/* Every operation, or side, triangle and operation; places and diagonals take turns. */
static void check_forms(const routine *r)
{
    const call usual = usual_call(r);
    char name[64];
    int count = 0;
    for (int i = 0; i < 12; i++) {
        call x = usual;
        x.op = i % 3;
        x.op_b = i / 3 % 3;
        x.uplo = i / 3 % 2 ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
        x.side = i / 6 % 2 ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT;
        x.diag = (i + i / 3) % 2 ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
        x.is_in_place = r->kind == TRMM && i % 4 > 1;
        const int forms = r->kind == GEMM ? 9 : is_rank_update(&x) ? 6 : 12;
        if (i >= forms || (r->kind == SYMM && x.op) || !is_allowed(&x)) continue;
        x.place = (place)(count++ % PLACES);
        snprintf(name, sizeof name, "form %d %s", i, place_names[x.place]);
        check(&x, name);
    }
}

static void check_scalars(const routine *r)
{
    static const double scalars[][4] = {
        {1, 0, 0, 0}, {0, 0, 0.5, 1}, {0, 0, 0, 0}, {-1, 0, 1, 0}, {0, 2, 0, 0}};
    char name[64];
    for (int i = 0; i < 5; i++) {
        call x = usual_call(r);
        memcpy(x.alpha, scalars[i], sizeof x.alpha);
        memcpy(x.beta, &scalars[i][2], sizeof x.beta);
        snprintf(name, sizeof name, "scalars %g%+gi %g%+gi", x.alpha[0], x.alpha[1], x.beta[0],
                 x.beta[1]);
        check(&x, name);
    }
}

static void check_sizes(const routine *r)
{
    static const size_t sizes[][3] = {{0, 5, 5}, {5, 0, 5}, {5, 5, 0}, {1, 1, 1}, {129, 2, 300}};
    char name[64];
    for (int i = 0; i < 5; i++) {
        call x = usual_call(r);
        x.m = sizes[i][0], x.n = sizes[i][1], x.k = sizes[i][2];
        snprintf(name, sizeof name, "size %zu x %zu x %zu", x.m, x.n, x.k);
        check(&x, name);
    }
}

/* An operation, a triangle or a side that is none. */
static void check_bad(const routine *r)
{
    call bad = usual_call(r);
    if (r->kind == SYMM)
        bad.side = 7;
    else
        bad.op = 7;
    check(&bad, "a bad argument");
}

/* Handles that were told of no device, or of one that is not there. */
static void check_handles(void)
{
    const call usual = usual_call(&level3_routines[0]),
               solve = usual_call(&level3_routines[LEVEL3_ROUTINES - 1]);
    int absent = 99;
    cublasXtHandle_t given = xt;
    REQUIRE(cublasXtCreate(&xt));
    check(&usual, "no device");
    check(&solve, "no device");
    printf("cublasXtDeviceSelect ; status %d\n", (int)cublasXtDeviceSelect(xt, 1, &absent));
    check(&usual, "no such device");
    REQUIRE(cublasXtDestroy(xt));
    xt = given;
}

/* Calls between the two ends of a capture, in each of its modes, of a stream that waits for the
 * default one and of one that does not: the capture goes on. */
static void check_beside_captures(void)
{
    enum { SIDE = 40, MODES = 3 };
    static double a[SIDE * SIDE], c[SIDE * SIDE];
    const double one = 1.0, zero = 0.0;
    for (int i = 0; i < SIDE * SIDE; i++) a[i] = i % (SIDE + 1) == 0 ? 2.0 : 0.0;
    for (int way = 0; way < 2 * MODES; way++) {
        cudaStream_t stream;
        cudaGraph_t graph = NULL;
        int device = -1;
        memset(c, 0, sizeof c);
        REQUIRE(cudaStreamCreateWithFlags(&stream, (unsigned)way / MODES));
        REQUIRE(cudaStreamBeginCapture(stream, (enum cudaStreamCaptureMode)(way % MODES)));
        const int status = (int)cublasXtDgemm(xt, CUBLAS_OP_N, CUBLAS_OP_N, SIDE, SIDE, SIDE, &one,
                                              a, SIDE, a, SIDE, &zero, c, SIDE);
        const bool has_ended = cudaStreamEndCapture(stream, &graph) != cudaSuccess;
        bool is_right = true;
        for (int i = 0; i < SIDE * SIDE; i++) is_right = is_right && c[i] == 2.0 * a[i];
        REQUIRE(cudaGetDevice(&device));
        printf("cublasXtDgemm beside capture %d ; status %d ; %s ; device %d\n", way, status,
               has_ended  ? "ended it"
               : is_right ? "same"
                          : "other",
               device);
        if (graph) REQUIRE(cudaGraphDestroy(graph));
        (void)cudaGetLastError();
        REQUIRE(cudaStreamDestroy(stream));
    }
}

static void check_all(void)
{
    for (int i = 0; i < LEVEL3_ROUTINES; i++) {
        check_forms(&level3_routines[i]);
        check_scalars(&level3_routines[i]);
        check_sizes(&level3_routines[i]);
        check_bad(&level3_routines[i]);
    }
    check_handles();
    check_beside_captures();
}

/* ---- tiles ---- */

/* The longer side of the result is the one that a triangle beside B leaves to be cut. */
static call large_call(const routine *r, int side)
{
    enum { SHORT = 70, LONG = 560, ORDER = 300 };
    call x = usual_call(r);
    x.side = side;
    x.m = side == CUBLAS_SIDE_LEFT ? SHORT : LONG;
    x.n = side == CUBLAS_SIDE_LEFT ? LONG : SHORT;
    if (is_rank_update(&x)) x.n = ORDER;
    if (r->kind == TRSM) *(side == CUBLAS_SIDE_LEFT ? &x.n : &x.m) = 2 * LONG; /* it has no C */
    x.k = is_rank_update(&x) ? SHORT / 2 : SHORT;
    x.op = side == CUBLAS_SIDE_LEFT ? CUBLAS_OP_N : r->is_hermitian ? CUBLAS_OP_C : CUBLAS_OP_T;
    x.uplo = side == CUBLAS_SIDE_LEFT ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
    x.is_in_place = r->kind == TRMM && side == CUBLAS_SIDE_RIGHT;
    return x;
}

static void run_large(const call *x)
{
    result now;
    const cublasStatus_t status = run(x, PAGEABLE, true, &now);
    printf("cublasXt%s %s ; status %d ; %016llx\n", x->r->name,
           x->side == CUBLAS_SIDE_LEFT ? "left" : "right", (int)status,
           (unsigned long long)hash_bytes(HASH_START, now.after, now.count * sizeof *now.after));
    free_result(&now);
}

/* Of the functions in whose names a word is. */
static void run_tiles(bool in_stages, const char *word)
{
    enum { ORDER = 600, VECTORS = 70 };
    for (int i = 0; i < 2 * LEVEL3_ROUTINES; i++) {
        const bool is_left = i % 2 == 0;
        call x =
            large_call(&level3_routines[i / 2], is_left ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT);
        if ((in_stages && x.r->kind != TRSM) || !strstr(x.r->name, word)) continue;
        if (in_stages) {
            x.m = is_left ? ORDER : VECTORS;
            x.n = is_left ? VECTORS : ORDER;
        }
        run_large(&x);
    }
}

/* ---- faults ---- */

/* The host device's: HOSTGPU_FAULT_ALLOCATION and _LAUNCH. */
enum { KINDS = 2 };
static const char *const kind_names[KINDS] = {"allocation", "launch"};
static void (*fail_at)(int, unsigned long long, unsigned long long);
static unsigned long long (*failures)(int);

/* One of each way of being cut: by vectors, in a triangle, and a solve. */
static bool is_for_faults(const routine *r)
{
    return !r->is_complex && (r->kind == SYMM || r->kind == SYRK || r->kind == TRSM);
}

/* From an allocation, a launch or a copy that fails to the next one that does. */
static int step_of_faults(void) { return test_is_brief() ? 7 : 1; }

/* Runs a call in which one of these fails; false if it has fewer. */
static bool run_with_fault(const call *x, const result *want, int kind, unsigned long long number)
{
    result now;
    fail_at(kind, number, 1);
    const cublasStatus_t status = run(x, PAGEABLE, true, &now);
    const bool has_failed = failures(kind) > 0;
    fail_at(kind, 0, 0);
    const char *what = status ? "failed" : compare(x, &now, want);
    if (strcmp(what, "same") != 0 && strcmp(what, "right") != 0)
        printf("cublasXt%s ; %s %llu ; %s\n", x->r->name, kind_names[kind], number, what);
    free_result(&now);
    return has_failed;
}

/* Each allocation and each launch fails once. Prints what goes wrong, and how many there are. */
static void fail_everywhere(const routine *r)
{
    const call x = large_call(r, CUBLAS_SIDE_LEFT);
    result want;
    *(void **)&fail_at = dlsym(RTLD_DEFAULT, "hostgpu_fail_at");
    *(void **)&failures = dlsym(RTLD_DEFAULT, "hostgpu_failures");
    REQUIRE(!fail_at || !failures);
    REQUIRE(run(&x, PAGEABLE, true, &want));
    for (int kind = 0; kind < KINDS; kind++) {
        unsigned long long number = 1;
        while (run_with_fault(&x, &want, kind, number)) number += (unsigned)step_of_faults();
        printf("cublasXt%s ; %s ; %llu\n", r->name, kind_names[kind], number - 1);
    }
    free_result(&want);
}

/* Runs a call in which that copy fails; false if it has fewer. */
static bool run_with_failing_copy(const call *x, const result *want, int number)
{
    result now;
    int under_way;
    copies_begin(number);
    const cublasStatus_t status = run(x, PINNED, true, &now);
    const int count = copies_end(&under_way);
    const char *what = status ? "failed" : compare(x, &now, want);
    if (under_way || (strcmp(what, "wrong") == 0 || strcmp(what, "damaged") == 0))
        printf("cublasXt%s ; copy %d ; %s, %d under way\n", x->r->name, number, what, under_way);
    free_result(&now);
    return count >= number;
}

static void fail_each_copy(const routine *r)
{
    const call x = large_call(r, CUBLAS_SIDE_LEFT);
    result want;
    int number = 1;
    REQUIRE(run(&x, PINNED, true, &want));
    while (run_with_failing_copy(&x, &want, number)) number += step_of_faults();
    printf("cublasXt%s ; copies ; %d\n", r->name, number - 1);
    free_result(&want);
}

static void run_in_place(const routine *r)
{
    call x = large_call(r, CUBLAS_SIDE_LEFT);
    result now;
    int under_way;
    x.is_in_place = true;
    copies_begin(0);
    REQUIRE(run(&x, PINNED, true, &now));
    (void)copies_end(&under_way);
    printf("cublasXt%s ; %d\n", r->name, copies_too_early());
    free_result(&now);
}

/* ---- columns that are far apart ---- */

enum { FAR_SIDE = 40, FAR_COLUMNS = 3, FAR_LD = (1 << 28) + 8 };

/* Address space alone, of which a few pages are used. */
static double *map_far(void)
{
    const size_t bytes = sizeof(double) * ((FAR_COLUMNS - 1) * (size_t)FAR_LD + FAR_SIDE);
    void *far = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(far == MAP_FAILED);
    return far;
}

/* The call's result where columns are so far apart. */
static cublasStatus_t run_far(int which, const double *a, double *b, double *c, size_t ld)
{
    const double one = 1.0, zero = 0.0;
    for (size_t j = 0; j < FAR_COLUMNS; j++)
        for (size_t i = 0; i < FAR_SIDE; i++) b[i + j * ld] = sin((double)(i + FAR_SIDE * j + 1));
    if (which == 0)
        return cublasXtDgemm(xt, CUBLAS_OP_N, CUBLAS_OP_N, FAR_SIDE, FAR_COLUMNS, FAR_SIDE, &one, a,
                             FAR_SIDE, a, FAR_SIDE, &zero, c, ld);
    if (which == 1)
        return cublasXtDsyrk(xt, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, FAR_COLUMNS, FAR_SIDE, &one,
                             b, ld, &zero, c, ld);
    return cublasXtDtrsm(xt, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                         CUBLAS_DIAG_NON_UNIT, FAR_SIDE, FAR_COLUMNS, &one, a, FAR_SIDE, b, ld);
}

static void compare_far(void)
{
    static const char *const names[] = {"Dgemm", "Dsyrk", "Dtrsm"};
    static double a[FAR_SIDE * FAR_SIDE], near[2][FAR_SIDE * FAR_COLUMNS];
    double *const far[2] = {map_far(), map_far()};
    for (int i = 0; i < FAR_SIDE * FAR_SIDE; i++)
        a[i] = i % (FAR_SIDE + 1) == 0 ? 2.0 : 0.01 * cos(i);
    for (int which = 0; which < 3; which++) {
        const cublasStatus_t status = run_far(which, a, far[0], far[1], FAR_LD);
        bool is_same = true;
        REQUIRE(run_far(which, a, near[0], near[1], FAR_SIDE));
        for (size_t i = 0; i < 2; i++)
            for (size_t j = 0; j < FAR_COLUMNS; j++)
                is_same &= memcmp(&near[i][j * FAR_SIDE], far[i] + j * FAR_LD,
                                  FAR_SIDE * sizeof **far) == 0;
        printf("cublasXt%s ; status %d ; %s\n", names[which], (int)status,
               is_same ? "same" : "wrong");
    }
}

/* ---- threads ---- */

enum { THREADS = 4 };
typedef struct {
    pthread_t thread;
    const call *x;
    unsigned long long hash;
} caller;

static cublasXtHandle_t make_handle(int block);

static void *call_with_own_handle(void *of)
{
    caller *c = of;
    const call *x = c->x;
    cublasXtHandle_t own = make_handle(own_block);
    matrix a = make(x, shape_of_a(x), area_of_a(x), 1), b = make(x, shape_of_b(x), ALL, 2),
           m = make(x, shape_of_c(x), area_of_c(x), 3);
    put(&a, PAGEABLE);
    put(&b, PAGEABLE);
    put(&m, PAGEABLE);
    REQUIRE(apply(x, x->r->xt, own, &a, x->is_in_place ? &m : &b, &m));
    c->hash = hash_bytes(HASH_START, m.at, m.bytes);
    drop(&a);
    drop(&b);
    drop(&m);
    REQUIRE(cublasXtDestroy(own));
    return NULL;
}

static void run_threads(void)
{
    for (int i = 0; i < LEVEL3_ROUTINES; i++) {
        const call x = large_call(&level3_routines[i], CUBLAS_SIDE_LEFT);
        caller callers[THREADS];
        bool is_same = true;
        for (int t = 0; t < THREADS; t++) {
            callers[t].x = &x;
            REQUIRE(pthread_create(&callers[t].thread, NULL, call_with_own_handle, &callers[t]));
        }
        for (int t = 0; t < THREADS; t++) {
            REQUIRE(pthread_join(callers[t].thread, NULL));
            is_same = is_same && callers[t].hash == callers[0].hash;
        }
        printf("cublasXt%s left ; status 0 ; %016llx%s\n", x.r->name, callers[0].hash,
               is_same ? "" : " and others");
    }
}

/* ---- devices ---- */

enum { MOST_DEVICES = 8 };
static int device_count, devices[MOST_DEVICES];

/* Those of XT_DEVICES, or all. */
static void find_devices(void)
{
    const char *names = getenv("XT_DEVICES");
    int count = 0;
    REQUIRE(cudaGetDeviceCount(&count));
    if (!names)
        for (; device_count < count && device_count < MOST_DEVICES; device_count++)
            devices[device_count] = device_count;
    for (const char *at = names; at && device_count < MOST_DEVICES; at++) {
        devices[device_count++] = atoi(at);
        at = strchr(at, ',');
        if (!at) break;
    }
}

static cublasXtHandle_t make_handle(int block)
{
    cublasXtHandle_t made;
    REQUIRE(cublasXtCreate(&made));
    REQUIRE(cublasXtDeviceSelect(made, device_count, devices));
    if (block) REQUIRE(cublasXtSetBlockDim(made, block));
    if (getenv("XT_PINS")) REQUIRE(cublasXtSetPinningMemMode(made, CUBLASXT_PINNING_ENABLED));
    return made;
}

/* Takes all but some KiB of a device's memory. */
static void fill_device(int device)
{
    void *unused;
    int before;
    REQUIRE(cudaGetDevice(&before));
    REQUIRE(cudaSetDevice(device));
    for (size_t bytes = (size_t)1 << 40; bytes >= 1 << 14; bytes /= 2)
        while (cudaMalloc(&unused, bytes) == cudaSuccess) {
        }
    (void)cudaGetLastError();
    REQUIRE(cudaSetDevice(before));
}

int main(int argc, char **argv)
{
    int count = 0;
    const char *what = argc >= 3 ? argv[1] : "", *full = getenv("XT_FULL");
    own_block = argc >= 3 ? atoi(argv[2]) : 0;
    find_devices();
    xt = make_handle(own_block);
    REQUIRE(cudaGetDeviceCount(&count));
    REQUIRE(cudaSetDevice(count - 1));
    REQUIRE(cublasCreate_v2(&handle));
    if (full) fill_device(atoi(full));
    if (strcmp(what, "tiles") == 0 || strcmp(what, "stages") == 0) {
        run_tiles(strcmp(what, "stages") == 0, argc == 4 ? argv[3] : "");
    } else if (strcmp(what, "threads") == 0) {
        run_threads();
    } else if (strcmp(what, "faults") == 0) {
        for (int i = 0; i < LEVEL3_ROUTINES; i++)
            if (is_for_faults(&level3_routines[i])) fail_everywhere(&level3_routines[i]);
    } else if (strcmp(what, "copies") == 0) {
        for (int i = 0; i < LEVEL3_ROUTINES; i++)
            if (is_for_faults(&level3_routines[i])) fail_each_copy(&level3_routines[i]);
    } else if (strcmp(what, "far") == 0) {
        compare_far();
    } else if (strcmp(what, "in_place") == 0) {
        for (int i = 0; i < LEVEL3_ROUTINES; i++)
            if (level3_routines[i].kind == TRMM) run_in_place(&level3_routines[i]);
    } else {
        check_all();
    }
    REQUIRE(cublasDestroy_v2(handle));
    REQUIRE(cublasXtDestroy(xt));
    return 0;
}
