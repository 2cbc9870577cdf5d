/* operations.h - the functions of float32.h and df.h by number, from one kind of record to one kind of result: the
 * same cases run on the host and in a kernel, and the bits are compared. For C and CUDA C. */
#ifndef OPERATIONS_H
#define OPERATIONS_H

#include "../../kernels/df.h"

/* X(function) */
#define OPERATIONS(X)                                                                              \
    X(two_sum)                                                                                     \
    X(fast_two_sum)                                                                                \
    X(two_prod)                                                                                    \
    X(exp2)                                                                                        \
    X(exp2_64)                                                                                     \
    X(scale64)                                                                                     \
    X(exponent64)                                                                                  \
    X(df_add)                                                                                      \
    X(df_mul)                                                                                      \
    X(df_fma)                                                                                      \
    X(df_accumulate)                                                                               \
    X(df_start)                                                                                    \
    X(df_flush)                                                                                    \
    X(df_renormalise)                                                                              \
    X(df_split)                                                                                    \
    X(df_join)

#define OPERATION_ENUM(function) OPERATION_##function,
typedef enum { OPERATIONS(OPERATION_ENUM) OPERATION_COUNT } operation;
#undef OPERATION_ENUM

/* Arguments; each operation uses some. */
typedef struct {
    tandem_df a, b, c; /* binary32 arguments: a.hi, b.hi; the running sum: c */
    double x;
    int32_t e, unused;
} operation_in;

/* A binary64 as (x, 0), a pair, or an integer as (e, 0); NaNs without their payload, which machines may choose. */
typedef struct {
    uint64_t first, second;
} operation_out;

TD_BOTH uint64_t operation_bits(double x)
{
    return x != x ? UINT64_C(0x7ff8000000000000) : td_bits64(x);
}

TD_BOTH operation_out operation_pair(double first, double second)
{
    operation_out out;
    out.first = operation_bits(first);
    out.second = operation_bits(second);
    return out;
}

TD_BOTH operation_out operation_apply(operation which, const operation_in *in)
{
    float error = 0.0f, sum;
    tandem_df r;
    switch (which) {
    case OPERATION_two_sum:
        sum = td_two_sum(in->a.hi, in->b.hi, &error);
        return operation_pair(sum, error);
    case OPERATION_fast_two_sum:
        sum = td_fast_two_sum(in->a.hi, in->b.hi, &error);
        return operation_pair(sum, error);
    case OPERATION_two_prod:
        sum = td_two_prod(in->a.hi, in->b.hi, &error);
        return operation_pair(sum, error);
    case OPERATION_exp2:
        return operation_pair(td_exp2(in->e), 0.0);
    case OPERATION_exp2_64:
        return operation_pair(td_exp2_64(in->e), 0.0);
    case OPERATION_scale64:
        return operation_pair(td_scale64(in->x, in->e), 0.0);
    case OPERATION_exponent64:
        return operation_pair(td_exponent64(td_bits64(in->x)), 0.0);
    case OPERATION_df_add:
        r = td_df_add(in->a, in->b);
        return operation_pair(r.hi, r.lo);
    case OPERATION_df_mul:
        r = td_df_mul(in->a, in->b);
        return operation_pair(r.hi, r.lo);
    case OPERATION_df_fma:
        r = td_df_fma(in->a, in->b, in->c);
        return operation_pair(r.hi, r.lo);
    case OPERATION_df_accumulate:
        sum = in->c.hi;
        error = in->c.lo;
        td_df_accumulate(&sum, &error, in->a, in->b);
        return operation_pair(sum, error);
    case OPERATION_df_start:
        td_df_start(&sum, &error, in->a, in->b);
        return operation_pair(sum, error);
    case OPERATION_df_flush:
        r = in->a;
        td_df_flush(&r, in->b.hi, in->b.lo);
        return operation_pair(r.hi, r.lo);
    case OPERATION_df_renormalise:
        r = in->a;
        td_df_renormalise(&r);
        return operation_pair(r.hi, r.lo);
    case OPERATION_df_split:
        r = td_df_split(td_bits64(in->x), in->e);
        return operation_pair(r.hi, r.lo);
    case OPERATION_df_join:
        return operation_pair(td_df_join(in->a), 0.0);
    case OPERATION_COUNT:
        break;
    }
    return operation_pair(0.0, 0.0);
}

#endif
