/* soak.c - random calls of every FP64 routine of level 3, by 200 threads, and by 16 threads over 4
 * streams, in turn: an ordinary cuBLAS program. Each job is made natively first (a handle of
 * CUBLAS_PEDANTIC_MATH stays native under Tandem), then once more, and that must be near. All later
 * results of the job must have the bits of this second one.
 *
 * usage: soak SECONDS MODES SIDE SEED
 *
 * n is from 1 to WIDTH * MODES, so that rules can give each range of WIDTH another mode; m and k
 * are from 1 to SIDE. Prints what soak.py reads: a line for the device, for each routine that this
 * cuBLAS lacks, for each job with a fault, and for each round, after which all memory of the round
 * is free again. The status is 1 if a call failed or a result was not near the native one. */
#include <cuComplex.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../tools/clock.h"
#include "calls.h"

enum { WIDTH = 8, MEMBERS = 3, STREAMS = 4, VARIANTS = 8, ROUNDS = 4, MANY = 200, FEW = 16 };
/* Errors of every mode are far below this share of the sum of all absolute terms. */
static const double nearness = 0x1p-36;

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "soak: line %d: %s\n", __LINE__, #condition);                          \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

/* One call, and what it must give. */
typedef struct {
    routine routine;
    arguments x; /* without handle, matrix C and scalars */
    cuDoubleComplex alpha, beta;
    bool scalars_on_device;
    char *first; /* C's bytes, of c_bytes */
    atomic_uint faults;
} job;

/* What one thread calls with. */
typedef struct {
    cublasHandle_t handle;
    cudaStream_t stream;
    char *c, *host;           /* c_bytes each, in the device's memory and on the host */
    void **c_array;           /* the members of c, in the device's memory */
    cuDoubleComplex *scalars; /* two, in the device's memory */
} work;

/* Operands of all jobs, in the device's memory: random numbers with parts in [-1, 1); two matrices,
 * real and complex, whose triangles have well-conditioned inverses; what C holds before each call;
 * and the members of a and b. */
static struct {
    char *a, *b, *small[2], *c;
    void **a_array, **b_array;
} operands;

static int side, ld; /* of all matrices */
static size_t c_bytes;
static job *jobs;
static int job_count;
static atomic_ullong calls;
static double deadline; /* of the round's part that runs, in seconds of clock_seconds() */
static cudaStream_t streams[STREAMS];

/* ---- jobs ---- */

static int below(unsigned *seed, int bound) { return rand_r(seed) % bound; }

static double in_one(unsigned *seed) { return 2.0 * rand_r(seed) / ((double)RAND_MAX + 1.0) - 1.0; }

static char *upload(const void *host, size_t bytes)
{
    void *device = NULL;
    REQUIRE(!cudaMalloc(&device, bytes));
    REQUIRE(!cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
    return device;
}

/* c_bytes of random numbers times `scale`; to the real part of those at steps of ld + 1, each of so
 * many parts, `diagonal` is added. */
static char *make_numbers(unsigned *seed, int parts, double scale, double diagonal)
{
    const size_t step = (size_t)(parts * (ld + 1)), count = c_bytes / sizeof(double);
    double *host = malloc(c_bytes);
    REQUIRE(host);
    for (size_t i = 0; i < count; i++)
        host[i] = scale * in_one(seed) + (i % step == 0 ? diagonal : 0);
    char *device = upload(host, c_bytes);
    free(host);
    return device;
}

/* The members of a matrix, in the device's memory: apart by the largest ones. */
static void **make_array(char *matrix)
{
    void *members[MEMBERS];
    for (int i = 0; i < MEMBERS; i++) members[i] = matrix + c_bytes / MEMBERS * (size_t)i;
    return (void **)upload(members, sizeof members);
}

static cublasOperation_t random_op(unsigned *seed, const routine *r)
{
    static const cublasOperation_t ops[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
    if (r->shape != RANK_K) return ops[below(seed, 3)];
    return below(seed, 2) ? CUBLAS_OP_N : r->transpose;
}

static void make_job(job *j, const routine *r, unsigned *seed, int widths)
{
    const bool is_solved = r->shape == SOLVED;
    *j = (job){.routine = *r, .scalars_on_device = below(seed, 2)};
    j->x = (arguments){.op_a = random_op(seed, r),
                       .op_b = random_op(seed, r),
                       .side = below(seed, 2) ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT,
                       .fill = below(seed, 2) ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER,
                       .diag = below(seed, 2) ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT,
                       .m = 1 + below(seed, side),
                       .n = 1 + below(seed, WIDTH * widths),
                       .k = 1 + below(seed, side),
                       .ld = ld,
                       .batch = MEMBERS,
                       .stride = (long long)ld * ld,
                       .a = is_solved ? operands.small[r->is_complex] : operands.a,
                       .b = operands.b,
                       .a_array = (const void *const *)operands.a_array,
                       .b_array = (const void *const *)operands.b_array};
    /* Hermitian routines read the real part alone, which comes first. */
    j->alpha = make_cuDoubleComplex(below(seed, 3) ? in_one(seed) : 1.0, in_one(seed));
    j->beta = make_cuDoubleComplex(below(seed, 2) ? in_one(seed) : 0.0, 0.0);
    j->first = malloc(c_bytes);
    REQUIRE(j->first);
}

/* ---- calls ---- */

static work make_work(cudaStream_t stream)
{
    work w = {.stream = stream, .host = malloc(c_bytes)};
    REQUIRE(w.host && !cublasCreate(&w.handle) && !cublasSetStream(w.handle, stream));
    REQUIRE(!cudaMalloc((void **)&w.c, c_bytes) &&
            !cudaMalloc((void **)&w.scalars, 2 * sizeof *w.scalars));
    w.c_array = make_array(w.c);
    return w;
}

static void free_work(work *w)
{
    REQUIRE(!cudaFree(w->c) && !cudaFree(w->scalars) && !cudaFree(w->c_array));
    REQUIRE(!cublasDestroy(w->handle));
    free(w->host);
}

/* Makes the call on the work's stream; what C holds then is in w->host. */
static cublasStatus_t run(const job *j, work *w)
{
    const cuDoubleComplex scalars[2] = {j->alpha, j->beta};
    arguments x = j->x;
    x.handle = w->handle;
    x.c = w->c;
    x.c_array = w->c_array;
    x.alpha = j->scalars_on_device ? &w->scalars[0] : &scalars[0];
    x.beta = j->scalars_on_device ? &w->scalars[1] : &scalars[1];
    REQUIRE(!cublasSetPointerMode(w->handle, j->scalars_on_device ? CUBLAS_POINTER_MODE_DEVICE
                                                                  : CUBLAS_POINTER_MODE_HOST));
    REQUIRE(
        !cudaMemcpyAsync(w->scalars, scalars, sizeof scalars, cudaMemcpyHostToDevice, w->stream));
    REQUIRE(!cudaMemcpyAsync(w->c, operands.c, c_bytes, cudaMemcpyDeviceToDevice, w->stream));
    const cublasStatus_t status = call_routine(&j->routine, &x);
    REQUIRE(!cudaMemcpyAsync(w->host, w->c, c_bytes, cudaMemcpyDeviceToHost, w->stream));
    REQUIRE(!cudaStreamSynchronize(w->stream));
    return status;
}

/* Number i of C's bytes is not what was expected: a double, of which complex elements have two. */
static void say(const job *j, const char *fault, size_t i, double got, double expected)
{
    const arguments *x = &j->x;
    printf("fault: cublas%s %s m=%d n=%d k=%d: %s: op_a %d op_b %d side %d fill %d diag %d, alpha "
           "%a %a, "
           "beta %a on the %s, number %zu of columns of %d: %a for %a\n",
           j->routine.name, j->routine.is_complex ? "complex" : "real", x->m, x->n, x->k, fault,
           (int)x->op_a, (int)x->op_b, (int)x->side, (int)x->fill, (int)x->diag, j->alpha.x,
           j->alpha.y, j->beta.x, j->scalars_on_device ? "device" : "host", i,
           ld * (j->routine.is_complex ? 2 : 1), got, expected);
    fflush(stdout);
}

/* Makes the first results of a job. False if this cuBLAS has no such routine. */
static bool begin(job *j, work *w, bool *is_good)
{
    double *const c = (double *)w->host, *const native = (double *)j->first;
    const double size =
        8.0 * (j->x.m + j->x.n + j->x.k + 1); /* no sum of absolute terms is larger */
    REQUIRE(!cublasSetMathMode(w->handle, CUBLAS_PEDANTIC_MATH));
    const cublasStatus_t status = run(j, w);
    REQUIRE(!cublasSetMathMode(w->handle, CUBLAS_DEFAULT_MATH));
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) return false;
    REQUIRE(!status);
    memcpy(j->first, w->host, c_bytes);
    REQUIRE(!run(j, w));
    size_t i = 0;
    while (i < c_bytes / sizeof *c && fabs(c[i] - native[i]) <= nearness * size) i++;
    if (i < c_bytes / sizeof *c) {
        *is_good = false;
        say(j, "not near the native result", i, c[i], native[i]);
    }
    memcpy(j->first, w->host, c_bytes);
    return true;
}

/* Makes the call again; its result must have the first bits. */
static void repeat(job *j, work *w)
{
    const double *c = (const double *)w->host, *first = (const double *)j->first;
    REQUIRE(!run(j, w));
    atomic_fetch_add(&calls, 1);
    if (!memcmp(c, first, c_bytes) || atomic_fetch_add(&j->faults, 1)) return;
    size_t i = 0;
    while (!memcmp(&c[i], &first[i], sizeof *c)) i++;
    say(j, "other bits", i, c[i], first[i]);
}

/* ---- threads ---- */

static unsigned next_seed(void)
{
    static atomic_uint count;
    return atomic_fetch_add(&count, 1) + 1;
}

/* One of many threads: half of them have a stream of their own, the others the default stream. */
static void *call_alone(void *unused)
{
    unsigned seed = next_seed();
    cudaStream_t stream = NULL;
    (void)unused;
    if (seed % 2) REQUIRE(!cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    work w = make_work(stream);
    do repeat(&jobs[below(&seed, job_count)], &w);
    while (clock_seconds() < deadline);
    free_work(&w);
    if (stream) REQUIRE(!cudaStreamDestroy(stream));
    return NULL;
}

/* One of few threads, each of whose calls is on another of the streams that they share. */
static void *call_on_streams(void *unused)
{
    unsigned seed = next_seed();
    (void)unused;
    work w = make_work(streams[0]);
    do {
        w.stream = streams[below(&seed, STREAMS)];
        REQUIRE(!cublasSetStream(w.handle, w.stream));
        repeat(&jobs[below(&seed, job_count)], &w);
    } while (clock_seconds() < deadline);
    free_work(&w);
    return NULL;
}

static void in_threads(int count, void *(*body)(void *), double seconds)
{
    pthread_t thread[MANY];
    deadline = clock_seconds() + seconds;
    for (int i = 0; i < count; i++) REQUIRE(!pthread_create(&thread[i], NULL, body, NULL));
    for (int i = 0; i < count; i++) REQUIRE(!pthread_join(thread[i], NULL));
}

/* Bytes of this process that are in the machine's memory, once heaps have given back what is free:
 * those of 200 threads keep hundreds of megabytes by chance. */
static long resident_bytes(void)
{
    long all = 0, resident = 0;
    malloc_trim(0);
    FILE *file = fopen("/proc/self/statm", "r");
    REQUIRE(file && fscanf(file, "%ld %ld", &all, &resident) == 2);
    (void)fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
}

static void run_round(int number, double seconds)
{
    size_t left = 0, total = 0;
    in_threads(MANY, call_alone, seconds / 2);
    in_threads(FEW, call_on_streams, seconds / 2);
    REQUIRE(!cudaDeviceSynchronize() && !cudaMemGetInfo(&left, &total));
    printf("round %d: %llu calls, %zu bytes free on the device, %ld resident\n", number,
           atomic_load(&calls), left, resident_bytes());
    fflush(stdout);
}

/* ---- the program ---- */

static void make_operands(unsigned seed)
{
    c_bytes = (size_t)MEMBERS * (size_t)ld * (size_t)ld * sizeof(cuDoubleComplex);
    operands.a = make_numbers(&seed, 1, 1.0, 0.0);
    operands.b = make_numbers(&seed, 1, 1.0, 0.0);
    operands.c = make_numbers(&seed, 1, 1.0, 0.0);
    for (int i = 0; i < 2; i++) operands.small[i] = make_numbers(&seed, 1 + i, 0.25 / ld, 1.0);
    operands.a_array = make_array(operands.a);
    operands.b_array = make_array(operands.b);
    for (int i = 0; i < STREAMS; i++)
        REQUIRE(!cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
}

/* The jobs of all routines that there are. False if a result was not near the native one. */
static bool make_jobs(unsigned seed, int widths)
{
    bool is_good = true;
    work w = make_work(streams[0]);
    jobs = calloc((size_t)(ROUTINES * VARIANTS), sizeof *jobs);
    REQUIRE(jobs);
    for (int i = 0; i < ROUTINES; i++) {
        const routine r = routine_at(i);
        int made = 0;
        for (bool is_there = true; is_there && made < VARIANTS; made += is_there) {
            job *j = &jobs[job_count];
            make_job(j, &r, &seed, widths);
            is_there = begin(j, &w, &is_good);
            if (is_there)
                job_count++;
            else
                free(j->first);
        }
        if (!made) printf("not there: cublas%s\n", r.name);
    }
    free_work(&w);
    REQUIRE(job_count > 0);
    return is_good;
}

static int number(const char *text)
{
    char *end;
    const long value = strtol(text, &end, 10);
    REQUIRE(end != text && !*end && value >= 1 && value <= 1000000);
    return (int)value;
}

int main(int argc, char **argv)
{
    struct cudaDeviceProp properties;
    REQUIRE(argc == 5);
    const int seconds = number(argv[1]), widths = number(argv[2]), seed = number(argv[4]);
    side = number(argv[3]);
    ld = side > WIDTH * widths ? side : WIDTH * widths;
    REQUIRE(!cudaGetDeviceProperties(&properties, 0));
    printf("device: %s\n", properties.name);
    make_operands((unsigned)seed);
    const bool is_good = make_jobs((unsigned)seed, widths);
    printf("jobs: %d\n", job_count);
    for (int i = 1; i <= ROUNDS; i++) run_round(i, (double)seconds / ROUNDS);
    return is_good ? 0 : 1;
}
