/* client_faults.c - a program that is hostile to its libraries, in the way that its first argument
 * names. It ends with status 0 and prints "right" if every product that should have given a result
 * gave the bits of the first one; a way that ends the process otherwise says so beside its
 * function. */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 70, BYTES = N * N * (int)sizeof(double), THREADS = 4 };

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "client_faults: line %d: %s\n", __LINE__, #condition);                 \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

/* What one thread multiplies with. */
typedef struct {
    cublasHandle_t handle;
    double *a, *b, *c;
} work;

static double expected[N * N];

static void fill_host(double *host, unsigned seed)
{
    for (int i = 0; i < N * N; i++) {
        seed = seed * 1664525u + 1013904223u;
        host[i] = (double)(int)seed / 65536;
    }
}

static void fill(double *device, unsigned seed)
{
    double *const host = malloc(BYTES);
    REQUIRE(host);
    fill_host(host, seed);
    REQUIRE(!cudaMemcpy(device, host, BYTES, cudaMemcpyHostToDevice));
    free(host);
}

static work make_work(void)
{
    work w;
    REQUIRE(!cublasCreate(&w.handle));
    REQUIRE(!cudaMalloc((void **)&w.a, BYTES) && !cudaMalloc((void **)&w.b, BYTES) &&
            !cudaMalloc((void **)&w.c, BYTES));
    fill(w.a, 1);
    fill(w.b, 2);
    return w;
}

static void free_work(const work *w)
{
    REQUIRE(!cudaFree(w->a) && !cudaFree(w->b) && !cudaFree(w->c));
    REQUIRE(!cublasDestroy(w->handle));
}

static int multiply(const work *w)
{
    const double one = 1, zero = 0;
    return (int)cublasDgemm(w->handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one, w->a, N, w->b, N,
                            &zero, w->c, N);
}

static void read_c(const work *w, double *host)
{
    REQUIRE(!cudaMemcpy(host, w->c, BYTES, cudaMemcpyDeviceToHost));
}

/* A product whose bits must be those of the first. */
static void multiply_right(const work *w)
{
    double *host = malloc(BYTES);
    REQUIRE(host && !multiply(w));
    read_c(w, host);
    REQUIRE(!memcmp(host, expected, BYTES));
    free(host);
}

static work first_product(void)
{
    const work w = make_work();
    REQUIRE(!multiply(&w));
    read_c(&w, expected);
    return w;
}

static void in_threads(int count, void *(*body)(void *), void *argument)
{
    pthread_t thread[256];
    for (int i = 0; i < count; i++) REQUIRE(!pthread_create(&thread[i], NULL, body, argument));
    for (int i = 0; i < count; i++) pthread_join(thread[i], NULL);
}

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
    static double host[N * N];
    work w = make_work();
    REQUIRE(!pthread_attr_init(&attributes) &&
            !pthread_attr_setstacksize(&attributes, STACK_BYTES));
    REQUIRE(!pthread_create(&thread, &attributes, multiply_on_small_stack, &w));
    pthread_join(thread, NULL);
    read_c(&w, host);
    REQUIRE(!multiply(&w));
    read_c(&w, expected);
    REQUIRE(!memcmp(host, expected, BYTES));
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

/* ---- handles, streams, operands ---- */

/* A product that the program gets no result of: the status is printed, for the same program without
 * Tandem gives the same. */
static void print_status(const char *name, int status) { printf("%s: %d\n", name, status); }

static void use_a_destroyed_handle(void)
{
    const work w = first_product();
    REQUIRE(!cublasDestroy(w.handle));
    print_status("destroyed", multiply(&w));
    print_status("destroyed twice", (int)cublasDestroy(w.handle));
    work again = w;
    REQUIRE(!cublasCreate(&again.handle));
    multiply_right(&again);
    static max_align_t zeros[64];
    again.handle = (cublasHandle_t)(void *)zeros;
    print_status("zeroed", multiply(&again));
    again.handle = NULL;
    print_status("null", multiply(&again));
}

static void *destroy_soon(void *handle)
{
    usleep(3000);
    cublasDestroy(handle);
    return NULL;
}

/* Products of a handle that another thread destroys succeed until they are refused. */
static void destroy_in_use(void)
{
    work w = first_product();
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        int status = 0;
        REQUIRE(!pthread_create(&thread, NULL, destroy_soon, w.handle));
        while (!status) status = multiply(&w);
        print_status("destroyed meanwhile", status);
        pthread_join(thread, NULL);
        REQUIRE(!cublasCreate(&w.handle));
        multiply_right(&w);
    }
}

static void use_a_destroyed_stream(void)
{
    cudaStream_t stream;
    const work w = first_product();
    REQUIRE(!cudaStreamCreate(&stream) && !cublasSetStream(w.handle, stream));
    multiply_right(&w);
    REQUIRE(!cudaStreamDestroy(stream));
    print_status("dead stream", multiply(&w));
}

static int multiply_64(const work *w, int64_t m, int64_t n, int64_t k, const double *alpha,
                       const double *a, const double *b, double *c)
{
    const double zero = 0;
    return (int)cublasDgemm_64(w->handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, alpha, a, m, b,
                               k ? k : 1, &zero, c, m);
}

static void use_wrong_operands(void)
{
    const work w = first_product();
    static double host[N * N];
    const double one = 1, *const alpha = &one;
    const int64_t most = INT32_MAX;
    print_status("host A", multiply_64(&w, N, N, N, alpha, host, w.b, w.c));
    print_status("host B", multiply_64(&w, N, N, N, alpha, w.a, host, w.c));
    print_status("host C", multiply_64(&w, N, N, N, alpha, w.a, w.b, host));
    print_status("A too short", multiply_64(&w, N, N, N, alpha, w.a + 1, w.b, w.c));
    print_status("B too short", multiply_64(&w, N, N, N, alpha, w.a, w.b + 1, w.c));
    print_status("C too short", multiply_64(&w, N, N, N, alpha, w.a, w.b, w.c + 1));
    print_status("m", multiply_64(&w, most, 1, 1, alpha, w.a, w.b, w.c));
    print_status("n", multiply_64(&w, 1, most, 1, alpha, w.a, w.b, w.c));
    print_status("k", multiply_64(&w, 1, 1, most, alpha, w.a, w.b, w.c));
    print_status("m and n", multiply_64(&w, most, most, 1, alpha, w.a, w.b, w.c));
    print_status("m, n and k", multiply_64(&w, most, most, most, alpha, w.a, w.b, w.c));
    print_status("m = 2^31 - 64", multiply_64(&w, most - 63, 2, 2, alpha, w.a, w.b, w.c));
    print_status("m = 2^31", multiply_64(&w, most + 1, 1, 1, alpha, w.a, w.b, w.c));
    print_status("m = 2^40", multiply_64(&w, INT64_C(1) << 40, 1, 1, alpha, w.a, w.b, w.c));
    print_status("n = 2^40", multiply_64(&w, 1, INT64_C(1) << 40, 1, alpha, w.a, w.b, w.c));
    print_status("k = 2^40", multiply_64(&w, 1, 1, INT64_C(1) << 40, alpha, w.a, w.b, w.c));
    print_status("m = 2^62",
                 multiply_64(&w, INT64_C(1) << 62, INT64_C(1) << 62, 1, alpha, w.a, w.b, w.c));
    REQUIRE(!cublasSetPointerMode(w.handle, CUBLAS_POINTER_MODE_DEVICE));
    print_status("host alpha", multiply_64(&w, N, N, N, alpha, w.a, w.b, w.c));
    REQUIRE(!cublasSetPointerMode(w.handle, CUBLAS_POINTER_MODE_HOST));
    multiply_right(&w);
}

/* One pointer of an array of a batch is NULL, or is not device memory. */
static void use_a_bad_batch(void)
{
    enum { MEMBERS = 3 };
    const work w = first_product();
    static double host[N * N];
    double *bad[] = {NULL, host}, **array[3];
    const double one = 1, zero = 0;
    for (int i = 0; i < 3; i++)
        REQUIRE(!cudaMalloc((void **)&array[i], sizeof(double *) * MEMBERS));
    for (int operand = 0; operand < 3; operand++)
        for (int i = 0; i < 2; i++) {
            double *good[] = {w.a, w.b, w.c};
            for (int o = 0; o < 3; o++) {
                double *list[MEMBERS] = {good[o], good[o], good[o]};
                if (o == operand) list[1] = bad[i];
                REQUIRE(!cudaMemcpy(array[o], list, sizeof list, cudaMemcpyHostToDevice));
            }
            print_status("batch", (int)cublasDgemmBatched(w.handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N,
                                                          N, &one, (const double *const *)array[0],
                                                          N, (const double *const *)array[1], N,
                                                          &zero, array[2], N, MEMBERS));
        }
    multiply_right(&w);
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

/* ---- calls that fail ---- */

/* What Tandem allocates on the host: this program's functions come before the C library's. */
void *real_malloc(size_t bytes) __asm__("__libc_malloc");
void *real_calloc(size_t count, size_t bytes) __asm__("__libc_calloc");
void *real_realloc(void *old, size_t bytes) __asm__("__libc_realloc");
void *real_memalign(size_t alignment, size_t bytes) __asm__("__libc_memalign");

static const char *tandem_start, *tandem_end;
static atomic_ullong host_calls, host_first, host_count, host_failed;

static bool host_fails(const void *caller)
{
    const char *at = caller;
    if (!atomic_load(&host_count) || at < tandem_start || at >= tandem_end) return false;
    const unsigned long long number = atomic_fetch_add(&host_calls, 1) + 1;
    if (number < host_first || number - host_first >= host_count) return false;
    atomic_fetch_add(&host_failed, 1);
    errno = ENOMEM;
    return true;
}

void *malloc(size_t bytes)
{
    return host_fails(__builtin_return_address(0)) ? NULL : real_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return host_fails(__builtin_return_address(0)) ? NULL : real_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    return host_fails(__builtin_return_address(0)) ? NULL : real_realloc(old, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return host_fails(__builtin_return_address(0)) ? NULL : real_memalign(alignment, bytes);
}

static int find_tandem(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    if (!strstr(info->dlpi_name, "libtandem")) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
            tandem_start = (const char *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            tandem_end = tandem_start + info->dlpi_phdr[i].p_memsz;
        }
    return 1;
}

/* The host device's: HOSTGPU_FAULT_ALLOCATION, _LAUNCH and _LOAD; and the host's. */
enum { ALLOCATION, LAUNCH, LOAD, HOST_ALLOCATION, KINDS };
static const char *const kind_names[KINDS] = {"allocation", "launch", "load", "host allocation"};
static void (*fail_at)(int, unsigned long long, unsigned long long);
static unsigned long long (*failures)(int);

static void fail(int kind, unsigned long long first, unsigned long long count)
{
    if (kind < HOST_ALLOCATION) {
        fail_at(kind, first, count);
        return;
    }
    host_calls = host_failed = 0;
    host_first = first;
    host_count = count;
}

static unsigned long long failed(int kind)
{
    return kind < HOST_ALLOCATION ? failures(kind) : atomic_load(&host_failed);
}

/* op(A) op(B), whose rows and columns have sums of about 2^37, in plain C. */
static double reference[N * N], host_a[N * N], host_b[N * N];

static void find_reference(void)
{
    memset(reference, 0, sizeof reference);
    for (int j = 0; j < N; j++)
        for (int l = 0; l < N; l++)
            for (int i = 0; i < N; i++)
                reference[i + j * N] += host_a[i + l * N] * host_b[l + j * N];
}

static bool is_near_reference(const work *w)
{
    static double c[N * N];
    bool is_near = true;
    read_c(w, c);
    for (int i = 0; i < N * N; i++) is_near &= c[i] - reference[i] < 1 && reference[i] - c[i] < 1;
    return is_near;
}

static size_t free_bytes(void)
{
    size_t left = 0, all = 0;
    REQUIRE(!cudaMemGetInfo(&left, &all));
    return left;
}

enum { NOT_FAILED = 42, EXECUTION_FAILED = CUBLAS_STATUS_EXECUTION_FAILED };

/* Two products during which calls fail, and one after that. Exit status 0 if all is right,
 * NOT_FAILED if none failed. */
static void multiply_with_faults(int kind, unsigned long long first, unsigned long long count)
{
    work w;
    size_t before;
    if (kind == HOST_ALLOCATION) fail(kind, first, count);
    w = make_work();
    before = free_bytes();
    if (kind != HOST_ALLOCATION) fail(kind, first, count);
    for (int i = 0; i < 2; i++) {
        const int status = multiply(&w);
        REQUIRE(status == 0 || (kind == LAUNCH && status == EXECUTION_FAILED));
        REQUIRE(status != 0 || is_near_reference(&w));
    }
    const bool has_failed = failed(kind) > 0;
    fail(kind, 0, 0);
    REQUIRE(!multiply(&w) && is_near_reference(&w));
    REQUIRE(free_bytes() == before);
    free_work(&w);
    _exit(has_failed ? 0 : NOT_FAILED);
}

static int status_of_child(int kind, unsigned long long first, unsigned long long count)
{
    int status = -1;
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) multiply_with_faults(kind, first, count);
    REQUIRE(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256;
}

/* Each call of each kind fails once, and from the first on all of them; in a process of its own
 * each time, as much happens once in a process. Prints how many there are of each kind. */
static void fail_everywhere(void)
{
    *(void **)&fail_at = dlsym(RTLD_DEFAULT, "hostgpu_fail_at");
    *(void **)&failures = dlsym(RTLD_DEFAULT, "hostgpu_failures");
    REQUIRE(fail_at && failures);
    dl_iterate_phdr(find_tandem, NULL);
    REQUIRE(tandem_start);
    fill_host(host_a, 1);
    fill_host(host_b, 2);
    find_reference();
    for (int kind = 0; kind < KINDS; kind++) {
        unsigned long long first = 1;
        int status = 0;
        while (status == 0) status = status_of_child(kind, first++, 1);
        if (status != NOT_FAILED) fprintf(stderr, "number %llu of:\n", first - 1);
        print_status(kind_names[kind], status == NOT_FAILED ? (int)first - 2 : -1);
        print_status("all of them", status_of_child(kind, 1, 1u << 30));
    }
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
    {"longjmp", jump_out},
    {"streams", use_streams_at_random},
    {"devices", change_devices},
    {"no device", have_no_device},
    {"faults", fail_everywhere},
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
