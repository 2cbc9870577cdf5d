/* client_lt.c - a program that multiplies by cublasLtMatmul. Usage: client_lt MODE linked |
 * looked-up | beside-a-walk INNER
 *
 * Every order, operation, place of C and of scalars, one matrix and a batch; the same of complex
 * matrices (lt_complex.h); then products that no mode makes, and calls that are not looked at. A
 * line each:
 *
 *   NAME ; status N ; WHAT
 *
 * WHAT: MODE if D has the bits of that mode's definition, `right` if it is near the exact product,
 * `wrong` if it is not, `damaged` if anything but D was written. INNER is a library with a
 * cuBLAS's name: inner_cublas.c. With beside-a-walk, one product alone, as looked up: it is made
 * while another thread walks through the images of the process, which nobody else can do then. */
#define _GNU_SOURCE 1
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <link.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../kernels/support/problem.h"
#include "../ref/ref_ozaki.h"
#include "lt_complex.h"
#include "require.h"

enum { MEMBERS = 3, WORKSPACE_BYTES = 8 << 20, LD_OF_C = 5 };

static const char *expected; /* mode */
static __typeof__(&cublasLtMatmul) matmul;
static cublasLtHandle_t handle;
static void *workspace;

/* Where what beta multiplies is. */
typedef enum { IN_PLACE, ELSEWHERE, NOWHERE, IN_PLACE_UNREAD } place_of_c;

/* How a call is made. */
typedef struct {
    bool is_row_a, is_row_b, is_row_c, is_row_d, on_device, is_captured;
    tandem_op op_a, op_b;
    int members;
    place_of_c place;
    cublasLtEpilogue_t epilogue;
    cublasComputeType_t compute;
    int32_t pointer_mode;  /* of scalars; -1: as on_device says */
    int64_t scalar_stride; /* between the scalars of two members, all of which are alike */
    int32_t invariance;    /* batch invariance flags; 0: none */
} way;

static const way ordinary = {.members = 1,
                             .epilogue = CUBLASLT_EPILOGUE_DEFAULT,
                             .compute = CUBLAS_COMPUTE_64F,
                             .pointer_mode = -1};

/* Attributes of an operation that cuBLAS 13.10 has, and older headers have no names for. */
enum { ALPHA_BATCH_STRIDE = 39, BETA_BATCH_STRIDE = 40, BATCH_INVARIANCE_FLAGS = 41 };
enum { BATCH_INVARIANCE_AUTO = 8 };

/* CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT, which older headers lack. */
enum { EMULATED_FIXEDPOINT = 79 };

/* A call's matrices: members behind one another in device memory. */
typedef struct {
    problem host[MEMBERS];
    test_matrix d_stored[MEMBERS]; /* C of a problem, or, if D is in rows, its transpose */
    double *a, *b, *c, *d, *scalars;
    int64_t ld_c, stride_c;
} job;

static void *upload(const void *host, size_t bytes)
{
    void *device = NULL;
    REQUIRE(cudaMalloc(&device, bytes));
    REQUIRE(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
    return device;
}

/* A matrix, or its transpose, with guards of its own. */
static test_matrix stored(const test_matrix *m, bool is_transposed)
{
    if (!is_transposed) return matrix_copy(m);
    test_matrix t = matrix_make(m->cols, m->rows, m->cols + 2, m->guard);
    for (int64_t col = 0; col < m->cols; col++)
        for (int64_t row = 0; row < m->rows; row++)
            *matrix_at(&t, col, row) = *matrix_at(m, row, col);
    return t;
}

/* The members' matrices of one operand. */
static double *upload_all(const test_matrix *const of[MEMBERS], int members)
{
    const size_t count = of[0]->count;
    double *all = malloc((size_t)members * count * sizeof *all), *device;
    if (!all) exit(3);
    for (int z = 0; z < members; z++)
        memcpy(all + (size_t)z * count, of[z]->storage, count * sizeof *all);
    device = upload(all, (size_t)members * count * sizeof *all);
    free(all);
    return device;
}

/* C with another leading dimension than D, in rows or columns, and D all NaN. */
static void part_c_from_d(job *j, const way *w)
{
    const test_matrix *first = &j->host[0].c;
    const int64_t line = w->is_row_c ? first->cols : first->rows,
                  lines = w->is_row_c ? first->rows : first->cols;
    j->ld_c = line + LD_OF_C;
    j->stride_c = j->ld_c * lines + 1;
    double *c = calloc((size_t)(w->members * j->stride_c), sizeof *c);
    if (!c) exit(3);
    for (int z = 0; z < w->members; z++) {
        test_matrix *d = &j->d_stored[z];
        for (int64_t col = 0; col < first->cols; col++)
            for (int64_t row = 0; row < first->rows; row++)
                c[z * j->stride_c + (w->is_row_c ? row : col) * j->ld_c +
                  (w->is_row_c ? col : row)] = *matrix_at(&j->host[z].c, row, col);
        for (int64_t col = 0; col < d->cols; col++)
            for (int64_t row = 0; row < d->rows; row++) *matrix_at(d, row, col) = NAN;
    }
    j->c = upload(c, (size_t)(w->members * j->stride_c) * sizeof *c);
    free(c);
}

static void job_make(job *j, const way *w)
{
    product of = {.data = "both signs",
                  .op_a = w->op_a,
                  .op_b = w->op_b,
                  .m = 21,
                  .n = 18,
                  .k = 40,
                  .pad_a = 3,
                  .pad_b = 1,
                  .pad_c = 2,
                  .guard = 3,
                  .alpha = 1.25,
                  .beta = w->place >= NOWHERE ? 0.0 : -0.75,
                  .seed = 4711};
    memset(j, 0, sizeof *j);
    const test_matrix *a[MEMBERS], *b[MEMBERS], *d[MEMBERS];
    for (int z = 0; z < w->members; z++, of.seed++) {
        j->host[z] = problem_make(&of);
        j->d_stored[z] = stored(&j->host[z].c, w->is_row_d);
        a[z] = &j->host[z].a;
        b[z] = &j->host[z].b;
        d[z] = &j->d_stored[z];
    }
    const double scalars[] = {of.alpha, of.beta, of.alpha, of.beta, of.alpha, of.beta};
    j->scalars = upload(scalars, sizeof scalars);
    j->ld_c = w->is_row_c == w->is_row_d ? d[0]->ld : of.m + of.n; /* of a C that nobody reads */
    j->stride_c = (int64_t)d[0]->count;
    if (w->place == ELSEWHERE) part_c_from_d(j, w);
    j->a = upload_all(a, w->members);
    j->b = upload_all(b, w->members);
    j->d = upload_all(d, w->members);
}

static void job_free(job *j, const way *w)
{
    void *const memory[] = {j->a, j->b, j->c, j->d, j->scalars};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) REQUIRE(cudaFree(memory[i]));
    for (int z = 0; z < w->members; z++) {
        problem_free(&j->host[z]);
        matrix_free(&j->d_stored[z]);
    }
}

/* ---- descriptors ---- */

/* Of matrices that are stored in columns. In rows they are their own transposes. */
static cublasLtMatrixLayout_t layout_of(int64_t rows, int64_t columns, int64_t ld, bool is_row,
                                        int32_t members, int64_t stride)
{
    return lt_layout(CUDA_R_64F, is_row, is_row ? columns : rows, is_row ? rows : columns, ld,
                     members, stride);
}

static cublasLtMatrixLayout_t layout_of_matrix(const test_matrix *m, bool is_row, int members)
{
    return layout_of(m->rows, m->cols, m->ld, is_row, members, (int64_t)m->count);
}

static int32_t operation_of(tandem_op op, bool is_flipped)
{
    return (op == TANDEM_OP_N) == is_flipped ? CUBLAS_OP_T : CUBLAS_OP_N;
}

static void set(cublasLtMatmulDesc_t of, cublasLtMatmulDescAttributes_t which, int32_t value)
{
    REQUIRE(cublasLtMatmulDescSetAttribute(of, which, &value, sizeof value));
}

static cublasLtMatmulDesc_t make_operation(const way *w)
{
    cublasLtMatmulDesc_t operation;
    const int32_t by_place =
        w->on_device ? CUBLASLT_POINTER_MODE_DEVICE : CUBLASLT_POINTER_MODE_HOST;
    REQUIRE(cublasLtMatmulDescCreate(&operation, w->compute, CUDA_R_64F));
    set(operation, CUBLASLT_MATMUL_DESC_TRANSA, operation_of(w->op_a, w->is_row_a));
    set(operation, CUBLASLT_MATMUL_DESC_TRANSB, operation_of(w->op_b, w->is_row_b));
    set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, (int32_t)w->epilogue);
    set(operation, CUBLASLT_MATMUL_DESC_POINTER_MODE,
        w->pointer_mode == -1 ? by_place : w->pointer_mode);
    for (int which = ALPHA_BATCH_STRIDE; which <= BETA_BATCH_STRIDE && w->scalar_stride; which++)
        REQUIRE(cublasLtMatmulDescSetAttribute(operation, (cublasLtMatmulDescAttributes_t)which,
                                               &w->scalar_stride, sizeof w->scalar_stride));
    if (w->invariance)
        set(operation, (cublasLtMatmulDescAttributes_t)BATCH_INVARIANCE_FLAGS, w->invariance);
    return operation;
}

/* An algorithm for the call, as programs ask for one; *count is how many there are. */
static cublasLtMatmulAlgo_t choose(cublasLtMatmulDesc_t operation,
                                   const cublasLtMatrixLayout_t l[4], int *count)
{
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t result = {.workspaceSize = 0};
    *count = 0;
    REQUIRE(cublasLtMatmulPreferenceCreate(&preference));
    (void)cublasLtMatmulAlgoGetHeuristic(handle, operation, l[0], l[1], l[2], l[3], preference, 1,
                                         &result, count);
    REQUIRE(cublasLtMatmulPreferenceDestroy(preference));
    return result.algo;
}

static int multiply(job *j, const way *w, cudaStream_t stream)
{
    const problem *p = &j->host[0];
    const test_matrix *stored_d = &j->d_stored[0];
    double *d = j->d + stored_d->guard;
    const double *c = j->c ? j->c : w->place == NOWHERE ? NULL : d;
    const cublasLtMatrixLayout_t l[] = {layout_of_matrix(&p->a, w->is_row_a, w->members),
                                        layout_of_matrix(&p->b, w->is_row_b, w->members),
                                        layout_of(w->is_row_c ? p->c.cols : p->c.rows,
                                                  w->is_row_c ? p->c.rows : p->c.cols, j->ld_c,
                                                  w->is_row_c, w->members, j->stride_c),
                                        layout_of_matrix(stored_d, w->is_row_d, w->members)};
    cublasLtMatmulDesc_t operation = make_operation(w);
    int found;
    const cublasLtMatmulAlgo_t algorithm = choose(operation, l, &found);
    const void *alpha = w->on_device ? j->scalars : &p->of.alpha,
               *beta = w->on_device ? j->scalars + 1 : &p->of.beta;
    const int status = (int)matmul(handle, operation, alpha, j->a + p->a.guard, l[0],
                                   j->b + p->b.guard, l[1], beta, c, l[2], d, l[3],
                                   found ? &algorithm : NULL, workspace, WORKSPACE_BYTES, stream);
    for (int i = 0; i < 4; i++) REQUIRE(cublasLtMatrixLayoutDestroy(l[i]));
    REQUIRE(cublasLtMatmulDescDestroy(operation));
    return status;
}

/* ---- what became of D ---- */

/* now: D in columns. */
static const char *compare(const problem *p, const test_matrix *now)
{
    test_matrix want = matrix_copy(&p->c);
    const ref_gemm gemm = problem_gemm(p, &want);
    const char *what = expected;
    for (int64_t col = 0; col < now->cols; col++)
        for (int64_t row = 0; row < now->rows; row++)
            if (!(ref_measure(&gemm, row, col, *matrix_at(now, row, col)).error <= 0x1p-40))
                what = "wrong";
    ref_product(expected, &gemm);
    if (what == expected && matrix_difference(now, &want) != -1) what = "right";
    matrix_free(&want);
    return what;
}

static const char *describe(job *j, const way *w)
{
    const char *what = NULL;
    for (int z = 0; z < w->members; z++) {
        test_matrix *const there = &j->d_stored[z];
        REQUIRE(cudaMemcpy(there->storage, j->d + (size_t)z * there->count,
                           there->count * sizeof(double), cudaMemcpyDeviceToHost));
        test_matrix now = stored(there, w->is_row_d);
        const char *one = matrix_damage(there) != -1 ? "damaged" : compare(&j->host[z], &now);
        if (!what || strcmp(what, expected) == 0) what = one;
        matrix_free(&now);
    }
    return what;
}

/* The call as a graph that is launched once. */
static int multiply_by_graph(job *j, const way *w)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    REQUIRE(cudaStreamCreate(&stream));
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    const int status = multiply(j, w, stream);
    REQUIRE(cudaStreamEndCapture(stream, &graph));
    REQUIRE(cudaGraphInstantiate(&executable, graph, 0));
    REQUIRE(cudaGraphLaunch(executable, stream));
    REQUIRE(cudaStreamSynchronize(stream));
    REQUIRE(cudaGraphExecDestroy(executable));
    REQUIRE(cudaGraphDestroy(graph));
    REQUIRE(cudaStreamDestroy(stream));
    return status;
}

static void run(const char *name, const way *w)
{
    job j;
    job_make(&j, w);
    const int status = w->is_captured ? multiply_by_graph(&j, w) : multiply(&j, w, NULL);
    REQUIRE(cudaDeviceSynchronize());
    printf("%s ; status %d ; %s\n", name, status, status ? "refused" : describe(&j, w));
    job_free(&j, w);
}

static void run_all(void)
{
    static const char *const places[] = {"in place", "C elsewhere", "no C"};
    for (int i = 0; i < 32 * 3 * 2; i++) {
        way w = ordinary;
        char name[100];
        w.is_row_a = i & 1;
        w.is_row_b = i & 2;
        w.is_row_d = i & 4;
        w.op_a = i & 8 ? TANDEM_OP_T : TANDEM_OP_N;
        w.op_b = i & 16 ? TANDEM_OP_T : TANDEM_OP_N;
        w.place = (place_of_c)(i / 32 % 3);
        w.is_row_c = w.place != IN_PLACE && i & 8 ? !w.is_row_d : w.is_row_d;
        w.members = i / 96 ? MEMBERS : 1;
        w.on_device = w.place != NOWHERE && i / 2 % 2 != i / 96;
        snprintf(name, sizeof name, "product of %c%c%c%c %c%c, %s, %d, scalars on the %s",
                 w.is_row_a ? 'r' : 'c', w.is_row_b ? 'r' : 'c', w.is_row_c ? 'r' : 'c',
                 w.is_row_d ? 'r' : 'c', w.op_a == TANDEM_OP_N ? 'N' : 'T',
                 w.op_b == TANDEM_OP_N ? 'N' : 'T', places[w.place], w.members,
                 w.on_device ? "device" : "host");
        run(name, &w);
    }
}

static void run_captured(void)
{
    way w = ordinary;
    w.is_captured = true;
    run("product that is captured, in place", &w);
    w.place = ELSEWHERE;
    run("product that is captured, C elsewhere", &w);
    w.is_row_d = true;
    run("product that is captured, in rows", &w);
}

/* Products that no mode makes. */
static void run_refused(void)
{
    way w = ordinary;
    w.place = IN_PLACE_UNREAD;
    w.is_row_d = true;
    run("refused: C is D in another layout", &w);
    w = ordinary;
    w.members = MEMBERS;
    w.on_device = true;
    w.scalar_stride = 2;
    run("refused: a scalar for each member", &w);
    w = ordinary;
    w.invariance = BATCH_INVARIANCE_AUTO;
    run("refused: batch invariance is asked for", &w);
    w = ordinary;
    w.compute = (cublasComputeType_t)EMULATED_FIXEDPOINT;
    run("refused: the call asks for cuBLAS's own emulation", &w);
    w = ordinary;
    w.place = NOWHERE; /* which is invalid unless the beta in device memory is 0 */
    w.on_device = true;
    run("refused: invalid arguments", &w);
}

/* Calls that stay native, whether cublasLt makes them or not. */
static void run_native(void)
{
    way w = ordinary;
    w.compute = CUBLAS_COMPUTE_64F_PEDANTIC;
    run("native: pedantic", &w);
    w = ordinary;
    w.epilogue = CUBLASLT_EPILOGUE_RELU;
    run("native: an epilogue", &w);
    w = ordinary;
    w.on_device = true;
    w.pointer_mode = CUBLASLT_POINTER_MODE_DEVICE_VECTOR;
    run("native: a vector of alpha", &w);
    w = ordinary;
    cublasLtHandle_t own = handle;
    handle = NULL;
    run("native: no handle", &w);
    handle = own;
}

/* A call of cuBLAS's own. */
static void run_inner(const char *path)
{
    __typeof__(&cublasLtMatmul) outside = matmul;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL),
         *symbol = library ? dlsym(library, "cublasInner") : NULL;
    if (!symbol) fprintf(stderr, "client_lt: %s\n", dlerror());
    REQUIRE(!symbol);
    memcpy(&matmul, &symbol, sizeof matmul);
    run("native: cuBLAS's own call", &ordinary);
    run("native: cuBLAS's own call again", &ordinary);
    matmul = outside;
}

static void run_everything(const char *inner)
{
    run_all();
    multiply_complex(handle, matmul);
    run_captured();
    run_refused();
    run_native();
    run_inner(inner);
}

/* ---- beside a walk ---- */

static sem_t begun, ended; /* the walk; a product */
static way twice;          /* the same product, whose C is no result of another */

static void *multiply_twice(void *of)
{
    job *j = of;
    int status = multiply(j, &twice, NULL);
    (void)sem_post(&ended);
    (void)sem_wait(&begun);
    status = status ? status : multiply(j, &twice, NULL);
    (void)sem_post(&ended);
    REQUIRE(status);
    return NULL;
}

static int wait_for_product(struct dl_phdr_info *info, size_t size, void *is_made)
{
    enum { SECONDS = 30 };
    struct timespec until;
    (void)info, (void)size;
    REQUIRE(clock_gettime(CLOCK_REALTIME, &until));
    until.tv_sec += SECONDS;
    (void)sem_post(&begun);
    *(bool *)is_made = sem_timedwait(&ended, &until) == 0;
    return 1; /* the walk is over */
}

static void run_beside_a_walk(void)
{
    pthread_t thread;
    bool is_made = false;
    job j;
    twice = ordinary;
    twice.place = ELSEWHERE;
    job_make(&j, &twice);
    REQUIRE(sem_init(&begun, 0, 0) || sem_init(&ended, 0, 0));
    REQUIRE(pthread_create(&thread, NULL, multiply_twice, &j));
    (void)sem_wait(&ended);
    (void)dl_iterate_phdr(wait_for_product, &is_made);
    REQUIRE(pthread_join(thread, NULL));
    printf("beside a walk ; status 0 ; %s\n", is_made ? describe(&j, &twice) : "waits");
    job_free(&j, &twice);
}

int main(int argc, char **argv)
{
    if (argc != 4) return 2;
    expected = argv[1];
    matmul = cublasLtMatmul;
    if (strcmp(argv[2], "linked") != 0) {
        void *library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_LOCAL),
             *symbol = library ? dlsym(library, "cublasLtMatmul") : NULL;
        REQUIRE(!symbol);
        memcpy(&matmul, &symbol, sizeof matmul);
    }
    REQUIRE(cublasLtCreate(&handle));
    REQUIRE(cudaMalloc(&workspace, WORKSPACE_BYTES));
    if (strcmp(argv[2], "beside-a-walk") == 0)
        run_beside_a_walk();
    else
        run_everything(argv[3]);
    REQUIRE(cudaFree(workspace));
    REQUIRE(cublasLtDestroy(handle));
    return 0;
}
