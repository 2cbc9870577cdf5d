#include "ceiling.h"

#include "../kernels/device/portable.h"

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

/* SUMS independent products of 16 x 8 sums and 32 elements of k a warp, over and over. */
enum { SUMS = 12, PRODUCT_OPERATIONS = 2 * 16 * 8 * 32 };
static __global__ void __launch_bounds__(THREADS) multiply_matrices(int *out, int x, int y)
{
    int sum[SUMS][4] = {};
    TD_UNROLL_N(1)
    for (int i = 0; i < REPEATS; i++) {
        TD_UNROLL
        for (int u = 0; u < UNROLLED; u++) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
            int *const s = sum[u % SUMS];
            asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, "
                         "{%4, %4, %4, %4}, {%5, %5}, {%0, %1, %2, %3};"
                         : "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3])
                         : "r"(x), "r"(y));
#endif
        }
    }
    int all = x + y;
    TD_UNROLL
    for (int i = 0; i < 4 * SUMS; i++) all += sum[i / 4][i % 4];
    if (all == 1234567) *out = all; /* never: keeps the loop alive */
}

static cudaError_t launch(unsigned blocks, int *out)
{
    return TD_LAUNCH(multiply_matrices, blocks, THREADS, 0, (cudaStream_t)NULL, out, 0x01010101,
                     0x02020202);
}

template <typename real> static cudaError_t launch(unsigned blocks, real *out)
{
    return TD_LAUNCH(multiply_adds<real>, blocks, THREADS, 0, (cudaStream_t)NULL, out, (real)0.5,
                     (real)0.25);
}

template <typename real>
static float run(unsigned blocks, real *out, cudaEvent_t start, cudaEvent_t stop)
{
    float milliseconds = 0.0f;
    cudaEventRecord(start, NULL);
    if (launch(blocks, out) != cudaSuccess) return 0.0f;
    cudaEventRecord(stop, NULL);
    if (cudaEventSynchronize(stop) != cudaSuccess) return 0.0f;
    cudaEventElapsedTime(&milliseconds, start, stop);
    return milliseconds;
}

/* A thread does so much in a round of the loop. */
template <typename real> static double ceiling(double work)
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
    const double rounds = (double)blocks * THREADS * REPEATS * UNROLLED;
    return best > 0.0f ? rounds * work / (best * 1e-3) : 0.0;
}

double ceiling_binary32(void) { return ceiling<float>(CHAINS); }
double ceiling_binary64(void) { return ceiling<double>(CHAINS); }
double ceiling_int8_warps(void)
{
    return TD_HAS_CUDA_DEVICE ? ceiling<int>(PRODUCT_OPERATIONS / 32.0) : 0.0;
}
