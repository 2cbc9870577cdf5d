#include "numbers.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/complex_of.h"
#include "tests/support/test.h"
#include "device.h"

number numbers_random_scalar(test_random *r, bool is_complex)
{
    static const double values[] = {1.0, 0.0, -1.0, 0.7};
    const double re = values[random_int(r, 0, 3)], im = values[random_int(r, 0, 3)];
    return complex_of(re, is_complex && random_int(r, 0, 1) ? im : 0.0);
}

static size_t size_of(bool is_complex) { return is_complex ? sizeof(number) : sizeof(double); }

void *numbers_upload(const number *at, size_t count, bool is_complex)
{
    const size_t size = size_of(is_complex);
    char *host = malloc(count * size + 1), *device = NULL;
    for (size_t i = 0; i < count; i++) memcpy(host + i * size, &at[i], size);
    CHECK_CUDA(cudaMalloc((void **)&device, count * size + 1));
    device_write(device, host, count * size);
    free(host);
    return device;
}

void numbers_download(number *at, size_t count, bool is_complex, const void *device)
{
    const size_t size = size_of(is_complex);
    char *host = malloc(count * size + 1);
    CHECK_CUDA(cudaMemcpy(host, device, count * size, cudaMemcpyDeviceToHost));
    memset(at, 0, count * sizeof *at);
    for (size_t i = 0; i < count; i++) memcpy(&at[i], host + i * size, size);
    free(host);
}
