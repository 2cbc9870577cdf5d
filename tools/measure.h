/* measure.h - how long products of binary64 matrices take on the current device, by cuBLAS or by an
 * engine, and cuBLAS's routines of level 3. */
#ifndef TD_TOOLS_MEASURE_H
#define TD_TOOLS_MEASURE_H

#include "lib/engines/model/model.h"

/* What products are made of: operands in device memory, and what times them. */
typedef struct measure measure;

/* Elements of A and B together, and of C; a batch included. */
typedef struct {
    int64_t operands, result;
} measure_size;

/* For products that are no larger. NULL if the device or cuBLAS is not to be had; reason then says
 * why (a string that stays). */
measure *measure_open(measure_size size, const char **reason);
void measure_close(measure *m); /* accepts NULL */

/* A product that only its sizes, operations, batch and beta describe. */
typedef struct {
    td_op op_a, op_b;
    int64_t m, n, k, batch;
    double beta;
} measure_shape;

/* Leading dimensions are rounded up, as those of large arrays in programs mostly are. */
measure_size measure_size_of(const measure_shape *shape);
bool measure_fits(measure_size size, measure_size into);
measure_size measure_larger(measure_size a, measure_size b); /* both fit into it */

/* What is known of the device. */
const td_model *measure_model(const measure *m);

/* Calls of a product that measure_seconds makes at least, however long one takes. */
enum { MEASURE_LEAST_CALLS = 5 };

/* Mean seconds of a product among others like it, back to back: the median of some series that take
 * about `budget` seconds together. engine NULL or without run: cuBLAS. A negative number if the
 * product is refused. */
double measure_seconds(measure *m, const measure_shape *shape, const td_engine *engine,
                       td_parameter parameter, double budget);

/* The same for cuBLAS's own real routine, one of td_native_routines: a lower triangle, on the left.
 * Only kind and sizes of `sizes` count. A solve is in place, again and again, with a unit diagonal;
 * its numbers overflow, which takes no other time. */
double measure_routine_seconds(measure *m, const td_problem *sizes, double budget);

#endif
