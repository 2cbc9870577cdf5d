/* operations.h - the functions of kernels/arithmetic/float32.h, df.h, dd.h, ts.h, of
 * tests/ref/terms.h and of bench/paper.h by number, from one kind of record to one kind of result:
 * the same cases run on the host and in a kernel, and the bits are compared. For C and CUDA C. */
#ifndef OPERATIONS_H
#define OPERATIONS_H

#include "bench/paper.h"
#include "tests/ref/terms.h"

/* X(function, kind of its arguments, their format): cases.c and numbers.h have kinds and
 * formats. */
#define OPERATIONS(X)                                                                              \
    SINGLE_OPERATIONS(X)                                                                           \
    DOUBLE_OPERATIONS(X)                                                                           \
    PAIR_OPERATIONS(X, td_df, DF)                                                                  \
    PAIR_OPERATIONS(X, td_dd, DD)                                                                  \
    TRIPLE_OPERATIONS(X)                                                                           \
    X(td_df_axpby, AXPBY, DF)                                                                      \
    X(td_dd_axpby, AXPBY, DD)                                                                      \
    X(td_dd_from_ds, PARTS, DS)                                                                    \
    X(td_ds, NUMBERS, DD)                                                                          \
    X(td_dd_shorten, NUMBERS, DD)                                                                  \
    X(paper_df_fma, NUMBERS, DF)                                                                   \
    X(paper_dd_fma, NUMBERS, DD)                                                                   \
    X(paper_ds_fma, NUMBERS, DS)

#define SINGLE_OPERATIONS(X)                                                                       \
    X(td_two_sum, REALS, SINGLE)                                                                   \
    X(td_fast_two_sum, REALS, SINGLE)                                                              \
    X(td_two_prod, REALS, SINGLE)                                                                  \
    X(td_is_finite32, REALS, SINGLE)                                                               \
    X(td_exp2, POWERS, SINGLE)                                                                     \
    X(td_scale32, SCALES, SINGLE)

#define DOUBLE_OPERATIONS(X)                                                                       \
    X(td_two_sum64, REALS, DOUBLE)                                                                 \
    X(td_fast_two_sum64, REALS, DOUBLE)                                                            \
    X(td_two_prod64, REALS, DOUBLE)                                                                \
    X(td_exp2_64, POWERS, DOUBLE)                                                                  \
    X(td_scale64, SCALES, DOUBLE)                                                                  \
    X(td_scale_down64, SCALES, DOUBLE)                                                             \
    X(td_exponent64, BITS, DOUBLE)                                                                 \
    X(td_significand64, BITS, DOUBLE)                                                              \
    X(td_normalise64, BITS, DOUBLE)                                                                \
    X(td_is_below_normal64, BITS, DOUBLE)                                                          \
    X(td_is_finite64, BITS, DOUBLE)                                                                \
    X(td_special32, BITS, DOUBLE)

#define PAIR_OPERATIONS(X, td_df, DF)                                                              \
    X(td_df##_add, NUMBERS, DF)                                                                    \
    X(td_df##_mul, NUMBERS, DF)                                                                    \
    X(td_df##_start, NUMBERS, DF)                                                                  \
    X(td_df##_accumulate, NUMBERS, DF)                                                             \
    X(td_df##_flush, NUMBERS, DF)                                                                  \
    X(td_df##_renormalise, PARTS, DF)                                                              \
    X(td_df##_split, SPLITS, DF)                                                                   \
    X(td_df##_join, PARTS, DF)

#define TRIPLE_OPERATIONS(X)                                                                       \
    PAIR_OPERATIONS(X, td_ts, TS)                                                                  \
    X(td_ts_normalise, PARTS, TS)                                                                  \
    X(td_ts_to_dd, PARTS, TS)                                                                      \
    X(paper_ts_add, NUMBERS, TS)                                                                   \
    X(paper_ts_mul, NUMBERS, TS)                                                                   \
    X(paper_ts_fma, NUMBERS, TS)

#define OPERATION_ENUM(function, kind, format) OPERATION_##function,
typedef enum { OPERATIONS(OPERATION_ENUM) OPERATION_COUNT } operation;
#undef OPERATION_ENUM

/* Numbers by their parts, the largest first; binary32 parts are binary64 here. Each operation uses
 * some; a real number is the first part of a, a running sum is c; td_df_axpby, td_dd_axpby: b[0] a
 * 2^e + b[1] c[0]. */
typedef struct {
    double a[3], b[3], c[3];
    int32_t e, unused;
} operation_in;

/* The bits of the parts of a number as binary64, an integer too; NaNs without their payload, which
 * machines may choose. */
typedef struct {
    uint64_t part[3];
} operation_out;

TD_BOTH uint64_t operation_bits(double x)
{
    return x != x ? UINT64_C(0x7ff8000000000000) : td_bits64(x);
}

TD_BOTH operation_out operation_parts(double first, double second, double third)
{
    operation_out out;
    out.part[0] = operation_bits(first);
    out.part[1] = operation_bits(second);
    out.part[2] = operation_bits(third);
    return out;
}

TD_BOTH tandem_df operation_td_df(const double *x) { return td_df((float)x[0], (float)x[1]); }
TD_BOTH tandem_dd operation_td_dd(const double *x) { return td_dd(x[0], x[1]); }
TD_BOTH tandem_ts operation_td_ts(const double *x)
{
    return td_ts((float)x[0], (float)x[1], (float)x[2]);
}
TD_BOTH tandem_ds operation_td_ds(const double *x)
{
    tandem_ds r;
    r.hi = x[0];
    r.lo = (float)x[1];
    return r;
}

TD_BOTH operation_out operation_out_td_df(tandem_df r) { return operation_parts(r.hi, r.lo, 0.0); }
TD_BOTH operation_out operation_out_td_dd(tandem_dd r) { return operation_parts(r.hi, r.lo, 0.0); }
TD_BOTH operation_out operation_out_td_ts(tandem_ts r) { return operation_parts(r.x, r.y, r.z); }
TD_BOTH operation_out operation_out_td_ds(tandem_ds r) { return operation_parts(r.hi, r.lo, 0.0); }

/* What a number of one operation is made by. */
#define OPERATION_FIRST(function, ...)                                                             \
    case OPERATION_##function:                                                                     \
        first = __VA_ARGS__;                                                                       \
        break;

TD_BOTH operation_out operation_apply_real32(operation which, float a, float b, int32_t e)
{
    float first = 0.0f, second = 0.0f;
    switch (which) {
        OPERATION_FIRST(td_two_sum, td_two_sum(a, b, &second))
        OPERATION_FIRST(td_fast_two_sum, td_fast_two_sum(a, b, &second))
        OPERATION_FIRST(td_two_prod, td_two_prod(a, b, &second))
        OPERATION_FIRST(td_exp2, td_exp2(e))
        OPERATION_FIRST(td_scale32, td_scale32((int)a, e))
    default:
        first = (float)td_is_finite32(a);
        break;
    }
    return operation_parts(first, second, 0.0);
}

/* Of the bits of one number. */
TD_BOTH operation_out operation_apply_bits64(operation which, double a)
{
    const uint64_t bits = td_bits64(a);
    double first = 0.0;
    int second = 0;
    switch (which) {
        OPERATION_FIRST(td_exponent64, td_exponent64(bits))
        OPERATION_FIRST(td_significand64, (double)(int64_t)td_significand64(bits, &second))
        OPERATION_FIRST(td_normalise64, td_normalise64(a, &second))
        OPERATION_FIRST(td_is_below_normal64, td_is_below_normal64(a))
        OPERATION_FIRST(td_special32, td_special32(bits))
    default:
        first = td_is_finite64(bits);
        break;
    }
    return operation_parts(first, second, 0.0);
}

TD_BOTH operation_out operation_apply_real64(operation which, double a, double b, int32_t e)
{
    double first = 0.0, second = 0.0;
    switch (which) {
        OPERATION_FIRST(td_two_sum64, td_two_sum64(a, b, &second))
        OPERATION_FIRST(td_fast_two_sum64, td_fast_two_sum64(a, b, &second))
        OPERATION_FIRST(td_two_prod64, td_two_prod64(a, b, &second))
        OPERATION_FIRST(td_exp2_64, td_exp2_64(e))
        OPERATION_FIRST(td_scale64, td_scale64(a, e))
        OPERATION_FIRST(td_scale_down64, td_scale_down64(a, e))
    default:
        return operation_apply_bits64(which, a);
    }
    return operation_parts(first, second, 0.0);
}
#undef OPERATION_FIRST

/* The result of one operation, a number of the format TYPE. */
#define OPERATION_IS(function, TYPE, ...)                                                          \
    case OPERATION_##function:                                                                     \
        return operation_out_##TYPE(__VA_ARGS__);

/* What pairs and triples have in common: the functions of TYPE, which is td_df and so on. NUMBER is
 * its structure. */
#define OPERATION_CASES(TYPE)                                                                      \
    case OPERATION_##TYPE##_add:                                                                   \
        return operation_out_##TYPE(TYPE##_add(operation_##TYPE(in->a), operation_##TYPE(in->b))); \
    case OPERATION_##TYPE##_mul:                                                                   \
        return operation_out_##TYPE(TYPE##_mul(operation_##TYPE(in->a), operation_##TYPE(in->b))); \
    case OPERATION_##TYPE##_split:                                                                 \
        return operation_out_##TYPE(TYPE##_split(td_bits64(in->a[0]), in->e));                     \
    case OPERATION_##TYPE##_join:                                                                  \
        return operation_parts(TYPE##_join(operation_##TYPE(in->a)), 0.0, 0.0);

/* Functions that change a pair: its parts are arguments of their own. */
#define OPERATION_PAIR_CASES(TYPE, PAIR)                                                           \
    case OPERATION_##TYPE##_start: {                                                               \
        PAIR s;                                                                                    \
        TYPE##_start(&s.hi, &s.lo, operation_##TYPE(in->a), operation_##TYPE(in->b));              \
        return operation_out_##TYPE(s);                                                            \
    }                                                                                              \
    case OPERATION_##TYPE##_accumulate: {                                                          \
        PAIR s = operation_##TYPE(in->c);                                                          \
        TYPE##_accumulate(&s.hi, &s.lo, operation_##TYPE(in->a), operation_##TYPE(in->b));         \
        return operation_out_##TYPE(s);                                                            \
    }                                                                                              \
    case OPERATION_##TYPE##_flush: {                                                               \
        PAIR s = operation_##TYPE(in->c);                                                          \
        const PAIR block = operation_##TYPE(in->a);                                                \
        TYPE##_flush(&s, block.hi, block.lo);                                                      \
        return operation_out_##TYPE(s);                                                            \
    }                                                                                              \
    case OPERATION_##TYPE##_renormalise: {                                                         \
        PAIR s = operation_##TYPE(in->a);                                                          \
        TYPE##_renormalise(&s);                                                                    \
        return operation_out_##TYPE(s);                                                            \
    }                                                                                              \
    case OPERATION_##TYPE##_axpby:                                                                 \
        return operation_parts(                                                                    \
            TYPE##_axpby(in->b[0], operation_##TYPE(in->a), in->e, in->b[1], in->c[0]), 0.0, 0.0);

#define OPERATION_FMA(df)                                                                          \
    OPERATION_IS(paper_##df##_fma, td_##df,                                                        \
                 paper_##df##_fma(operation_td_##df(in->a), operation_td_##df(in->b),              \
                                  operation_td_##df(in->c)))

TD_BOTH operation_out operation_apply_triple(operation which, const operation_in *in)
{
    const tandem_ts a = operation_td_ts(in->a), b = operation_td_ts(in->b);
    tandem_ts s = operation_td_ts(in->c);
    switch (which) {
        OPERATION_CASES(td_ts)
        OPERATION_IS(paper_ts_add, td_ts, paper_ts_add(a, b))
        OPERATION_IS(paper_ts_mul, td_ts, paper_ts_mul(a, b))
        OPERATION_IS(paper_ts_fma, td_ts, paper_ts_fma(a, b, s))
        OPERATION_IS(td_ts_to_dd, td_dd, td_ts_to_dd(a))
        OPERATION_IS(td_ts_normalise, td_ts, td_ts_normalise(a))
    case OPERATION_td_ts_renormalise:
        s = a;
        td_ts_renormalise(&s);
        break;
    case OPERATION_td_ts_start:
        td_ts_start(&s, a, b);
        break;
    case OPERATION_td_ts_accumulate:
        td_ts_accumulate(&s, a, b);
        break;
    default:
        td_ts_flush(&s, a);
        break;
    }
    return operation_out_td_ts(s);
}

#define OPERATION_CASE(function, kind, format) case OPERATION_##function:
TD_BOTH operation_out operation_apply(operation which, const operation_in *in)
{
    switch (which) {
        OPERATION_CASES(td_df)
        OPERATION_PAIR_CASES(td_df, tandem_df)
        OPERATION_CASES(td_dd)
        OPERATION_PAIR_CASES(td_dd, tandem_dd)
        OPERATION_IS(td_dd_from_ds, td_dd, td_dd_from_ds(operation_td_ds(in->a)))
        OPERATION_IS(td_dd_shorten, td_dd, td_dd_shorten(operation_td_dd(in->a)))
        OPERATION_IS(td_ds, td_ds, td_ds(operation_td_dd(in->a)))
        OPERATION_FMA(df)
        OPERATION_FMA(dd)
        OPERATION_FMA(ds)
        TRIPLE_OPERATIONS(OPERATION_CASE)
        return operation_apply_triple(which, in);
        SINGLE_OPERATIONS(OPERATION_CASE)
        return operation_apply_real32(which, (float)in->a[0], (float)in->b[0], in->e);
        DOUBLE_OPERATIONS(OPERATION_CASE)
        return operation_apply_real64(which, in->a[0], in->b[0], in->e);
    case OPERATION_COUNT:
        break;
    }
    return operation_parts(0.0, 0.0, 0.0);
}
#undef OPERATION_CASE
#undef OPERATION_CASES
#undef OPERATION_PAIR_CASES
#undef OPERATION_FMA
#undef OPERATION_IS

#endif
