/* injected.c - calls of the host device's runtime, and of the C library by Tandem, that fail. */
#include "injected.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

static const char *const kind_names[INJECTED_KINDS] = {"allocation", "launch", "load",
                                                       "host allocation"};
static void (*fail_at)(int, unsigned long long, unsigned long long);
static unsigned long long (*failures)(int);

void inject(int kind, unsigned long long first, unsigned long long count)
{
    if (kind < INJECTED_HOST_ALLOCATION) {
        fail_at(kind, first, count);
        return;
    }
    host_calls = host_failed = 0;
    host_first = first;
    host_count = count;
}

unsigned long long injected(int kind)
{
    return kind < INJECTED_HOST_ALLOCATION ? failures(kind) : atomic_load(&host_failed);
}

enum { NOT_FAILED = 42, KILLED = 256 };

void injected_end(bool has_failed) { _exit(has_failed ? 0 : NOT_FAILED); }

static int status_of_child(injected_trial *trial, int kind, unsigned long long first,
                           unsigned long long count)
{
    int status = -1;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) trial(kind, first, count);
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : KILLED;
}

bool injected_prepare(void)
{
    *(void **)&fail_at = dlsym(RTLD_DEFAULT, "hostgpu_fail_at");
    *(void **)&failures = dlsym(RTLD_DEFAULT, "hostgpu_failures");
    dl_iterate_phdr(find_tandem, NULL);
    return fail_at && failures && tandem_start;
}

void inject_everywhere(const char *name, injected_trial *trial)
{
    for (int kind = 0; kind < INJECTED_KINDS; kind++) {
        unsigned long long first = 1;
        int status = 0;
        while (status == 0) status = status_of_child(trial, kind, first++, 1);
        if (status != NOT_FAILED) fprintf(stderr, "number %llu of:\n", first - 1);
        printf("%s%s: %d\n", name, kind_names[kind], status == NOT_FAILED ? (int)first - 2 : -1);
        printf("%sall of them: %d\n", name, status_of_child(trial, kind, 1, 1u << 30));
    }
}
