/* faults_injected.c - each allocation, launch and load of a product fails, one after another. */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "faults_work.h"

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
    if (!strstr(info->dlpi_name, "libtandem-hostgpu")) return 0;
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
void fail_everywhere(void)
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
