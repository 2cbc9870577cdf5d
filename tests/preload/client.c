/* client.c - a cuBLAS program that knows nothing of Tandem. It calls every function of forms.h in
 * every way and prints a line each:
 *
 *   NAME ; status N ; c WHAT ; kinds HASH ; device N stream N mode N math N error N
 *
 * WHAT: `unchanged` if C's bits are what they were, MODE if they are those of the definition of
 * that mode, else `other`; kinds: which elements of C are NaN or infinite; the rest: the state that
 * a call must leave alone. check_preload.py compares the lines of runs with and without Tandem. */
#include "forms.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../kernels/support/problem.h"
#include "../ref/ref_ozaki.h"
#include "../support/bits.h"
#include "../support/hash.h"
#include "require.h"

static const char *expected; /* the mode that C is compared with */

static int stride = 1, turn; /* of the cases that take turns every stride-th runs */

enum { BATCH = 3, THREADS = 2, REPETITIONS = 8 };

/* A product, or BATCH of them, on host and device. */
typedef struct {
    const form *form;
    int count;
    problem host[BATCH];
    double *a, *b, *c, *scalars; /* device memory; members behind one another */
    double **arrays;             /* of pointers to the members: A, B, C */
    arguments call;
    double *after; /* C's storage as it is after the call */
} job;

static void *allocate(size_t bytes)
{
    void *p = NULL;
    REQUIRE(cudaMalloc(&p, bytes ? bytes : 8));
    return p;
}

static double *upload(const job *j, size_t offset, size_t count)
{
    double *all = allocate((size_t)j->count * count * sizeof(double));
    for (int z = 0; z < j->count; z++) {
        const test_matrix *m = (const test_matrix *)((const char *)&j->host[z] + offset);
        REQUIRE(cudaMemcpy(all + (size_t)z * count, m->storage, count * sizeof(double),
                           cudaMemcpyHostToDevice));
    }
    return all;
}

static void make_arrays(job *j)
{
    double *pointers[3 * BATCH];
    const problem *p = &j->host[0];
    for (int z = 0; z < j->count; z++) {
        pointers[z] = j->a + (size_t)z * p->a.count + p->a.guard;
        pointers[BATCH + z] = j->b + (size_t)z * p->b.count + p->b.guard;
        pointers[2 * BATCH + z] = j->c + (size_t)z * p->c.count + p->c.guard;
    }
    j->arrays = allocate(sizeof pointers);
    REQUIRE(cudaMemcpy(j->arrays, pointers, sizeof pointers, cudaMemcpyHostToDevice));
}

static cublasOperation_t op_of(tandem_op op, bool conjugate)
{
    return op == TANDEM_OP_N ? CUBLAS_OP_N : conjugate ? CUBLAS_OP_C : CUBLAS_OP_T;
}

/* After the host's matrices are as wanted: everything on the device, and the arguments of a valid
 * call. */
static void job_upload(job *j, cublasHandle_t handle)
{
    const problem *p = &j->host[0];
    const product *of = &p->of;
    const double scalars[] = {of->alpha, of->beta};
    j->a = upload(j, offsetof(problem, a), p->a.count);
    j->b = upload(j, offsetof(problem, b), p->b.count);
    j->c = upload(j, offsetof(problem, c), p->c.count);
    j->scalars = allocate(sizeof scalars);
    REQUIRE(cudaMemcpy(j->scalars, scalars, sizeof scalars, cudaMemcpyHostToDevice));
    make_arrays(j);
    j->call = (arguments){
        .handle = handle,
        .op_a = op_of(of->op_a, false),
        .op_b = op_of(of->op_b, false),
        .m = of->m,
        .n = of->n,
        .k = of->k,
        .lda = p->a.ld,
        .ldb = p->b.ld,
        .ldc = p->c.ld,
        .batch = j->count,
        .stride_a = (long long)p->a.count,
        .stride_b = (long long)p->b.count,
        .stride_c = (long long)p->c.count,
        .alpha_value = of->alpha,
        .beta_value = of->beta,
        .a = j->a + p->a.guard,
        .b = j->b + p->b.guard,
        .c = j->c + p->c.guard,
        .a_array = (const double *const *)j->arrays,
        .b_array = (const double *const *)(j->arrays + BATCH),
        .c_array = j->arrays + 2 * BATCH,
        .type_a = CUDA_R_64F,
        .type_c = CUDA_R_64F,
        .compute = CUBLAS_COMPUTE_64F,
    };
}

static void job_make(job *j, const form *f, const product *of)
{
    memset(j, 0, sizeof *j);
    j->form = f;
    j->count = f->has_batch ? BATCH : 1;
    for (int z = 0; z < j->count; z++) {
        product member = *of;
        member.seed += (uint64_t)z;
        j->host[z] = problem_make(&member);
    }
}

static void job_free(job *j)
{
    void *const memory[] = {j->a, j->b, j->c, j->scalars, j->arrays};
    for (int i = 0; i < 5; i++) REQUIRE(cudaFree(memory[i]));
    for (int z = 0; z < j->count; z++) problem_free(&j->host[z]);
    free(j->after);
}

static void job_download(job *j)
{
    const size_t bytes = (size_t)j->count * j->host[0].c.count * sizeof(double);
    j->after = malloc(bytes + 1);
    if (!j->after) exit(3);
    REQUIRE(cudaDeviceSynchronize());
    REQUIRE(cudaMemcpy(j->after, j->c, bytes, cudaMemcpyDeviceToHost));
}

/* Member z of C as it is now, borders included. */
static test_matrix member_after(const job *j, int z)
{
    test_matrix c = matrix_copy(&j->host[z].c);
    memcpy(c.storage, j->after + (size_t)z * c.count, c.count * sizeof(double));
    return c;
}

/* Member z of C is the expected mode's product, in all bits. */
static bool is_expected(const job *j, int z)
{
    test_matrix now = member_after(j, z), want = matrix_copy(&j->host[z].c);
    const ref_gemm gemm = problem_gemm(&j->host[z], &want);
    ref_product(expected, &gemm);
    const bool is_equal = matrix_difference(&now, &want) == -1;
    matrix_free(&now, &want);
    return is_equal;
}

/* The reference is computed for a C that has changed alone. */
static const char *describe_c(const job *j)
{
    bool is_same = true, is_damaged = false;
    for (int z = 0; z < j->count; z++) {
        test_matrix now = member_after(j, z);
        const test_matrix *before = &j->host[z].c;
        is_same &= memcmp(now.storage, before->storage, now.count * sizeof(double)) == 0;
        is_damaged |= matrix_damage(&now) != -1;
        matrix_free(&now);
    }
    if (is_damaged) return "damaged";
    if (is_same) return "unchanged";
    for (int z = 0; z < j->count; z++)
        if (!is_expected(j, z)) return "other";
    return expected;
}

/* Which elements are NaN, infinite of either sign, or finite. */
static uint64_t kinds_of_c(const job *j)
{
    uint64_t hash = HASH_START;
    for (int z = 0; z < j->count; z++) {
        test_matrix c = member_after(j, z);
        for (int64_t col = 0; col < c.cols; col++)
            for (int64_t row = 0; row < c.rows; row++) {
                const double x = *matrix_at(&c, row, col);
                const char kind = isnan(x) ? 'n' : !isinf(x) ? 'f' : x > 0.0 ? '+' : '-';
                hash = hash_bytes(hash, &kind, 1);
            }
        matrix_free(&c);
    }
    return hash;
}

/* State */

typedef struct {
    int device, mode, math, error, has_stream;
} state;

static state observe(const job *j, cudaStream_t stream)
{
    state s = {.device = -1};
    s.error = (int)cudaPeekAtLastError();
    REQUIRE(cudaGetDevice(&s.device));
    if (!j->call.handle) return s;
    cudaStream_t now;
    cublasPointerMode_t mode;
    cublasMath_t math;
    REQUIRE(cublasGetStream_v2(j->call.handle, &now));
    REQUIRE(cublasGetPointerMode_v2(j->call.handle, &mode));
    REQUIRE(cublasGetMathMode(j->call.handle, &math));
    s.has_stream = now == stream;
    s.mode = (int)mode;
    s.math = (int)math;
    return s;
}

typedef struct {
    cublasHandle_t handle;
    cudaStream_t stream;
    bool scalars_on_device, error_pending;
} setting;

/* Makes the call and prints its line. */
static void job_run(job *j, const setting *how, const char *name)
{
    cublasHandle_t handle = j->call.handle;
    if (!j->call.alpha && !j->call.beta && j->form->has_handle) {
        const problem *p = &j->host[0];
        j->call.alpha = how->scalars_on_device ? j->scalars : &p->of.alpha;
        j->call.beta = how->scalars_on_device ? j->scalars + 1 : &p->of.beta;
    }
    if (handle)
        REQUIRE(cublasSetPointerMode_v2(handle, how->scalars_on_device ? CUBLAS_POINTER_MODE_DEVICE
                                                                       : CUBLAS_POINTER_MODE_HOST));
    REQUIRE(cudaDeviceSynchronize());
    void *unused = NULL;
    if (how->error_pending) (void)cudaMalloc(&unused, (size_t)1 << 60);
    const cublasStatus_t status = j->form->call(&j->call);
    const state s = observe(j, how->stream);
    (void)cudaGetLastError();
    job_download(j);
    printf(
        "%s %s ; status %d ; c %s ; kinds %016llx ; device %d stream %d mode %d math %d error %d\n",
        j->form->name, name, (int)status, describe_c(j), (unsigned long long)kinds_of_c(j),
        s.device, s.has_stream, s.mode, s.math, s.error);
    job_free(j);
}

static bool has_turn(void) { return turn++ % stride == 0; }

static product ordinary(void)
{
    return (product){.data = "both signs",
                     .m = 70,
                     .n = 35,
                     .k = 50,
                     .pad_a = 1,
                     .pad_b = 2,
                     .pad_c = 3,
                     .guard = 2,
                     .alpha = 1.7,
                     .beta = -0.3,
                     .seed = 71};
}

static void run_plain(const form *f, const setting *how, const product *of, const char *name)
{
    job j;
    job_make(&j, f, of);
    job_upload(&j, f->has_handle ? how->handle : NULL);
    job_run(&j, how, name);
}

/* All nine pairs of operations. C means T for real matrices. */
static void run_operations(const form *f, const setting *how)
{
    static const char letters[] = "NTC";
    for (int ops = 0; ops < 9; ops++) {
        if (!has_turn()) continue;
        char name[64];
        product of = ordinary();
        job j;
        of.op_a = ops % 3 ? TANDEM_OP_T : TANDEM_OP_N;
        of.op_b = ops / 3 ? TANDEM_OP_T : TANDEM_OP_N;
        job_make(&j, f, &of);
        job_upload(&j, f->has_handle ? how->handle : NULL);
        j.call.op_a = op_of(of.op_a, ops % 3 == 2);
        j.call.op_b = op_of(of.op_b, ops / 3 == 2);
        snprintf(name, sizeof name, "operations %c%c %s", letters[ops % 3], letters[ops / 3],
                 how->scalars_on_device ? "device" : "host");
        job_run(&j, how, name);
    }
}

static void run_sizes(const form *f, const setting *how)
{
    static const int sizes[][3] = {{0, 5, 5}, {5, 0, 5}, {5, 5, 0}, {1, 1, 1}, {65, 1, 600}};
    static const double scalars[][2] = {{0.0, 0.5}, {1.5, 0.0}, {0.0, 0.0}, {-1.0, 1.0}};
    char name[64];
    for (int i = 0; i < 5; i++) {
        if (!has_turn()) continue;
        product of = ordinary();
        of.m = sizes[i][0], of.n = sizes[i][1], of.k = sizes[i][2];
        snprintf(name, sizeof name, "size %d x %d x %d %s", sizes[i][0], sizes[i][1], sizes[i][2],
                 how->scalars_on_device ? "device" : "host");
        run_plain(f, how, &of, name);
    }
    for (int i = 0; i < 4; i++) {
        if (!has_turn()) continue;
        product of = ordinary();
        of.alpha = scalars[i][0], of.beta = scalars[i][1];
        snprintf(name, sizeof name, "scalars %g %g %s", of.alpha, of.beta,
                 how->scalars_on_device ? "device" : "host");
        run_plain(f, how, &of, name);
    }
}

/* NaN and infinities in A, B, C and the scalars. */
static void run_special(const form *f, const setting *how)
{
    static const double values[] = {NAN, INFINITY, -INFINITY};
    static const char *const places[] = {"A", "B", "C", "A and B", "alpha", "beta"};
    for (int i = 0; i < 18; i++) {
        if (!has_turn()) continue;
        char name[64];
        const double value = values[i % 3];
        const int where = i / 3;
        product of = ordinary();
        job j;
        if (where == 4) of.alpha = value;
        if (where == 5) of.beta = value;
        job_make(&j, f, &of);
        for (int z = 0; z < j.count; z++) {
            if (where == 0 || where == 3) *matrix_at(&j.host[z].a, 7, 11) = value;
            if (where == 1) *matrix_at(&j.host[z].b, 11, 3) = value;
            if (where == 2) *matrix_at(&j.host[z].c, 5, 6) = value;
            if (where == 3) *matrix_at(&j.host[z].b, 11, 20) = 0.0;
        }
        job_upload(&j, f->has_handle ? how->handle : NULL);
        snprintf(name, sizeof name, "%g in %s", value, places[where]);
        job_run(&j, how, name);
    }
}

/* Makes arguments invalid, in the how-th of these ways, which it names. */
static void spoil(arguments *x, int how, const char **name)
{
    static double unused;
    int at = 0;
#define SPOIL(text, change)                                                                        \
    if (at++ == how) *name = text, change
    SPOIL("m -1", x->m = -1);
    SPOIL("n -1", x->n = -1);
    SPOIL("k -1", x->k = -1);
    SPOIL("lda 0", x->lda = 0);
    SPOIL("lda m-1", x->lda = x->m - 1);
    SPOIL("ldb k-1", x->ldb = x->k - 1);
    SPOIL("ldc m-1", x->ldc = x->m - 1);
    SPOIL("ldc -3", x->ldc = -3);
    SPOIL("op_a 7", x->op_a = 7);
    SPOIL("op_b 7", x->op_b = 7);
    SPOIL("a NULL", (x->a = NULL, x->a_array = NULL));
    SPOIL("b NULL", (x->b = NULL, x->b_array = NULL));
    SPOIL("c NULL", (x->c = NULL, x->c_array = NULL));
    SPOIL("alpha NULL", (x->alpha = NULL, x->beta = &unused));
    SPOIL("beta NULL", (x->alpha = &unused, x->beta = NULL));
    SPOIL("handle NULL", x->handle = NULL);
    SPOIL("batch -1", x->batch = -1);
    SPOIL("batch 0", x->batch = 0);
    SPOIL("type_a", x->type_a = CUDA_R_32F);
    SPOIL("type_c", x->type_c = CUDA_R_32F);
    SPOIL("compute", x->compute = CUBLAS_COMPUTE_32F);
#undef SPOIL
}
enum { SPOILED_BY_ALL = 13, SPOILED_BY_HANDLES = 16, SPOILED_BY_BATCHES = 18, SPOILED = 21 };
enum { CRASHES_OTHERS = 15 }; /* cuBLAS 13.1 reads NULL scalars in all but cublasDgemm */
enum { CRASHES_GROUPS = 10 }; /* and, from here on, NULL arrays of groups */

static void run_invalid(const form *f, const setting *how)
{
    for (int i = 0; i < SPOILED; i++) {
        const bool needs_handle = i >= SPOILED_BY_ALL && i < SPOILED_BY_HANDLES;
        const bool needs_batch = i >= SPOILED_BY_HANDLES && i < SPOILED_BY_BATCHES;
        if (needs_handle && !f->has_handle) continue;
        if (f->has_groups && i >= CRASHES_GROUPS && i < SPOILED_BY_ALL) continue;
        if (needs_handle && i < CRASHES_OTHERS && (f->has_batch || f->has_types)) continue;
        if (needs_batch && !f->has_batch) continue;
        if (i >= SPOILED_BY_BATCHES && !f->has_types) continue;
        char text[64];
        const char *name;
        const product of = ordinary();
        job j;
        job_make(&j, f, &of);
        job_upload(&j, f->has_handle ? how->handle : NULL);
        j.call.alpha = &j.host[0].of.alpha;
        j.call.beta = &j.host[0].of.beta;
        spoil(&j.call, i, &name);
        snprintf(text, sizeof text, "invalid: %s", name);
        job_run(&j, how, text);
    }
}

/* Threads with handles and streams of their own. */

typedef struct {
    int number, wrong;
} worker;

static void *work(void *argument)
{
    worker *w = argument;
    cublasHandle_t handle;
    cudaStream_t stream;
    REQUIRE(cublasCreate_v2(&handle));
    REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    REQUIRE(cublasSetStream_v2(handle, stream));
    for (int i = 0; i < REPETITIONS; i++) {
        product of = ordinary();
        job j;
        of.seed = (uint64_t)(100 * w->number + i);
        of.m += i;
        job_make(&j, &forms[0], &of);
        job_upload(&j, handle);
        j.call.alpha = &j.host[0].of.alpha;
        j.call.beta = &j.host[0].of.beta;
        REQUIRE(j.form->call(&j.call));
        REQUIRE(cudaStreamSynchronize(stream));
        job_download(&j);
        w->wrong += strcmp(describe_c(&j), expected) != 0;
        job_free(&j);
    }
    REQUIRE(cublasDestroy_v2(handle));
    REQUIRE(cudaStreamDestroy(stream));
    return NULL;
}

static void run_threads(void)
{
    pthread_t threads[THREADS];
    worker workers[THREADS];
    for (int t = 0; t < THREADS; t++) {
        workers[t] = (worker){.number = t + 1};
        REQUIRE(pthread_create(&threads[t], NULL, work, &workers[t]));
    }
    int wrong = 0;
    for (int t = 0; t < THREADS; t++) {
        REQUIRE(pthread_join(threads[t], NULL));
        wrong += workers[t].wrong;
    }
    printf("cublasDgemm_v2 threads ; status 0 ; c %s ; kinds 0 ; %d threads\n",
           wrong == 0                       ? expected
           : wrong == THREADS * REPETITIONS ? "other"
                                            : "mixed",
           THREADS);
}

static void run_everything(const setting *ways)
{
    for (int i = 0; i < form_count; i++) {
        const form *f = &forms[i];
        const setting *host = &ways[0], *device = &ways[1], *pending = &ways[2];
        const product of = ordinary();
        run_plain(f, host, &of, "host");
        if (f->is_brief) continue;
        run_operations(f, host);
        if (f->has_handle) run_operations(f, device);
        run_sizes(f, host);
        if (f->has_handle) run_sizes(f, device);
        run_special(f, host);
        run_invalid(f, host);
        run_plain(f, pending, &of, "with an error pending");
        if (f->has_handle) run_plain(f, &ways[3], &of, "plain arithmetic, host");
        if (f->has_handle && !f->has_groups)
            run_plain(f, &ways[4], &of, "plain arithmetic, device");
    }
    run_threads();
}

/* One product of m x n x k. */
static void run_one(const setting *how, int m, int n, int k)
{
    product of = ordinary();
    of.m = m, of.n = n, of.k = k;
    run_plain(&forms[0], how, &of, "one");
}

enum { HANDLES = 4 };

/* Modes of arithmetic that a program may ask for; the first handle has cuBLAS's own. */
static void set_math_modes(const cublasHandle_t handles[HANDLES])
{
    const int flag = CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
    REQUIRE(cublasSetMathMode(handles[1], (cublasMath_t)flag));
    const int pedantic = CUBLAS_PEDANTIC_MATH | flag;
    REQUIRE(cublasSetMathMode(handles[2], (cublasMath_t)pedantic));
    REQUIRE(cublasSetMathMode(handles[3], (cublasMath_t)pedantic));
    /* Not every cuBLAS takes both. */
    (void)cublasSetMathMode(handles[3],
                            (cublasMath_t)(pedantic | CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH));
}

/* client MODE [M N K]: everything, or one product of that size. client MODE STRIDE FIRST: of the
 * operations, sizes and special values every STRIDE-th. */
int main(int argc, char **argv)
{
    static const ref_gemm empty;
    expected = argc > 1 ? argv[1] : "";
    if (!ref_product(expected, &empty)) return 2;
    cublasHandle_t handles[HANDLES];
    cudaStream_t streams[HANDLES];
    for (int i = 0; i < HANDLES; i++) {
        REQUIRE(cublasCreate_v2(&handles[i]));
        REQUIRE(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
        REQUIRE(cublasSetStream_v2(handles[i], streams[i]));
    }
    set_math_modes(handles);
    const setting ways[] = {
        {handles[0], streams[0], false, false}, {handles[1], streams[1], true, false},
        {handles[1], streams[1], false, true},  {handles[2], streams[2], false, false},
        {handles[3], streams[3], true, false},
    };
    if (argc == 4) {
        stride = atoi(argv[2]);
        turn = stride - atoi(argv[3]);
        if (stride < 1 || turn < 1) return 2;
    }
    if (argc == 5) {
        run_one(&ways[0], atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
    } else {
        REQUIRE(cublasInit());
        run_everything(ways);
        REQUIRE(cublasShutdown());
    }
    for (int i = 0; i < HANDLES; i++) {
        REQUIRE(cublasDestroy_v2(handles[i]));
        REQUIRE(cudaStreamDestroy(streams[i]));
    }
    return 0;
}
