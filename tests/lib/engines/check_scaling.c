/* check_scaling.c - C where alpha or k is 0: the same bits in every mode, wherever the scalars are,
 * and no operand read. */
#include "tests/support/test.h"

#include <math.h>

#include "lib/cuda/device.h"
#include "lib/engines/engine.h"
#include "tests/support/bits.h"
#include "tests/kernels/support/device.h"
#include "tests/kernels/support/modes.h"

static const double alphas[] = {0.0, -0.0}, betas[] = {0.0, -0.0, 1.0, -1.0, 0.5, -0x1p-1074};
static const double before[] = {0.0, -0.0, 2.0, -0x1p-1074, 0x1.8p-1022, INFINITY, NAN};
enum { ALPHAS = 2, BETAS = 6, M = sizeof before / sizeof *before, N = 3, K = 5 };

/* A and B are all NaN; C, M x N, has `before` in each column. */
typedef struct {
    double *a, *b, *c, *scalars;
} memory;

static void fill(double *to, const double *from, int count, int repeat)
{
    for (int i = 0; i < repeat; i++)
        CHECK_CUDA(
            cudaMemcpy(to + i * count, from, (size_t)count * sizeof *from, cudaMemcpyHostToDevice));
}

static memory memory_make(void)
{
    static const double nan = NAN;
    memory at;
    CHECK_CUDA(cudaMalloc((void **)&at.a, M * K * sizeof(double)));
    CHECK_CUDA(cudaMalloc((void **)&at.b, K * N * sizeof(double)));
    CHECK_CUDA(cudaMalloc((void **)&at.c, M * N * sizeof(double)));
    CHECK_CUDA(cudaMalloc((void **)&at.scalars, 2 * sizeof(double)));
    fill(at.a, &nan, 1, M * K);
    fill(at.b, &nan, 1, K * N);
    return at;
}

static void memory_free(memory *at) { device_free(at->a, at->b, at->c, at->scalars); }

/* Runs the product with scalars on the host or on the device, and takes C. */
static void compute(const mode *m, memory *at, int k, double alpha, double beta, bool on_device,
                    double *c)
{
    const double scalars[] = {alpha, beta};
    td_parameter parameter;
    const td_engine *engine = td_engine_parse(m->name, &parameter);
    td_device *device = td_device_current();
    CHECK(engine && device, "%s: no engine, or no device", m->name);
    fill(at->scalars, scalars, 2, 1);
    fill(at->c, before, M, N);
    const td_product p = {
        .m = M,
        .n = N,
        .k = k,
        .alpha = {.value.binary64 = alpha, .device = on_device ? at->scalars : NULL},
        .beta = {.value.binary64 = beta, .device = on_device ? at->scalars + 1 : NULL},
        .a = {.data = at->a, .ld = M},
        .b = {.data = at->b, .ld = K},
        .c = {.data = at->c, .ld = M},
        .batch = 1,
    };
    const td_run_status status =
        td_engine_run(engine, &p, parameter, device, device->workspace_bytes, NULL);
    CHECK(status == TD_RUN_DONE, "%s ended with %d", m->name, (int)status);
    CHECK_CUDA(cudaMemcpy(c, at->c, M * N * sizeof(double), cudaMemcpyDeviceToHost));
}

static void check_scalars(const mode *m, memory *at, int k, double alpha, double beta)
{
    double want[M * N], got[M * N];
    for (int i = 0; i < M * N; i++) want[i] = before[i % M];
    const ref_gemm reference = {.m = M, .n = N, .beta = beta, .c = want, .ldc = M};
    ref_scale(&reference);
    for (int on_device = 0; on_device < 2; on_device++) {
        compute(m, at, k, alpha, beta, on_device, got);
        for (int i = 0; i < M * N; i++)
            CHECK(bits_of(got[i]) == bits_of(want[i]) || (isnan(got[i]) && isnan(want[i])),
                  "%s: k %d, alpha %g, beta %g on the %s: %g becomes %g, not %g", m->name, k, alpha,
                  beta, on_device ? "device" : "host", before[i % M], got[i], want[i]);
    }
}

TEST(scaled_alike)
{
    memory at = memory_make();
    for (const mode *m = mode_after(NULL); m; m = mode_after(m))
        for (int b = 0; b < BETAS; b++) {
            for (int a = 0; a < ALPHAS; a++) check_scalars(m, &at, K, alphas[a], betas[b]);
            check_scalars(m, &at, 0, -1.5, betas[b]);
        }
    memory_free(&at);
    device_check_clean("products without products");
}
