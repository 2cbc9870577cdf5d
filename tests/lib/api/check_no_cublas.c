/* check_no_cublas.c - a program in whose reach is no cuBLAS: what needs one says so and leaves C
 * alone, the rest works. */
#include "tests/support/test.h"

#include <math.h>
#include <string.h>

#include "include/tandem.h"
#include "tests/kernels/support/device.h"

enum { SIZE = 5, ELEMENTS = SIZE * SIZE };

/* Instead of the loader's own: there is nothing to load. */
void *dlopen(const char *name, int flags);
void *dlopen(const char *name, int flags)
{
    (void)name, (void)flags;
    return NULL;
}

/* C is infinite before. Returns the status, and C's first element in *c. */
static tandem_status multiply(const char *mode, double *c)
{
    double x[ELEMENTS], before[ELEMENTS], after[ELEMENTS], *a, *result;
    for (int i = 0; i < ELEMENTS; i++) {
        x[i] = i + 1;
        before[i] = INFINITY;
    }
    CHECK_CUDA(cudaMalloc((void **)&a, sizeof x));
    CHECK_CUDA(cudaMalloc((void **)&result, sizeof x));
    CHECK_CUDA(cudaMemcpy(a, x, sizeof x, cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMemcpy(result, before, sizeof before, cudaMemcpyHostToDevice));
    const tandem_status status = tandem_dgemm(mode, TANDEM_OP_N, TANDEM_OP_T, SIZE, SIZE, SIZE, 1.0,
                                              a, SIZE, a, SIZE, 0.0, result, SIZE, NULL);
    CHECK_CUDA(cudaMemcpy(after, result, sizeof after, cudaMemcpyDeviceToHost));
    CHECK(status == TANDEM_OK || memcmp(before, after, sizeof after) == 0, "%s changes C", mode);
    *c = after[0];
    device_free(a, result);
    return status;
}

TEST(modes_that_need_one_say_so)
{
    static const char *const modes[] = {"ozaki1", "ozaki1:7", "ozaki-sgemm"};
    for (int i = 0; i < 3; i++) {
        double c;
        const tandem_status status = multiply(modes[i], &c);
        CHECK(status == TANDEM_UNSUPPORTED, "%s: %s", modes[i], tandem_status_text(status));
        CHECK(strstr(tandem_last_message(), "cuBLAS"), "%s: %s", modes[i], tandem_last_message());
    }
    const tandem_ts one = {1.0F, 0.0F, 0.0F}, *a = (const tandem_ts *)256;
    const tandem_status status = tandem_tsgemm_sliced(0, TANDEM_OP_N, TANDEM_OP_N, 1, 1, 1, one, a,
                                                      1, a, 1, one, (tandem_ts *)4096, 1, NULL);
    CHECK(status == TANDEM_UNSUPPORTED, "by slices: %s", tandem_status_text(status));
}

TEST(other_modes_work)
{
    static const char *const modes[] = {"df",     "ts",        "dd",       "d+s",
                                        "ozaki2", "ozaki2:14", "faithful", "faithful:fp64"};
    for (int i = 0; i < 8; i++) {
        double c;
        const tandem_status status = multiply(modes[i], &c);
        CHECK(status == TANDEM_OK, "%s: %s", modes[i], tandem_last_message());
        CHECK(c == 1.0 + 36.0 + 121.0 + 256.0 + 441.0, "%s: %g", modes[i], c);
    }
}
