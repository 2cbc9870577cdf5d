#include "accuracy_data.h"

#include "random.h"

enum { BLOCKS = 1024, THREADS = 128 };
enum { LINE_SEED = 101, ALONG_SEED, CIRCULANT_SEED };

/* Whole and uniform in [-bits/2, bits/2]; for -bits its negative. */
TD_DEVICE int exponent(int bits, uint64_t seed, int64_t index)
{
    const double u = random_uniform(seed, (uint64_t)index) - 0.5;
    return (int)rint(u * bits);
}

/* Element l of a line of a circulant operand: both operands have the same x. */
TD_DEVICE double circulant_element(int range, accuracy_operand operand, int64_t line, int64_t l,
                                   int64_t k)
{
    const int64_t place = (line + l) % k;
    const double x = 1.0 + random_uniform(CIRCULANT_SEED, (uint64_t)place);
    const int e = range - (int)rint(2.0 * range * (double)place / (double)(k > 1 ? k - 1 : 1));
    return ldexp(x, operand == ACCURACY_A ? e : -e);
}

TD_DEVICE double element(const accuracy_pattern &p, accuracy_operand operand, uint64_t seed,
                         int64_t line, int64_t l, int64_t k)
{
    if (p.circulant) return circulant_element(p.circulant, operand, line, l, k);
    const bool undoes = p.cancelling && l >= k / 2;
    const int64_t of = undoes ? l - k / 2 : l;
    const int along = operand == ACCURACY_A ? p.along_a : p.along_b;
    double x = random_element(p.shift, p.phi, seed, (uint64_t)(line * k + of));
    if (undoes && operand == ACCURACY_B)
        x *= -1.0 - 0x1p-30 * random_uniform(seed, (uint64_t)(line * k + l) * RANDOM_DRAWS);
    return ldexp(x, exponent(p.lines, LINE_SEED, line) + exponent(along, ALONG_SEED, of));
}

static __global__ void fill_kernel(accuracy_pattern pattern, accuracy_operand operand,
                                   uint64_t seed, int64_t lines, int64_t k, double *matrix)
{
    const int64_t rows = operand == ACCURACY_A ? lines : k;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < lines * k;
         i += BLOCKS * THREADS) {
        const int64_t row = i % rows, column = i / rows;
        const int64_t line = operand == ACCURACY_A ? row : column;
        matrix[i] = element(pattern, operand, seed, line, row + column - line, k);
    }
}

cudaError_t accuracy_fill(const accuracy_pattern *pattern, accuracy_operand operand, uint64_t seed,
                          int64_t lines, int64_t k, double *matrix)
{
    return TD_LAUNCH(fill_kernel, BLOCKS, THREADS, 0, (cudaStream_t)NULL, *pattern, operand, seed,
                     lines, k, matrix);
}
