/* client_faults.c - a program that is hostile to its libraries, in the way that its first argument
 * names. It ends with status 0 and prints "right" if every product that should have given a result
 * gave the bits of the first one; a way that ends the process otherwise says so beside its
 * function. */
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "faults_work.h"

enum { THREADS = 4 };

/* ---- threads that end ---- */

static void *multiply_for_ever(void *unused)
{
    const work w = make_work();
    (void)unused;
    for (;;) {
        multiply_right(&w);
        pthread_testcancel();
    }
    return NULL;
}

/* The next product of another thread must not wait for the cancelled one. */
static void be_cancelled(void)
{
    const work w = first_product();
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        REQUIRE(!pthread_create(&thread, NULL, multiply_for_ever, NULL));
        usleep(1000 * (unsigned)i);
        REQUIRE(!pthread_cancel(thread) && !pthread_join(thread, NULL));
        multiply_right(&w);
    }
}

/* The process must end, with its exit handlers, when its last thread has. */
static void leave_main(void)
{
    (void)first_product();
    puts("right");
    fflush(stdout);
    pthread_exit(NULL);
}

static void *multiply_a_little(void *unused)
{
    const work w = make_work();
    (void)unused;
    for (int i = 0; i < 3; i++) multiply_right(&w);
    free_work(&w);
    return NULL;
}

static void have_many_threads(void)
{
    (void)first_product();
    in_threads(200, multiply_a_little, NULL);
}

/* exit() while others multiply: its status is that of the argument. */
static void leave_others_at_work(void)
{
    pthread_t thread;
    (void)first_product();
    for (int i = 0; i < THREADS; i++)
        REQUIRE(!pthread_create(&thread, NULL, multiply_for_ever, NULL));
    usleep(20000);
    puts("right");
    exit(0);
}

static void *multiply_on_small_stack(void *w)
{
    REQUIRE(!multiply(w));
    return NULL;
}

/* The first product of a thread, and of the process, has 64 KiB of stack: OpenBLAS's own variables
 * take 60 KiB of what a thread is given. */
enum { STACK_BYTES = (64 + 60) << 10 };
static void have_small_stacks(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    static double host[N * N], again[N * N];
    work w = make_work();
    REQUIRE(!pthread_attr_init(&attributes) &&
            !pthread_attr_setstacksize(&attributes, STACK_BYTES));
    REQUIRE(!pthread_create(&thread, &attributes, multiply_on_small_stack, &w));
    pthread_join(thread, NULL);
    read_c(&w, host);
    REQUIRE(!multiply(&w));
    read_c(&w, again);
    REQUIRE(!memcmp(host, again, BYTES));
}

/* ---- fork and exec ---- */

/* Children that are forked while others multiply can multiply, and end. */
static void fork_among_threads(void)
{
    pthread_t thread[2];
    const work w = first_product();
    for (int i = 0; i < 2; i++) REQUIRE(!pthread_create(&thread[i], NULL, multiply_for_ever, NULL));
    for (int i = 0; i < 20; i++) {
        int status = -1;
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            multiply_right(&w);
            _exit(0);
        }
        REQUIRE(waitpid(child, &status, 0) == child && status == 0);
        multiply_right(&w);
    }
    for (int i = 0; i < 2; i++)
        REQUIRE(!pthread_cancel(thread[i]) && !pthread_join(thread[i], NULL));
}

static char *own_path;

/* Becomes another program after three products, which is this one with the way `once`. */
static void become_another(void)
{
    const work w = first_product();
    char way[] = "once";
    char *arguments[] = {own_path, way, NULL};
    multiply_right(&w);
    multiply_right(&w);
    execv(own_path, arguments);
}

/* ---- ends ---- */

static void multiply_once(void) { (void)first_product(); }

/* Three products, and an end that runs no exit handlers. */
static void three_products(void)
{
    const work w = first_product();
    multiply_right(&w);
    multiply_right(&w);
    puts("right");
    fflush(stdout);
}

static void end_at_once(void)
{
    three_products();
    _exit(0);
}

static void end_quickly(void)
{
    three_products();
    quick_exit(0);
}

static void abort_now(void)
{
    three_products();
    abort();
}

static void be_terminated(void)
{
    three_products();
    raise(SIGTERM);
}

static void be_interrupted(void)
{
    three_products();
    raise(SIGINT);
}

static void be_killed(void)
{
    three_products();
    raise(SIGKILL);
}

static work of_late_products;

static void multiply_late(void) { multiply_right(&of_late_products); }

static bool multiplies_at_end;

__attribute__((destructor)) static void multiply_at_end(void)
{
    if (multiplies_at_end) multiply_late();
}

/* A product in an exit handler that was registered before the first one, and so runs after what
 * that registers, and one in a destructor. */
static void multiply_late_at_exit(void)
{
    REQUIRE(!atexit(multiply_late));
    of_late_products = first_product();
    multiplies_at_end = true;
}

/* ---- stderr ---- */

static void close_stderr(void)
{
    (void)first_product();
    close(STDERR_FILENO);
}

/* A file of the program's, named by CLIENT_FILE, gets the number that stderr had. */
static void reuse_stderr(void)
{
    (void)first_product();
    close(STDERR_FILENO);
    const int file = open(getenv("CLIENT_FILE"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file != STDERR_FILENO || write(file, "data", 4) != 4) _exit(2);
}

/* ---- the caller's own ways out ---- */

static jmp_buf back;

static void jump(void *unused)
{
    (void)unused;
    longjmp(back, 1);
}

/* Leaves a call of the runtime's by longjmp; products are as before. */
static void jump_out(void)
{
    const work w = first_product();
    for (int i = 0; i < 3; i++) {
        if (!setjmp(back)) (void)cudaLaunchHostFunc(NULL, jump, NULL);
        multiply_right(&w);
    }
}

/* ---- streams ---- */

enum { STREAMS = 4, CALLS = 1000, LARGEST = 12 };
static cudaStream_t streams[STREAMS];

/* Random products, each of which must have the bits of the same one made before. */
static void *multiply_at_random(void *first)
{
    work w = *(const work *)first;
    static atomic_uint thread_count;
    unsigned seed = atomic_fetch_add(&thread_count, 1) + 1;
    double *host = malloc(BYTES), *again = malloc(BYTES);
    REQUIRE(host && again && !cublasCreate(&w.handle) && !cudaMalloc((void **)&w.c, BYTES));
    for (int i = 0; i < CALLS; i++) {
        const double alpha = rand_r(&seed) % 8, beta = 0;
        const int m = rand_r(&seed) % LARGEST, n = rand_r(&seed) % LARGEST,
                  k = rand_r(&seed) % LARGEST;
        REQUIRE(!cublasSetStream(w.handle, streams[rand_r(&seed) % STREAMS]));
        for (int which = 0; which < 2; which++) {
            double *const c = which ? again : host;
            memset(c, 0, BYTES);
            REQUIRE(!cublasDgemm(w.handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, k, &alpha, w.a, N, w.b,
                                 N, &beta, w.c, N));
            REQUIRE(!m || !n ||
                    !cudaMemcpy2D(c, N * sizeof *c, w.c, N * sizeof *c, (size_t)m * sizeof *c,
                                  (size_t)n, cudaMemcpyDeviceToHost));
        }
        REQUIRE(!memcmp(host, again, BYTES));
    }
    free(host);
    free(again);
    REQUIRE(!cudaFree(w.c) && !cublasDestroy(w.handle));
    return NULL;
}

static void use_streams_at_random(void)
{
    work w = first_product();
    for (int i = 0; i < STREAMS; i++) REQUIRE(!cudaStreamCreate(&streams[i]));
    in_threads(16, multiply_at_random, &w);
}

/* ---- devices ---- */

/* The device changes between calls, and one is reset. */
static void change_devices(void)
{
    work on[2];
    on[0] = first_product();
    REQUIRE(!cudaSetDevice(1));
    on[1] = make_work();
    for (int i = 0; i < 6; i++) {
        REQUIRE(!cudaSetDevice(i % 2));
        multiply_right(&on[i % 2]);
    }
    REQUIRE(!cudaSetDevice(0) && !cudaDeviceReset());
    print_status("handle of a reset device", multiply(&on[0]));
    REQUIRE(!cudaSetDevice(1));
    multiply_right(&on[1]);
    REQUIRE(!cudaSetDevice(0));
    on[0] = make_work();
    multiply_right(&on[0]);
}

enum { PRODUCTS = 40 };

static void end_context_after_products(void)
{
    const work w = first_product();
    for (int i = 1; i < PRODUCTS; i++) multiply_right(&w);
    free_work(&w);
    REQUIRE(!cudaDeviceReset());
}

/* The handle goes with the context. */
static void end_context_and_handle_after_products(void)
{
    const work w = first_product();
    for (int i = 1; i < PRODUCTS; i++) multiply_right(&w);
    REQUIRE(!cudaDeviceReset());
}

/* Without one every call says so. */
static void have_no_device(void)
{
    cublasHandle_t handle = NULL;
    double *memory = NULL;
    int count = -1;
    const double one = 1;
    print_status("count", (int)cudaGetDeviceCount(&count));
    print_status("set", (int)cudaSetDevice(0));
    print_status("malloc", (int)cudaMalloc((void **)&memory, 8));
    print_status("create", (int)cublasCreate(&handle));
    print_status("product", (int)cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one,
                                             memory, 1, memory, 1, &one, memory, 1));
}

static const struct {
    const char *name;
    void (*run)(void);
} ways[] = {
    {"once", multiply_once},
    {"cancel", be_cancelled},
    {"leave main", leave_main},
    {"many threads", have_many_threads},
    {"exit at work", leave_others_at_work},
    {"small stacks", have_small_stacks},
    {"fork", fork_among_threads},
    {"exec", become_another},
    {"_exit", end_at_once},
    {"quick_exit", end_quickly},
    {"late", multiply_late_at_exit},
    {"abort", abort_now},
    {"SIGTERM", be_terminated},
    {"SIGINT", be_interrupted},
    {"SIGKILL", be_killed},
    {"close stderr", close_stderr},
    {"reuse stderr", reuse_stderr},
    {"destroyed handle", use_a_destroyed_handle},
    {"destroyed in use", destroy_in_use},
    {"destroyed stream", use_a_destroyed_stream},
    {"operands", use_wrong_operands},
    {"batch", use_a_bad_batch},
    {"pivots", use_wrong_pivots},
    {"longjmp", jump_out},
    {"streams", use_streams_at_random},
    {"devices", change_devices},
    {"reset", end_context_after_products},
    {"reset handle", end_context_and_handle_after_products},
    {"no device", have_no_device},
    {"faults", fail_everywhere},
    {"legacy errors", ask_for_errors},
    {"legacy stream", begin_anew},
    {"legacy reset", end_context_after_legacy_products},
};

int main(int argc, char **argv)
{
    own_path = argv[0];
    for (size_t i = 0; i < sizeof ways / sizeof *ways && argc == 2; i++)
        if (!strcmp(argv[1], ways[i].name)) {
            ways[i].run();
            puts("right");
            return 0;
        }
    return 2;
}
