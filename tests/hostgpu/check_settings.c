/* check_settings.c - a malformed variable gets one line that names it, its value and what is
 * allowed. Run with HOSTGPU_MEMORY=lots, HOSTGPU_WORKERS=0 and a good HOSTGPU_STACK. */
#include "expect.h"

TEST(test_malformed)
{
    size_t available = 0, total = 0;
    capture c = start_capture();
    const cudaError_t error = cudaMemGetInfo(&available, &total);
    char *said = end_capture(c);

    assert_int_equal(error, cudaSuccess);
    assert_true(total > 0);
    assert_non_null(strstr(said, "tandem: host device: HOSTGPU_MEMORY='lots' is no number from "));
    assert_non_null(
        strstr(said, "tandem: host device: HOSTGPU_WORKERS='0' is no number from 1 to "));
    assert_null(strstr(said, "HOSTGPU_STACK"));
    free(said);
}
