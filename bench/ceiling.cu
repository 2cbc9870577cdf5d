#include "ceiling.h"

#include <cuda_runtime.h>

enum { CHAINS = 16, UNROLLED = 32, THREADS = 512, BLOCKS_PER_MULTIPROCESSOR = 2, REPEATS = 4000 };

/* CHAINS independent chains a thread: enough to cover the latency of the unit. */
static __global__ void __launch_bounds__(THREADS)
    multiply_adds(float *out, int repeats, float x, float y)
{
    float chain[CHAINS];
#pragma unroll
    for (int c = 0; c < CHAINS; c++) chain[c] = x * (float)(threadIdx.x + c);
#pragma unroll 1
    for (int i = 0; i < repeats; i++) {
#pragma unroll
        for (int u = 0; u < UNROLLED; u++) {
#pragma unroll
            for (int c = 0; c < CHAINS; c++) chain[c] = __fmaf_rn(chain[c], x, y);
        }
    }
    float sum = 0.0f;
#pragma unroll
    for (int c = 0; c < CHAINS; c++) sum += chain[c];
    if (sum == 1234.5f) *out = sum; /* never: keeps the loop alive */
}

static float run(int blocks, float *out, cudaEvent_t start, cudaEvent_t stop)
{
    float milliseconds = 0.0f;
    cudaEventRecord(start);
    multiply_adds<<<blocks, THREADS>>>(out, REPEATS, 0.5f, 0.25f);
    cudaEventRecord(stop);
    if (cudaEventSynchronize(stop) != cudaSuccess) return 0.0f;
    cudaEventElapsedTime(&milliseconds, start, stop);
    return milliseconds;
}

double ceiling_binary32(void)
{
    int device = 0, multiprocessors = 0;
    float *out = NULL, best = 0.0f;
    cudaEvent_t start, stop;
    if (cudaGetDevice(&device) != cudaSuccess || cudaEventCreate(&start) != cudaSuccess) return 0.0;
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    cudaEventCreate(&stop);
    const int blocks = multiprocessors * BLOCKS_PER_MULTIPROCESSOR;
    if (cudaMalloc((void **)&out, sizeof *out) == cudaSuccess) {
        for (int i = 0; i < 4; i++) { /* the first warms up */
            const float milliseconds = run(blocks, out, start, stop);
            if (milliseconds > 0.0f && (best == 0.0f || milliseconds < best)) best = milliseconds;
        }
    }
    cudaFree(out);
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    const double instructions = (double)blocks * THREADS * REPEATS * UNROLLED * CHAINS;
    return best > 0.0f ? instructions / (best * 1e-3) : 0.0;
}
