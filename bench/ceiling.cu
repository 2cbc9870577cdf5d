#include "ceiling.h"

#include "../kernels/portable.h"

#include "../kernels/arithmetic/float32.h"

enum {
    CHAINS = 16,
    UNROLLED = 32,
    THREADS = 512,
    BLOCKS_PER_MULTIPROCESSOR = 2,
    REPEATS = TD_HAS_CUDA_DEVICE ? 4000 : 1 /* the host device's rate is of no interest */
};

TD_DEVICE float multiply_add(float a, float b, float c) { return td_fma(a, b, c); }
TD_DEVICE double multiply_add(double a, double b, double c) { return td_fma64(a, b, c); }

/* CHAINS independent chains a thread: enough to cover the latency of the unit. */
template <typename real>
static __global__ void __launch_bounds__(THREADS) multiply_adds(real *out, real x, real y)
{
    real chain[CHAINS];
    TD_UNROLL
    for (int c = 0; c < CHAINS; c++) chain[c] = x * (real)(threadIdx.x + c);
    TD_UNROLL_N(1)
    for (int i = 0; i < REPEATS; i++) {
        TD_UNROLL
        for (int u = 0; u < UNROLLED; u++) {
            TD_UNROLL
            for (int c = 0; c < CHAINS; c++) chain[c] = multiply_add(chain[c], x, y);
        }
    }
    real sum = 0;
    TD_UNROLL
    for (int c = 0; c < CHAINS; c++) sum += chain[c];
    if (sum == (real)1234.5) *out = sum; /* never: keeps the loop alive */
}

template <typename real>
static float run(unsigned blocks, real *out, cudaEvent_t start, cudaEvent_t stop)
{
    float milliseconds = 0.0f;
    cudaEventRecord(start, NULL);
    if (TD_LAUNCH(multiply_adds<real>, blocks, THREADS, 0, (cudaStream_t)NULL, out, (real)0.5,
                  (real)0.25) != cudaSuccess)
        return 0.0f;
    cudaEventRecord(stop, NULL);
    if (cudaEventSynchronize(stop) != cudaSuccess) return 0.0f;
    cudaEventElapsedTime(&milliseconds, start, stop);
    return milliseconds;
}

template <typename real> static double ceiling()
{
    int device = 0, multiprocessors = 0;
    real *out = NULL;
    float best = 0.0f;
    cudaEvent_t start, stop;
    if (cudaGetDevice(&device) != cudaSuccess || cudaEventCreate(&start) != cudaSuccess) return 0.0;
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    cudaEventCreate(&stop);
    const unsigned blocks = (unsigned)multiprocessors * BLOCKS_PER_MULTIPROCESSOR;
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

double ceiling_binary32(void) { return ceiling<float>(); }
double ceiling_binary64(void) { return ceiling<double>(); }
