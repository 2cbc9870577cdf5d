/* client_regions.c - a program that is linked to cuBLAS and asks Tandem for regions, while it runs.
 * usage: client_regions TANDEM LIBRARY TEST
 *   TANDEM   Tandem's library, which is opened after the program's first product; "-": it is
 *            preloaded
 *   LIBRARY  lookup_late.c's, which is opened by the tests that need it
 * Prints "right" if all went well; else a line on stderr says what did not. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cublasXt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <tandem.h>

#define FAIL(...) (fprintf(stderr, "client_regions: " __VA_ARGS__), fputc('\n', stderr), exit(1))
#define REQUIRE(what)                                                                              \
    do {                                                                                           \
        if (!(what)) FAIL("line %d: %s", __LINE__, #what);                                         \
    } while (0)
#define CUDA(call)   REQUIRE((call) == cudaSuccess)
#define CUBLAS(call) REQUIRE((call) == CUBLAS_STATUS_SUCCESS)
#define OK(call)                                                                                   \
    do {                                                                                           \
        if ((call) != TANDEM_OK) FAIL("line %d: %s: %s", __LINE__, #call, tandem.message());       \
    } while (0)

enum { M = 24, N = 20, K = 40 };
typedef struct {
    double of[M * N];
} result;

/* Tandem's functions, once it is there. */
static struct {
    __typeof__(&tandem_attach) attach, detach;
    __typeof__(&tandem_set) set, set_mode, push;
    __typeof__(&tandem_pop) pop;
    __typeof__(&tandem_get) get;
    __typeof__(&tandem_reach) reach;
    __typeof__(&tandem_count_calls) count;
    __typeof__(&tandem_report) report;
    __typeof__(&tandem_dgemm) dgemm;
    __typeof__(&tandem_last_message) message;
} tandem;

static double a[M * K], b[K * N];
static result native, df, ts;
static int is_late; /* Tandem is opened after the first product */

/* What one thread multiplies with. */
typedef struct {
    cublasHandle_t handle;
    cudaStream_t stream;
    double *a, *b, *c;
} worker;

static worker start(void)
{
    worker w;
    CUDA(cudaMalloc((void **)&w.a, sizeof a));
    CUDA(cudaMalloc((void **)&w.b, sizeof b));
    CUDA(cudaMalloc((void **)&w.c, sizeof(result)));
    CUDA(cudaMemcpy(w.a, a, sizeof a, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(w.b, b, sizeof b, cudaMemcpyHostToDevice));
    CUDA(cudaStreamCreate(&w.stream));
    CUBLAS(cublasCreate(&w.handle));
    CUBLAS(cublasSetStream(w.handle, w.stream));
    return w;
}

static void stop(worker *w)
{
    CUBLAS(cublasDestroy(w->handle));
    CUDA(cudaStreamDestroy(w->stream));
    CUDA(cudaFree(w->a));
    CUDA(cudaFree(w->b));
    CUDA(cudaFree(w->c));
}

/* The result starts as bytes that no product has. */
static void poison(const worker *w)
{
    CUDA(cudaMemsetAsync(w->c, 0xff, sizeof(result), w->stream));
}

static result take(const worker *w)
{
    result c;
    CUDA(cudaStreamSynchronize(w->stream));
    CUDA(cudaMemcpy(&c, w->c, sizeof c, cudaMemcpyDeviceToHost));
    return c;
}

static void enqueue(const worker *w)
{
    const double one = 1.0, zero = 0.0;
    CUBLAS(cublasDgemm(w->handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &one, w->a, M, w->b, K, &zero,
                       w->c, M));
}

static result multiply(const worker *w)
{
    poison(w);
    enqueue(w);
    return take(w);
}

static result multiply_in(const worker *w, const char *mode)
{
    poison(w);
    OK(tandem.dgemm(mode, TANDEM_OP_N, TANDEM_OP_N, M, N, K, 1.0, w->a, M, w->b, K, 0.0, w->c, M,
                    w->stream));
    return take(w);
}

static int is(result c, const result *want) { return memcmp(&c, want, sizeof c) == 0; }

static void *library;

static void *find(const char *name)
{
    void *symbol = dlsym(library, name);
    if (!symbol) FAIL("%s", dlerror());
    return symbol;
}

static void find_tandem(const char *path)
{
    library = strcmp(path, "-") == 0 ? RTLD_DEFAULT : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library && strcmp(path, "-") != 0) FAIL("%s", dlerror());
    tandem.attach = (__typeof__(tandem.attach))find("tandem_attach");
    tandem.detach = (__typeof__(tandem.detach))find("tandem_detach");
    tandem.set = (__typeof__(tandem.set))find("tandem_set");
    tandem.set_mode = (__typeof__(tandem.set_mode))find("tandem_set_mode");
    tandem.push = (__typeof__(tandem.push))find("tandem_push");
    tandem.pop = (__typeof__(tandem.pop))find("tandem_pop");
    tandem.get = (__typeof__(tandem.get))find("tandem_get");
    tandem.reach = (__typeof__(tandem.reach))find("tandem_reach");
    tandem.count = (__typeof__(tandem.count))find("tandem_count_calls");
    tandem.report = (__typeof__(tandem.report))find("tandem_report");
    tandem.dgemm = (__typeof__(tandem.dgemm))find("tandem_dgemm");
    tandem.message = (__typeof__(tandem.message))find("tandem_last_message");
}

/* ---- tests; Tandem is attached or preloaded, in mode native ---- */

static void expect_value(const char *option, const char *want)
{
    char value[64];
    OK(tandem.get(option, value, sizeof value));
    if (strcmp(value, want) != 0) FAIL("%s is %s, not %s", option, value, want);
}

static void expect_refusal(tandem_status status, const char *part)
{
    if (status != TANDEM_INVALID_VALUE) FAIL("no refusal with '%s': status %d", part, (int)status);
    if (!strstr(tandem.message(), part)) FAIL("'%s' has no '%s'", tandem.message(), part);
}

/* A wrong value says what is wrong, and changes nothing. */
static void refuses(void)
{
    char little[4];
    worker w = start();
    OK(tandem.push("df verify=sample:8"));
    expect_refusal(tandem.push("ozzaki2"), "mode is 'ozzaki2'; allowed: native, df, ts");
    expect_refusal(tandem.push("ts verify=sometimes"), "verify is 'sometimes'; allowed: off");
    expect_refusal(tandem.push("ts report=-"), "'report' is an option that is read once");
    expect_refusal(tandem.push("colour=red"), "'colour' is no name of an option; allowed: mode");
    expect_refusal(tandem.push("native strategy=adaptive"),
                   "strategy is 'adaptive', and mode is 'native'");
    expect_refusal(tandem.push(NULL), "settings is NULL");
    expect_refusal(tandem.set_mode("ts verify=full"), "mode is 'ts verify=full'");
    expect_refusal(tandem.get("mode", little, 2), "bytes is 2");
    expect_refusal(tandem.get("color", little, 2), "option is 'color'");
    expect_value("mode", "df");
    expect_value("verify", "sample:8");
    REQUIRE(is(multiply(&w), &df));
    OK(tandem.pop());
    expect_refusal(tandem.pop(), "in no region");
    expect_value("mode", "native");
    REQUIRE(is(multiply(&w), &native));
    for (int i = 0; i < 64; i++) OK(tandem.push(""));
    expect_refusal(tandem.push(""), "64 regions");
    for (int i = 0; i < 64; i++) OK(tandem.pop());
    stop(&w);
}

/* One of two equal calls is in a region: that one changes alone, in several threads at a time. */
static void *call_by_turns(void *mode)
{
    enum { TURNS = 200 };
    const result *want = strcmp(mode, "df") == 0 ? &df : &ts;
    worker w = start();
    for (int i = 0; i < TURNS; i++) {
        REQUIRE(is(multiply(&w), &native));
        OK(tandem.push(mode));
        REQUIRE(is(multiply(&w), want));
        if (i % 10 == 0) {
            OK(tandem.push("mode=native"));
            REQUIRE(is(multiply(&w), &native));
            OK(tandem.pop());
            REQUIRE(is(multiply(&w), want));
        }
        OK(tandem.pop());
    }
    stop(&w);
    return NULL;
}

static void by_turns(void)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, call_by_turns, i % 2 ? "df" : "ts") == 0);
    for (int i = 0; i < THREADS; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);
}

static void *call_in_process(void *want)
{
    worker w = start();
    REQUIRE(is(multiply(&w), want));
    stop(&w);
    return NULL;
}

/* What is set for the process counts in other threads, and not in a region. */
static void process(void)
{
    pthread_t thread;
    worker w = start();
    OK(tandem.set_mode("df"));
    REQUIRE(is(multiply(&w), &df));
    OK(tandem.push("ts"));
    OK(tandem.set("mode=native"));
    REQUIRE(is(multiply(&w), &ts));
    REQUIRE(pthread_create(&thread, NULL, call_in_process, &native) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    OK(tandem.pop());
    REQUIRE(is(multiply(&w), &native));
    stop(&w);
}

/* A captured product keeps the mode of its capture. */
static void captured(void)
{
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    worker w = start();
    OK(tandem.push("df"));
    CUDA(cudaStreamBeginCapture(w.stream, cudaStreamCaptureModeThreadLocal));
    enqueue(&w);
    CUDA(cudaStreamEndCapture(w.stream, &graph));
    OK(tandem.pop());
    CUDA(cudaGraphInstantiate(&executable, graph, 0));
    OK(tandem.push("ts"));
    for (int i = 0; i < 3; i++) {
        poison(&w);
        CUDA(cudaGraphLaunch(executable, w.stream));
        REQUIRE(is(take(&w), &df));
        REQUIRE(is(multiply(&w), &ts));
    }
    OK(tandem.pop());
    CUDA(cudaGraphExecDestroy(executable));
    CUDA(cudaGraphDestroy(graph));
    stop(&w);
}

/* The number behind a text of the report, 0 if there is none; -1 if the text is not there. */
static int counted(const char *what)
{
    size_t needed = 0;
    OK(tandem.report(NULL, 0, &needed));
    const size_t bytes = needed + 1000;
    char *text = malloc(bytes);
    REQUIRE(text);
    OK(tandem.report(text, bytes, &needed));
    const char *at = strstr(text, what);
    const int count = at ? atoi(at + strlen(what)) : -1;
    free(text);
    return count;
}

static result multiply_typed(const worker *w, cublasComputeType_t computations)
{
    const double one = 1.0, zero = 0.0;
    poison(w);
    CUBLAS(cublasGemmEx(w->handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &one, w->a, CUDA_R_64F, M,
                        w->b, CUDA_R_64F, K, &zero, w->c, CUDA_R_64F, M, computations,
                        CUBLAS_GEMM_DEFAULT));
    return take(w);
}

/* A product whose type of computation asks cuBLAS to emulate. */
static result multiply_asking(const worker *w)
{
    return multiply_typed(w, CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT);
}

/* With TANDEM_RULES that give cublasGemmEx mode df: the rule names the mode in a region, too, and
 * all else is the region's, or the process's. */
static void ruled(void)
{
    worker w = start();
    OK(tandem.count());
    REQUIRE(is(multiply_typed(&w, CUBLAS_COMPUTE_64F), &df));
    REQUIRE(counted("\"elements\": ") == -1);
    OK(tandem.push("ts verify=sample:7"));
    REQUIRE(is(multiply_typed(&w, CUBLAS_COMPUTE_64F), &df));
    REQUIRE(counted("\"elements\": ") == 7);
    REQUIRE(is(multiply(&w), &ts));
    OK(tandem.pop());
    REQUIRE(is(multiply_typed(&w, CUBLAS_COMPUTE_64F), &df));
    REQUIRE(counted("\"elements\": ") == 7);
    OK(tandem.push("df verify=sample:5")); /* the rule's own mode */
    REQUIRE(is(multiply_typed(&w, CUBLAS_COMPUTE_64F), &df));
    REQUIRE(counted("\"choice\": \"a rule of TANDEM_RULES\"") == 0);
    REQUIRE(counted("\"elements\": ") == 12);
    OK(tandem.pop());
    OK(tandem.set("verify=sample:3"));
    REQUIRE(is(multiply_typed(&w, CUBLAS_COMPUTE_64F), &df));
    REQUIRE(counted("\"elements\": ") == 15);
    stop(&w);
}

/* A call that asks cuBLAS to emulate stays cuBLAS's, and the report says so; so does one that the
 * handle's math mode lets cuBLAS emulate, where the mode is native. The report has the mantissa
 * bits that cuBLAS tells, unless it tells the program, and the handle is left as it was. */
static void emulated(void)
{
    int bits = 0, *told = &bits;
    worker w = start();
    OK(tandem.count());
    OK(tandem.push("df"));
    CUBLAS(cublasSetFixedPointEmulationMantissaControl(w.handle,
                                                       CUDA_EMULATION_MANTISSA_CONTROL_FIXED));
    CUBLAS(cublasSetFixedPointEmulationMaxMantissaBitCount(w.handle, 39));
    REQUIRE(is(multiply_asking(&w), &native));
    REQUIRE(counted("\"emulated\": ") == 0);
    REQUIRE(counted("\"native_reason\": \"the call asks for cuBLAS's own emulation\"") == 0);
    REQUIRE(counted("\"mantissa_bits\": ") == 39);
    CUBLAS(cublasGetFixedPointEmulationMantissaBitCountPointer(w.handle, &told));
    REQUIRE(!told);
    REQUIRE(is(multiply(&w), &df));
    CUBLAS(cublasSetMathMode(w.handle, CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH));
    REQUIRE(is(multiply(&w), &df));
    OK(tandem.pop());
    CUBLAS(cublasSetFixedPointEmulationMaxMantissaBitCount(w.handle, 47));
    (void)multiply(&w);
    REQUIRE(counted("\"native_reason\": \"mode native, and cuBLAS may emulate\"") == 0);
    REQUIRE(counted("\"mantissa_bits\": 47") == 0);
    CUBLAS(cublasSetFixedPointEmulationMantissaBitCountPointer(w.handle, &bits));
    CUBLAS(cublasSetFixedPointEmulationMaxMantissaBitCount(w.handle, 55));
    (void)multiply(&w);
    REQUIRE(bits == 55 && counted("\"mantissa_bits\": 55") == -1);
    CUBLAS(cublasGetFixedPointEmulationMantissaBitCountPointer(w.handle, &told));
    REQUIRE(told == &bits);
    stop(&w);
}

/* A call that is known to stay native is passed on without a question, until
 * somebody asks for a count, or for another mode. */
static void remembered(void)
{
    worker w = start();
    OK(tandem.set_mode("auto"));
    for (int i = 0; i < 3; i++) REQUIRE(is(multiply(&w), &native));
    OK(tandem.push("df"));
    REQUIRE(is(multiply(&w), &df));
    OK(tandem.pop());
    REQUIRE(is(multiply(&w), &native));
    OK(tandem.count());
    for (int i = 1; i < 4; i++) {
        REQUIRE(is(multiply(&w), &native));
        REQUIRE(counted("\"native\": ") == i);
    }
    CUBLAS(cublasSetMathMode(w.handle, CUBLAS_PEDANTIC_MATH));
    REQUIRE(is(multiply(&w), &native));
    REQUIRE(counted("\"native_reason\": \"the handle asks for plain arithmetic\"") == 0);
    stop(&w);
}

/* With TANDEM_ENTRY=emulated. */
static void answered(void)
{
    worker w = start();
    OK(tandem.count());
    OK(tandem.push("df"));
    REQUIRE(is(multiply_asking(&w), &df));
    OK(tandem.pop());
    REQUIRE(is(multiply_asking(&w), &native));
    REQUIRE(counted("\"emulated\": ") == 1 && counted("\"native\": ") == 1);
    stop(&w);
}

/* With CUBLAS_EMULATE_DOUBLE_PRECISION=1, which the stand-in for cuBLAS does not read. */
static void by_environment(void)
{
    worker w = start();
    OK(tandem.count());
    (void)multiply(&w);
    REQUIRE(counted("\"native_reason\": \"mode native, and cuBLAS may emulate\"") == 0);
    REQUIRE(counted("\"mantissa_bits\": 0") == 0);
    stop(&w);
}

/* Attached and detached while threads multiply: each product is native or df, never anything else,
 * and after the last attach all are df. */
#ifdef __SANITIZE_THREAD__
enum { THREADS = 8, TIMES = 300 }; /* ten times as slow */
#else
enum { THREADS = 8, TIMES = 1000 };
#endif
static atomic_bool is_over;
static atomic_int native_count, df_count;

static void *call_all_the_time(void *unused)
{
    (void)unused;
    worker w = start();
    while (!atomic_load(&is_over)) {
        const result c = multiply(&w);
        if (is(c, &df))
            df_count++;
        else if (is(c, &native))
            native_count++;
        else
            FAIL("a product is neither native nor df");
    }
    REQUIRE(is(multiply(&w), &df));
    stop(&w);
    return NULL;
}

static void beside_threads(void)
{
    pthread_t threads[THREADS];
    OK(tandem.set_mode("df"));
    OK(tandem.count());
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, call_all_the_time, NULL) == 0);
    for (int i = 0; i < TIMES; i++) {
        OK(tandem.detach());
        OK(tandem.attach());
    }
    while (df_count + native_count < THREADS) CUDA(cudaStreamSynchronize(NULL));
    atomic_store(&is_over, true);
    for (int i = 0; i < THREADS; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);
    REQUIRE(counted("\"emulated\": ") == df_count + THREADS);
    worker w = start();
    OK(tandem.detach());
    REQUIRE(is(multiply(&w), &native));
    stop(&w);
    OK(tandem.attach());
}

/* What tandem_reach has after `member` in the line with `part`. */
static const char *reached(const char *part, const char *member)
{
    static char text[1 << 16];
    size_t needed;
    OK(tandem.reach(text, sizeof text, &needed));
    REQUIRE(needed <= sizeof text);
    const char *line = strstr(text, part);
    if (!line) FAIL("'%s' is not in %s", part, text);
    const char *at = strstr(line, member);
    REQUIRE(at);
    return at + strlen(member);
}

/* A library that finds cuBLAS by name: opened before the attach, it is out of reach, which is told;
 * opened after it, it is reached, as one that is linked to cuBLAS. */
typedef cublasStatus_t by_name(cublasHandle_t handle, int m, int n, int k, const double *a,
                               const double *b, double *c);

static result multiply_by(by_name *function, const worker *w)
{
    poison(w);
    CUBLAS(function(w->handle, M, N, K, w->a, w->b, w->c));
    return take(w);
}

static void later(const char *path)
{
    worker w = start();
    OK(tandem.set_mode("df"));
    void *late = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(late);
    by_name *function = (by_name *)dlsym(late, "multiply_by_name"),
            *linked = (by_name *)dlsym(late, "multiply_linked");
    REQUIRE(function && linked);
    REQUIRE(is(multiply_by(linked, &w), &df));
    REQUIRE(is(multiply_by(function, &w), &df));
    REQUIRE(atoi(reached("the program", "\"redirected\": ")) > 0);
    OK(tandem.detach());
    REQUIRE(atoi(reached("the program", "\"redirected\": ")) == 0);
    REQUIRE(is(multiply(&w), &native));
    REQUIRE(is(multiply_by(linked, &w), &native));
    REQUIRE(is(multiply_by(function, &w), &native)); /* by the address that it has kept */
    OK(tandem.attach());
    REQUIRE(is(multiply_by(linked, &w), &df));
    REQUIRE(is(multiply_by(function, &w), &df));
    stop(&w);
}

static void before(const char *path)
{
    worker w = start();
    OK(tandem.detach());
    void *early = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(early);
    by_name *function = (by_name *)dlsym(early, "multiply_by_name");
    REQUIRE(function && is(multiply_by(function, &w), &native));
    OK(tandem.attach());
    OK(tandem.set_mode("df"));
    REQUIRE(is(multiply(&w), &df));
    REQUIRE(is(multiply_by(function, &w), &native));
    REQUIRE(strncmp(reached("lookup_late", "\"may_have_looked_up\": "), "true", 4) == 0);
    REQUIRE(strncmp(reached("the program", "\"may_have_looked_up\": "), "false", 5) == 0);
    stop(&w);
}

/* ---- what a program tells cuBLAS ---- */

/* Of cublas.h, which cannot be included together with cublas_v2.h. */
cublasStatus_t cublasSetKernelStream(cudaStream_t stream);
void dgemm_by_letters(char transa, char transb, int m, int n, int k, double alpha, const double *A,
                      int lda, const double *B, int ldb, double beta, double *C,
                      int ldc) __asm__("cublasDgemm");

static cudaStream_t early; /* that of cublas.h since before Tandem was there */

/* A product by cublas.h: what C has once it has been captured in the stream that is cublas.h's, and
 * once the graph has run. */
static void capture_by_letters(const worker *w, result *now, result *after)
{
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    poison(w);
    CUDA(cudaStreamSynchronize(w->stream));
    CUDA(cudaStreamBeginCapture(early, cudaStreamCaptureModeRelaxed));
    dgemm_by_letters('n', 'n', M, N, K, 1.0, w->a, M, w->b, K, 0.0, w->c, M);
    CUDA(cudaStreamEndCapture(early, &graph));
    *now = take(w);
    CUDA(cudaGraphInstantiate(&executable, graph, 0));
    CUDA(cudaGraphLaunch(executable, early));
    CUDA(cudaStreamSynchronize(early));
    *after = take(w);
    CUDA(cudaGraphExecDestroy(executable));
    CUDA(cudaGraphDestroy(graph));
}

static void use_stream_of_letters(const worker *w, const result *want)
{
    result poisoned, now, after;
    memset(&poisoned, 0xff, sizeof poisoned);
    capture_by_letters(w, &now, &after);
    REQUIRE(is(now, &poisoned) && is(after, want));
}

/* A product of a graph must not work in memory that the handle was given before. */
static void capture_beside(const worker *w, const unsigned char *lent, size_t bytes)
{
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    unsigned char *host = malloc(bytes);
    REQUIRE(host);
    CUDA(cudaStreamBeginCapture(w->stream, cudaStreamCaptureModeRelaxed));
    enqueue(w);
    CUDA(cudaStreamEndCapture(w->stream, &graph));
    CUDA(cudaGraphInstantiate(&executable, graph, 0));
    CUDA(cudaGraphLaunch(executable, w->stream));
    REQUIRE(is(take(w), &df));
    CUDA(cudaMemcpy(host, lent, bytes, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < bytes; i++) REQUIRE(host[i] == 0x5a);
    CUDA(cudaGraphExecDestroy(executable));
    CUDA(cudaGraphDestroy(graph));
    free(host);
}

static result multiply_there(const worker *w, cublasXtHandle_t xt)
{
    const double one = 1.0, zero = 0.0;
    poison(w);
    CUBLAS(cublasXtDgemm(xt, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &one, w->a, M, w->b, K, &zero, w->c,
                         M));
    return take(w);
}

/* What the program said before Tandem was attached, or while it was not, may have been otherwise
 * last: a workspace that a handle had, devices, the stream of cublas.h. Where it is preloaded it
 * sees all calls. */
static void unseen(void)
{
    const result *const after_attach = is_late ? &native : &df;
    enum { LENT_BYTES = 4 << 20 };
    int device = 0;
    unsigned char *lent;
    cublasXtHandle_t xt;
    worker w = start();
    OK(tandem.set_mode("df"));
    use_stream_of_letters(&w, after_attach);
    CUDA(cudaMalloc((void **)&lent, LENT_BYTES));
    CUDA(cudaMemset(lent, 0x5a, LENT_BYTES));
    CUBLAS(cublasSetKernelStream(early));
    CUBLAS(cublasSetWorkspace(w.handle, lent, LENT_BYTES));
    CUBLAS(cublasXtCreate(&xt));
    CUBLAS(cublasXtDeviceSelect(xt, 1, &device));
    use_stream_of_letters(&w, &df);
    REQUIRE(is(multiply_there(&w, xt), &df));
    OK(tandem.detach());
    CUBLAS(cublasSetStream(w.handle, w.stream));
    OK(tandem.attach());
    capture_beside(&w, lent, LENT_BYTES);
    REQUIRE(is(multiply_there(&w, xt), after_attach));
    use_stream_of_letters(&w, after_attach);
    CUBLAS(cublasSetKernelStream(early));
    CUBLAS(cublasXtDeviceSelect(xt, 1, &device));
    use_stream_of_letters(&w, &df);
    REQUIRE(is(multiply_there(&w, xt), &df));
    CUBLAS(cublasXtDestroy(xt));
    CUDA(cudaFree(lent));
    stop(&w);
}

/* Makes the product natively and in two modes, before Tandem is there too if it is loaded late. */
static void make_products(const char *tandem_path)
{
    worker w = start();
    is_late = strcmp(tandem_path, "-") != 0;
    CUDA(cudaStreamCreate(&early));
    CUBLAS(cublasSetKernelStream(early));
    if (is_late) native = multiply(&w);
    find_tandem(tandem_path);
    if (is_late) {
        REQUIRE(is(multiply(&w), &native));
        OK(tandem.attach());
    }
    OK(tandem.set_mode("native"));
    if (!is_late) native = multiply(&w);
    REQUIRE(is(multiply(&w), &native));
    df = multiply_in(&w, "df");
    ts = multiply_in(&w, "ts");
    REQUIRE(!is(df, &native) && !is(ts, &native) && !is(ts, &df));
    stop(&w);
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
        void (*run_with)(const char *library);
    } tests[] = {{"refuses", refuses, NULL},
                 {"by_turns", by_turns, NULL},
                 {"process", process, NULL},
                 {"captured", captured, NULL},
                 {"emulated", emulated, NULL},
                 {"remembered", remembered, NULL},
                 {"unseen", unseen, NULL},
                 {"answered", answered, NULL},
                 {"ruled", ruled, NULL},
                 {"by_environment", by_environment, NULL},
                 {"later", NULL, later},
                 {"before", NULL, before},
                 {"beside_threads", beside_threads, NULL}};
    if (count != 4) FAIL("usage: client_regions TANDEM LIBRARY TEST");
    for (int i = 0; i < M * K; i++) a[i] = 1.0 / (i + 3);
    for (int i = 0; i < K * N; i++) b[i] = 1.0 / (2 * i + 7);
    make_products(arguments[1]);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        if (strcmp(tests[i].name, arguments[3]) != 0) continue;
        if (tests[i].run) tests[i].run();
        if (tests[i].run_with) tests[i].run_with(arguments[2]);
        puts("right");
        return 0;
    }
    FAIL("no test '%s'", arguments[3]);
}
