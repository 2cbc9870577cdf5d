/* check_memory.c - memory that others have is given back some time: then what Tandem could not make
 * without it is made. On the host device alone, where a test can have allocations fail, and has all
 * of the memory. */
#define _GNU_SOURCE 1
#include "tests/support/test.h"

#include <dlfcn.h>

#include "lib/call/adaptive.h"
#include "lib/cuda/device.h"
#include "lib/engines/engine.h"
#include "lib/engines/methods.h"
#include "lib/engines/ozaki/cublas.h"
#include "tests/kernels/support/device.h"

enum { ALLOCATION = 0 }; /* HOSTGPU_FAULT_ALLOCATION */
static void (*fail_at)(int, unsigned long long, unsigned long long);
static unsigned long long (*failures)(int);

/* Begins a life of the context in which that allocation fails; false if it has fewer. */
static bool begin_with_failure(unsigned long long number)
{
    CHECK_CUDA(cudaDeviceReset());
    CHECK_CUDA(cudaFree(NULL));
    fail_at(ALLOCATION, number, 1);
    (void)td_device_current();
    const bool has_failed = failures(ALLOCATION) > 0;
    fail_at(ALLOCATION, 0, 0);
    return has_failed;
}

TEST(a_device_is_set_up_once_there_is_memory)
{
    unsigned long long number = 1;
    for (; begin_with_failure(number); number++)
        CHECK(td_device_current(), "refused for good as allocation %llu failed", number);
    CHECK(number > 3, "%llu allocations", number - 1);
    device_check_clean("allocations that fail");
}

/* Who asks often, and in vain, does so at little cost. */
TEST(a_device_without_memory_is_seldom_tried)
{
    enum { USES = 1000 };
    CHECK_CUDA(cudaDeviceReset());
    CHECK_CUDA(cudaFree(NULL));
    CHECK(begin_with_failure(2), "nothing has failed");
    fail_at(ALLOCATION, 1, USES);
    for (int i = 0; i < USES; i++) CHECK(!td_device_current(), "set up without memory");
    CHECK(failures(ALLOCATION) <= 10, "%llu tries", failures(ALLOCATION));
    fail_at(ALLOCATION, 0, 0);
}

/* Takes nearly all memory of the device, in pieces that are a list. */
static void *take_memory(void)
{
    void *first = NULL;
    for (size_t bytes = (size_t)1 << 40; bytes >= 1 << 12; bytes /= 2)
        for (void **piece; cudaMalloc((void **)&piece, bytes) == cudaSuccess; first = piece)
            CHECK_CUDA(cudaMemcpy(piece, &first, sizeof first, cudaMemcpyDefault));
    (void)cudaGetLastError();
    return first;
}

static void give_memory_back(void *first)
{
    while (first) {
        void *next;
        CHECK_CUDA(cudaMemcpy(&next, first, sizeof next, cudaMemcpyDefault));
        CHECK_CUDA(cudaFree(first));
        first = next;
    }
}

TEST(workspaces_grow_with_memory)
{
    size_t left = 0, all = 0;
    CHECK_CUDA(cudaDeviceReset());
    CHECK_CUDA(cudaFree(NULL));
    void *taken = take_memory();
    const td_device *device = td_device_current();
    CHECK(device, "refused");
    CHECK(device->workspace_bytes < 1 << 12, "%zu bytes of none", (size_t)device->workspace_bytes);
    give_memory_back(taken);
    CHECK_CUDA(cudaMemGetInfo(&left, &all));
    CHECK(td_device_current() == device, "another device");
    CHECK(device->workspace_bytes > left / 5, "%zu bytes of %zu", (size_t)device->workspace_bytes,
          left);
}

/* The handle has memory of its own. */
TEST(a_handle_is_made_once_there_is_memory)
{
    CHECK_CUDA(cudaDeviceReset());
    CHECK_CUDA(cudaFree(NULL));
    td_device *device = td_device_current();
    CHECK(device, "refused");
    fail_at(ALLOCATION, 1, 1);
    CHECK(!td_cublas_ready(device), "a handle was made");
    CHECK(failures(ALLOCATION) == 1, "nothing has failed");
    fail_at(ALLOCATION, 0, 0);
    CHECK(td_cublas_ready(device), "refused for good");
}

/* A risky call is native where nothing can be known of its site, and tried where nothing is. */
TEST(sites_are_known_once_there_is_memory)
{
    enum { SIDE = 64 };
    static double x[SIDE * SIDE];
    const td_matrix matrix = {.data = x, .ld = SIDE};
    const td_problem p = {.kind = TD_PRODUCT,
                          .type = TD_BINARY64,
                          .m = SIDE,
                          .n = SIDE,
                          .k = SIDE,
                          .a = matrix,
                          .b = matrix,
                          .c = matrix,
                          .batch = 1};
    const td_decision risky = {
        .engine = &td_engine_fp64, .text = "fp64", .heeds_site = true, .is_risky = true};
    td_question q;
    CHECK_CUDA(cudaDeviceReset());
    CHECK_CUDA(cudaFree(NULL));
    td_device *device = td_device_current();
    CHECK(device, "refused");
    td_ask(TD_ENTRY_cublasDgemm_v2, &p, &q);
    fail_at(ALLOCATION, 1, 1);
    CHECK(!td_adaptive_weigh(&q, &risky, device).engine, "tried without memory");
    fail_at(ALLOCATION, 0, 0);
    CHECK(td_adaptive_weigh(&q, &risky, device).engine, "not tried with memory");
}

int main(void)
{
    device_require();
    *(void **)&fail_at = dlsym(RTLD_DEFAULT, "hostgpu_fail_at");
    *(void **)&failures = dlsym(RTLD_DEFAULT, "hostgpu_failures");
    if (!device_is_host() || !fail_at || !failures) return TEST_SKIPPED;
    return test_run();
}
