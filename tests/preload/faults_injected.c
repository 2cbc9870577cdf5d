/* faults_injected.c - each allocation, launch and load of a product fails, one after another. */
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <string.h>

#include "faults_work.h"
#include "injected.h"

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

/* Two products during which calls fail, and one after that. */
static void multiply_with_faults(int kind, unsigned long long first, unsigned long long count)
{
    work w;
    size_t before;
    if (kind == INJECTED_HOST_ALLOCATION) inject(kind, first, count);
    w = make_work();
    before = free_bytes();
    if (kind != INJECTED_HOST_ALLOCATION) inject(kind, first, count);
    for (int i = 0; i < 2; i++) {
        const int status = multiply(&w);
        REQUIRE(status == 0 ||
                (kind == INJECTED_LAUNCH && status == CUBLAS_STATUS_EXECUTION_FAILED));
        REQUIRE(status != 0 || is_near_reference(&w));
    }
    const bool has_failed = injected(kind) > 0;
    inject(kind, 0, 0);
    REQUIRE(!multiply(&w) && is_near_reference(&w));
    REQUIRE(free_bytes() == before);
    free_work(&w);
    injected_end(has_failed);
}

void fail_everywhere(void)
{
    REQUIRE(injected_prepare());
    fill_host(host_a, 1);
    fill_host(host_b, 2);
    find_reference();
    inject_everywhere("", multiply_with_faults);
}
