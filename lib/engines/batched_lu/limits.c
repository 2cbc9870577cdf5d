#include "limits.h"

#include "../../../kernels/batched_lu/batched_lu.h"

const char td_reason_order[] = "order beyond the kernels'";
const char td_reason_faster[] = "cuBLAS is faster";
const char td_reason_plain[] = "not a batch of small matrices";

/* Orders for which the kernels were faster than cuBLAS 13.1 on an H200 or H100, for 1, 10, 100,
 * 1000 and 10000 matrices, and for triangles for 2000 and 10000 (docs/batched_lu.md,
 * docs/results/h200-2026-11-22-lu2, h200-2026-11-23-lu6, h100-2026-11-27, -strips and -large). By
 * type: binary32, binary64, and complex ones. */
typedef struct {
    int from, to;
} orders;

enum { S, D, C, Z, TYPES };

static const orders factor[TYPES] = {{5, 512}, {5, 512}, {5, 512}, {5, 512}};
static const orders solve[TYPES] = {{16, 256}, {16, 256}, {16, 256}, {16, 256}};
static const orders invert[TYPES] = {{4, 256}, {4, 256}, {4, 256}, {4, 256}};
static const orders whole[TYPES] = {{4, 32}, {4, 32}, {4, 32}, {4, 32}};
static const orders triangular[TYPES] = {{32, 160}, {48, 104}, {33, 192}, {33, 256}};
enum { LEAST_TRIANGLES = 2000 };

static int type_index(td_type type)
{
    switch (type) {
    case TD_BINARY32:
        return S;
    case TD_BINARY64:
        return D;
    case TD_COMPLEX_BINARY32:
        return C;
    case TD_COMPLEX_BINARY64:
        return Z;
    default:
        return TYPES;
    }
}

static const orders *orders_of(td_kind kind)
{
    switch (kind) {
    case TD_LU_FACTOR:
        return factor;
    case TD_LU_SOLVE:
        return solve;
    case TD_LU_INVERT:
        return invert;
    case TD_INVERT:
        return whole;
    case TD_TRIANGULAR_SOLVE:
        return triangular;
    default:
        return 0;
    }
}

/* What cuBLAS would refuse, or answer in its own way. */
static bool is_odd(const td_problem *p)
{
    if (p->kind == TD_TRIANGULAR_SOLVE)
        return (unsigned)p->side > TD_RIGHT || (unsigned)p->triangle > TD_UPPER ||
               (unsigned)p->diagonal > TD_UNIT_DIAGONAL;
    return !p->info;
}

/* True if there is too little work for a block: few right-hand sides of a large matrix, or few
 * matrices. */
static bool is_thin(const td_problem *p, int64_t order)
{
    if (p->kind == TD_LU_SOLVE) return order > 48 && p->k < order / 4;
    if (p->kind != TD_TRIANGULAR_SOLVE) return false;
    const int64_t vectors = p->side == TD_LEFT ? p->n : p->m;
    return vectors < order / 2 || p->batch < LEAST_TRIANGLES;
}

const char *td_lu_refusal(const td_problem *p)
{
    const orders *by_type = orders_of(p->kind);
    const int type = type_index(p->type);
    const int64_t order = p->kind == TD_TRIANGULAR_SOLVE && p->side == TD_LEFT ? p->m : p->n;
    if (!by_type || type == TYPES || !p->a.array || is_odd(p)) return td_reason_plain;
    if (order > (p->kind == TD_LU_FACTOR ? (int)TD_LU_MOST_FACTORED : (int)TD_LU_MOST))
        return td_reason_order;
    const bool is_outside = order < by_type[type].from || order > by_type[type].to;
    return is_outside || is_thin(p, order) ? td_reason_faster : 0;
}
