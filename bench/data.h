/* data.h - operands of the benches: filled on the device, and samples of them brought to the
 * host. */
#ifndef BENCH_DATA_H
#define BENCH_DATA_H

#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DATA_PARTS = 3 }; /* of a sampled element: binary64 numbers whose exact sum it is */

typedef enum { TYPE_DOUBLE, TYPE_DF, TYPE_TS, TYPE_DD, TYPE_DS, TYPES } data_type;

/* (u - shift) exp(phi g), u uniform in (0, 1), g normal. */
typedef struct {
    double shift, phi;
} data_distribution;

/* Some lines of one dimension, the first and the last among them: all if there are `samples` or
 * fewer, else `samples`, spread evenly. Where they are far enough apart they are also the first and
 * the last lines of tiles, in turns. */
typedef struct {
    int64_t size, samples;
} data_lines;

size_t data_size(data_type type); /* bytes of an element */

/* Enqueues on the default stream: `count` elements, all of their bits random. The same seed gives
 * the same numbers in every type, up to its rounding. */
cudaError_t data_fill(data_type type, data_distribution distribution, uint64_t seed, int64_t count,
                      void *matrix);

/* Enqueues on the default stream: the sampled rows and columns of a column-major matrix without
 * padding, column after column, DATA_PARTS numbers an element. */
cudaError_t data_sample(data_type type, const void *matrix, data_lines rows, data_lines columns,
                        double *parts);

#ifdef __cplusplus
}
#endif

static inline int64_t data_sampled(data_lines lines)
{
    return lines.size < lines.samples ? lines.size : lines.samples;
}

#endif
