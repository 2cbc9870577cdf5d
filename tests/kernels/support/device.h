/* device.h - what the tests of kernels need of a device. */
#ifndef SUPPORT_DEVICE_H
#define SUPPORT_DEVICE_H

#include <stdbool.h>

#include <cuda_runtime_api.h>

#include "kernels/view/view.h"
#include "tests/support/matrix.h"

/* Fails the test if the runtime does. */
#define CHECK_CUDA(call)                                                                           \
    do {                                                                                           \
        const cudaError_t device_error = (call);                                                   \
        CHECK(device_error == cudaSuccess, "%s: %s", #call, cudaGetErrorString(device_error));     \
    } while (0)

/* Ends the program with TEST_SKIPPED if there is no device; says which it is otherwise. */
void device_require(void);

/* True of the host device, whose cuBLAS is OpenBLAS. */
bool device_is_host(void);

/* The whole storage of a host matrix, guards included; device_data gives the first element. */
double *device_upload(const test_matrix *m);
static inline double *device_data(const test_matrix *m, double *storage)
{
    return storage + m->guard;
}
static inline td_matrix device_matrix(const test_matrix *m, double *storage)
{
    return (td_matrix){.data = device_data(m, storage), .ld = m->ld};
}

/* The matrix as a kernel's operand, whose lines are m's rows, or its columns. */
td_view device_lines(td_matrix matrix, const test_matrix *m, bool lines_are_rows);

/* So many bytes from the host in device memory of their own, and in other memory, where all streams
 * see them; and from there. */
void *device_copy(const void *host, size_t bytes);
void device_write(void *device, const void *host, size_t bytes);
void device_fetch(void *host, const void *device, size_t bytes);

/* Waits for the device and copies back, into m's storage. */
void device_download(test_matrix *m, const double *storage);

/* Frees each of some pieces of device memory: device_free(a, b). */
#define device_free(...)                                                                           \
    device_free_all((void *[]){__VA_ARGS__}, sizeof((void *[]){__VA_ARGS__}) / sizeof(void *))
void device_free_all(void *const *memory, size_t count);

/* Ends a capture; returns what can be launched. */
cudaGraphExec_t device_end_capture(cudaStream_t stream);

/* Kernels ran without a fault, and left no error behind. */
void device_check_clean(const char *what);

#endif
