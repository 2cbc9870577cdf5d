/* check_small_members.c - a batch of many small products takes the host device no more than it has
 * to: threads that have nothing of C, and lines that do not exist, wait for no others. Counted in
 * switches from one thread to another, which do not depend on the machine. */
#include "tests/support/test.h"

#include <math.h>

#include "hostgpu/executor.h"
#include "lib/cuda/device.h"
#include "lib/engines/engine.h"
#include "tests/kernels/support/device.h"

enum { M = 2, N = 1, K = 5, MEMBERS = 1000, A = M * K, B = K * N, C = M * N };

/* Switches that a member may take: what it takes by one worker, for whom no block waits, and a
 * tenth. */
static const struct {
    const char *mode;
    double most;
} modes[] = {
    {"df", 5100},      {"ts", 8200},      {"dd", 8200},
    {"ozaki1", 32600}, {"ozaki2", 14100}, {"faithful", 15400},
};

static double a_at(int i) { return (i % 17 - 8.5) / 3; }
static double b_at(int i) { return (i % 13 - 6.5) / 7; }

/* C of the member's element, and the same of magnitudes. */
static double exact(int member, int row, double *magnitudes)
{
    double sum = 0;
    *magnitudes = 0;
    for (int l = 0; l < K; l++) {
        const double x = a_at(member * A + row + l * M) * b_at(member * B + l);
        sum += x;
        *magnitudes += fabs(x);
    }
    return sum;
}

static double *upload(int count, double (*at)(int))
{
    double *device = NULL;
    CHECK_CUDA(cudaMalloc((void **)&device, (size_t)count * sizeof *device));
    for (int i = 0; at && i < count; i++) device[i] = at(i); /* the host device's is the host's */
    return device;
}

static double switches_of_a_member(const char *mode, const td_product *gemm)
{
    td_parameter parameter;
    const td_engine *engine = td_engine_parse(mode, &parameter);
    td_device *device = td_device_current();
    CHECK(engine && device, "%s", mode);
    const unsigned long long before = hostgpu_switches();
    const td_run_status status =
        td_engine_run(engine, gemm, parameter, device, device->workspace_bytes, NULL);
    CHECK(status == TD_RUN_DONE, "%s: ended with %d", mode, (int)status);
    return (double)(hostgpu_switches() - before) / MEMBERS;
}

TEST(small_members_take_few_switches)
{
    double *const a = upload(MEMBERS * A, a_at), *const b = upload(MEMBERS * B, b_at),
                  *const c = upload(MEMBERS * C, NULL);
    const td_product gemm = {
        .m = M,
        .n = N,
        .k = K,
        .alpha = {.value.binary64 = 1},
        .a = {.data = a, .ld = M, .stride = A},
        .b = {.data = b, .ld = K, .stride = B},
        .c = {.data = c, .ld = M, .stride = C},
        .batch = MEMBERS,
    };
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        const double taken = switches_of_a_member(modes[i].mode, &gemm);
        test_note("%s: %.0f switches a member", modes[i].mode, taken);
        CHECK(taken <= modes[i].most, "%s: %.0f switches a member, at most %.0f are allowed",
              modes[i].mode, taken, modes[i].most);
        for (int e = 0; e < MEMBERS * C; e++) {
            double magnitudes;
            const double want = exact(e / C, e % C, &magnitudes);
            CHECK(fabs(c[e] - want) <= 0x1p-38 * magnitudes, "%s: element %d is %a, not %a",
                  modes[i].mode, e, c[e], want);
        }
    }
    device_free(a, b, c);
}
