/* check_contexts.c - every mode on every device, in two contexts of a device in turn, and after
 * resets: nothing that the library keeps may be of a context that is gone. */
#include "tests/support/test.h"

#include <cuda.h>

#include "lib/cuda/device.h"
#include "tests/kernels/support/checked.h"
#include "tests/kernels/support/device.h"
#include "tests/kernels/support/modes.h"

/* A product with repairs, of several tiles. */
static const product of = {"both signs", TANDEM_OP_N, TANDEM_OP_T, 70,   66, 130, 1, 2, 3, 1,
                           1.5,          -0.5,        61,          false};

/* What a context keeps for native products that data ask for: the same C in every context. */
static void check_branch(void)
{
    static test_matrix first;
    const product left = product_varied("zeros", 150, 70, 200, 1);
    mode m = mode_of_family("ozaki2");
    m.prices = (td_prices){FREE_BINARY64, .native = 1, .is_unscaled = 1};
    problem p = problem_make(&left);
    test_matrix c = checked_compute_within(&m, &p, td_device_current()->workspace_bytes, NULL);
    if (!first.storage) first = matrix_copy(&c);
    CHECK(matrix_difference(&c, &first) == -1, "another C in another context");
    matrix_free(&c);
    problem_free(&p);
}

/* Where everything is slow, one of each family: they keep things in the same places. */
static void check_modes(void)
{
    const mode *m = NULL;
    while ((m = mode_after(m)))
        if (!test_is_brief() || mode_stands_for_others(m)) checked_product(m, &of);
    check_branch();
    device_check_clean("products");
}

static void set_device(int device) { CHECK_CUDA(cudaSetDevice(device)); }

/* ---- the driver's functions ---- */

static struct {
    CUresult (*get_current)(CUcontext *);
    CUresult (*set_current)(CUcontext);
    CUresult (*create)(CUcontext *, unsigned, CUdevice);
    CUresult (*destroy)(CUcontext);
    CUresult (*reset_primary)(CUdevice);
} driver;

#define CHECK_DRIVER(call)                                                                         \
    do {                                                                                           \
        const CUresult driver_result = (call);                                                     \
        CHECK(driver_result == CUDA_SUCCESS, "%s: %d", #call, (int)driver_result);                 \
    } while (0)

static void find(const char *name, unsigned version, void *function)
{
    CHECK_CUDA(cudaGetDriverEntryPointByVersion(name, function, version, cudaEnableDefault, NULL));
}

static int find_driver(void **unused)
{
    (void)unused;
    find("cuCtxGetCurrent", 4000, &driver.get_current);
    find("cuCtxSetCurrent", 4000, &driver.set_current);
    find("cuCtxCreate", 4000, &driver.create);
    find("cuCtxDestroy", 4000, &driver.destroy);
    find("cuDevicePrimaryCtxReset", 11000, &driver.reset_primary);
    set_device(0);
    return 0;
}

/* ---- tests ---- */

TEST(every_device)
{
    int count = 0;
    CHECK_CUDA(cudaGetDeviceCount(&count));
    for (int d = count - 1; d >= 0; d--) {
        set_device(d);
        check_modes();
    }
}

TEST(after_a_reset)
{
    check_modes();
    CHECK_CUDA(cudaDeviceReset());
    check_modes();
    CHECK_DRIVER(driver.reset_primary(0));
    set_device(0);
    check_modes();
}

/* A reset of one device is none of another. */
TEST(after_a_reset_of_another_device)
{
    int count = 0;
    CHECK_CUDA(cudaGetDeviceCount(&count));
    if (count < 2) skip();
    set_device(1);
    check_modes();
    CHECK_CUDA(cudaDeviceReset());
    set_device(0);
    check_modes();
    set_device(1);
    check_modes();
    set_device(0);
}

/* The second's address is likely to be that of the one before. */
TEST(two_contexts_in_turn)
{
    CUcontext primary = NULL, second = NULL;
    CHECK_CUDA(cudaFree(NULL));
    CHECK_DRIVER(driver.get_current(&primary));
    for (int i = 0; i < 2; i++) {
        CHECK_DRIVER(driver.create(&second, 0, 0));
        check_modes();
        CHECK_DRIVER(driver.set_current(primary));
        check_modes();
        CHECK_DRIVER(driver.set_current(second));
        check_modes();
        CHECK_DRIVER(driver.destroy(second));
        CHECK_DRIVER(driver.set_current(primary));
        check_modes();
    }
}

int main(void)
{
    device_require();
    return test_run(.set_up = find_driver);
}
