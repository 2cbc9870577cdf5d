/* ref_ts_sliced.c - the definition of tandem_tsgemm_sliced: docs/numerics.md. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "../../kernels/arithmetic/ts.h"
#include "fixed.h"
#include "ref.h"

enum { PARTS = 3, BITS = 76 }; /* of tandem_ts; that the default keeps below the largest number */

int ref_slice_bits(int64_t k)
{
    int log = 1;
    while (log < 12 && INT64_C(1) << log < k) log++;
    return 1 + (24 - log) / 2;
}

int64_t ref_sliced_bits(int slices, int64_t k)
{
    const int bits = ref_slice_bits(k);
    return bits * (slices ? slices : (BITS + 1 + bits - 1) / bits);
}

/* A row of op(A) or a column of op(B): elements are the sums of their parts times 2^-scale. */
typedef struct {
    int scale;
    bool is_special;
    double *part; /* [k][PARTS], whole numbers */
} line;

static void get(const tandem_ts *x, double *part)
{
    part[0] = (double)x->x;
    part[1] = (double)x->y;
    part[2] = (double)x->z;
}

/* `bits` as ref_sliced_bits has them. A line of zeros has no scale. */
static line line_of(const tandem_ts *x, int64_t step, int64_t k, int64_t bits)
{
    line r = {.part = calloc((size_t)k * PARTS, sizeof(double))};
    double largest = 0.0;
    if (!r.part) abort();
    for (int64_t l = 0; l < k; l++) {
        r.is_special |= !isfinite(x[l * step].x);
        largest = fmax(largest, fabs((double)x[l * step].x));
    }
    if (r.is_special || largest == 0.0) return r;
    r.scale = (int)bits - 2 - ilogb(largest);
    for (int64_t l = 0; l < k; l++) {
        double *part = r.part + l * PARTS;
        get(&x[l * step], part);
        for (int p = 0; p < PARTS; p++) part[p] = rint(scalbn(part[p], r.scale));
    }
    return r;
}

static void add_product(fixed *sum, const line *a, const line *b, int64_t k)
{
    for (int64_t l = 0; l < k; l++)
        for (int p = 0; p < PARTS; p++)
            for (int q = 0; q < PARTS; q++)
                fixed_add_scaled_product(sum, a->part[l * PARTS + p], b->part[l * PARTS + q],
                                         -(a->scale + b->scale));
}

/* The leading 24 bits of x, rounded, which x loses. False if binary32 cannot have the rest, or not
 * even these. */
static bool take_part(fixed *x, float *part)
{
    int e;
    const float m = (float)frexpl(fixed_value(x), &e);
    *part = (float)ldexp((double)m, e);
    fixed_add_product(x, (double)*part, isfinite(*part) ? -1.0 : 0.0);
    return e - 24 >= -149 && isfinite(*part);
}

static tandem_ts to_ts(fixed x)
{
    tandem_ts r = {0.0f, 0.0f, 0.0f};
    if (take_part(&x, &r.x) && take_part(&x, &r.y)) (void)take_part(&x, &r.z);
    return r;
}

static void set_element(const ref_typed *p, const line *a, const line *b, tandem_ts *c)
{
    const tandem_ts alpha = *(const tandem_ts *)p->alpha, beta = *(const tandem_ts *)p->beta;
    tandem_ts x = {NAN, 0.0f, 0.0f};
    fixed sum = {.end = 0};
    if (!a->is_special && !b->is_special) {
        add_product(&sum, a, b, p->k);
        x = to_ts(sum);
    }
    x = td_ts_mul(alpha, x);
    *c = beta.x == 0.0f ? x : td_ts_add(x, td_ts_mul(beta, *c));
}

void ref_ts_sliced(int slices, const ref_typed *p)
{
    if (p->k == 0 || ((const tandem_ts *)p->alpha)->x == 0.0f) {
        ref_ts_format.typed(p);
        return;
    }
    const tandem_ts *a = p->a, *b = p->b;
    tandem_ts *c = p->c;
    const bool a_along = p->op_a == TANDEM_OP_T, b_along = p->op_b == TANDEM_OP_N;
    const int64_t bits = ref_sliced_bits(slices, p->k);
    line *rows = calloc((size_t)p->m + 1, sizeof *rows);
    if (!rows) abort();
    for (int64_t i = 0; i < p->m; i++)
        rows[i] = line_of(a + i * (a_along ? p->lda : 1), a_along ? 1 : p->lda, p->k, bits);
    for (int64_t j = 0; j < p->n; j++) {
        line col = line_of(b + j * (b_along ? p->ldb : 1), b_along ? 1 : p->ldb, p->k, bits);
        for (int64_t i = 0; i < p->m; i++) set_element(p, &rows[i], &col, &c[i + j * p->ldc]);
        free(col.part);
    }
    for (int64_t i = 0; i < p->m; i++) free(rows[i].part);
    free(rows);
}
