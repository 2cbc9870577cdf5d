#include "limits.h"

#include "../../../kernels/batched_lu/batched_lu.h"

const char td_reason_order[] = "order beyond the kernels'";
const char td_reason_faster[] = "cuBLAS is faster";
const char td_reason_plain[] = "not a batch of small matrices";

/* Orders for which the kernels were faster than cuBLAS 13.1 on an H200 or H100, for 1, 10, 100,
 * 1000 and 10000 matrices, and for triangles for 2000 and 10000 (docs/batched_lu.md,
 * docs/results/h200-2026-11-22-lu2, h200-2026-11-23-lu6, h100-2026-11-27, -strips and -large). 0:
 * the kernels have no such kind or type. */
typedef struct {
    int from, to;
} orders;

#define BY_TYPE(s, s_to, d, d_to, c, c_to, z, z_to)                                                \
    {                                                                                              \
        [TD_BINARY32] = {s, s_to}, [TD_BINARY64] = {d, d_to}, [TD_COMPLEX_BINARY32] = {c, c_to},   \
        [TD_COMPLEX_BINARY64] = {                                                                  \
            z,                                                                                     \
            z_to                                                                                   \
        }                                                                                          \
    }
#define ANY_TYPE(from, to) BY_TYPE(from, to, from, to, from, to, from, to)
static const orders limits[TD_KIND_COUNT][TD_TYPE_COUNT] = {
    [TD_LU_FACTOR] = ANY_TYPE(5, 512),
    [TD_LU_SOLVE] = ANY_TYPE(16, 256),
    [TD_LU_INVERT] = ANY_TYPE(4, 256),
    [TD_INVERT] = ANY_TYPE(4, 32),
    [TD_TRIANGULAR_SOLVE] = BY_TYPE(32, 160, 48, 104, 33, 192, 33, 256),
};
enum { LEAST_TRIANGLES = 2000 };

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
    const orders *faster = &limits[p->kind][p->type];
    const int64_t order = p->kind == TD_TRIANGULAR_SOLVE && p->side == TD_LEFT ? p->m : p->n;
    if (faster->to == 0 || !p->a.array || is_odd(p)) return td_reason_plain;
    if (order > (p->kind == TD_LU_FACTOR ? (int)TD_LU_MOST_FACTORED : (int)TD_LU_MOST))
        return td_reason_order;
    const bool is_outside = order < faster->from || order > faster->to;
    return is_outside || is_thin(p, order) ? td_reason_faster : 0;
}
