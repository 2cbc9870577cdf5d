/* measure.h - how long products of binary64 matrices, and routines of level 3, take on the current
 * device, by cuBLAS or by an engine. */
#ifndef TD_TOOLS_MEASURE_H
#define TD_TOOLS_MEASURE_H

#include "lib/model/model.h"

/* What products are made of: operands in device memory, and what times them. */
typedef struct measure measure;

/* Elements of A and B together, and of C; a batch included. */
typedef struct {
    int64_t operands, result;
} measure_size;

/* Makes the GPU with CUDA's number `device` the current one, and says what it is. False, with the
 * reason, if there is none of that number that Tandem's kernels run on. */
bool measure_choose(int device, td_card *card, const char **reason);

/* For products that are no larger. NULL if the device or cuBLAS is not to be had; reason then says
 * why (a string that stays). */
measure *measure_open(measure_size size, const char **reason);
void measure_close(measure *m); /* accepts NULL */

/* A call that only its routine, sizes, operations, batch and beta describe: a product, or one that
 * lib/engines/native_call.h can make. Of the sizes those count that its kind has
 * (lib/routine/problem.h). */
typedef struct {
    td_kind kind;
    td_type type;
    td_op op_a, op_b;
    int64_t m, n, k, batch;
    double beta;
} measure_shape;

/* Leading dimensions are rounded up, as those of large arrays in programs mostly are. */
measure_size measure_size_of(const measure_shape *shape);
bool measure_fits(measure_size size, measure_size into);
measure_size measure_larger(measure_size a, measure_size b); /* both fit into it */

/* The call itself. */
td_problem measure_problem(const measure *m, const measure_shape *shape);

/* What is known of the device. */
const td_model *measure_model(const measure *m);

/* Has cuBLAS make products of binary64 matrices by its own emulation, wherever it can, or no
 * longer. False if this cuBLAS has none, or the build's headers are older than 13.1. */
bool measure_set_emulation(measure *m, bool is_on);

/* Calls that measure_seconds makes at least, however long one takes. */
enum { MEASURE_LEAST_CALLS = 5 };

/* Mean seconds of a call among others like it, back to back: the median of some series that take
 * about `budget` seconds together. engine NULL or without run: cuBLAS. A triangular solve by an
 * engine is cut into the largest blocks. A negative number if the call is refused. */
double measure_seconds(measure *m, const measure_shape *shape, const td_engine *engine,
                       td_parameter parameter, double budget);

#endif
