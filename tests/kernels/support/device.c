#include "tests/support/test.h"

#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void device_require(void)
{
    int count = 0;
    struct cudaDeviceProp properties;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0) {
        fprintf(stderr, "skipped: no device (%s)\n", cudaGetErrorString(error));
        exit(TEST_SKIPPED);
    }
    if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) exit(1);
    printf("device: %s\n", properties.name);
    fflush(stdout);
}

bool device_is_host(void)
{
    struct cudaDeviceProp properties;
    return cudaGetDeviceProperties(&properties, 0) == cudaSuccess &&
           strncmp(properties.name, "Tandem host device", 18) == 0;
}

/* Copies from pageable memory may be under way when the call returns, and streams that do not block
 * do not wait for them. */
void device_write(void *device, const void *host, size_t bytes)
{
    CHECK_CUDA(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaStreamSynchronize(NULL));
}

void *device_copy(const void *host, size_t bytes)
{
    void *device = NULL;
    CHECK_CUDA(cudaMalloc(&device, bytes ? bytes : 1));
    device_write(device, host, bytes);
    return device;
}

void device_fetch(void *host, const void *device, size_t bytes)
{
    CHECK_CUDA(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
}

double *device_upload(const test_matrix *m)
{
    return device_copy(m->storage, m->count * sizeof(double));
}

td_view device_lines(td_matrix matrix, const test_matrix *m, bool lines_are_rows)
{
    return (td_view){.matrix = matrix,
                     .line_step = lines_are_rows ? 1 : m->ld,
                     .k_step = lines_are_rows ? m->ld : 1,
                     .k = lines_are_rows ? m->cols : m->rows,
                     .lines = (int)(lines_are_rows ? m->rows : m->cols)};
}

void device_download(test_matrix *m, const double *storage)
{
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK_CUDA(cudaMemcpy(m->storage, storage, m->count * sizeof(double), cudaMemcpyDeviceToHost));
}

void device_free_all(void *const *memory, size_t count)
{
    for (size_t i = 0; i < count; i++) CHECK_CUDA(cudaFree(memory[i]));
}

cudaGraphExec_t device_end_capture(cudaStream_t stream)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t executable = NULL;
    CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
    CHECK_CUDA(cudaGraphInstantiate(&executable, graph, 0));
    CHECK_CUDA(cudaGraphDestroy(graph));
    return executable;
}

void device_check_clean(const char *what)
{
    const cudaError_t ran = cudaDeviceSynchronize(), pending = cudaPeekAtLastError();
    CHECK(ran == cudaSuccess, "%s: %s", what, cudaGetErrorString(ran));
    CHECK(pending == cudaSuccess, "%s left an error: %s", what, cudaGetErrorString(pending));
}
