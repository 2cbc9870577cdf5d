/* ref_df.c - the definition of mode df: docs/numerics.md. */
#include "ref.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "../../kernels/df.h"

/* A row of op(A) or a column of op(B), scaled by 2^-top and split. */
typedef struct {
    tandem_df *x; /* k elements */
    int top, bottom;
    bool is_special;
} line;

static line make_line(const double *first, int64_t step, int64_t k)
{
    line r = {.x = malloc((size_t)k * sizeof *r.x)};
    bool is_zero = true;
    if (!r.x) abort();
    for (int64_t l = 0; l < k; l++) {
        const double x = first[l * step];
        if (!isfinite(x)) r.is_special = true;
        if (!isfinite(x) || x == 0.0) continue;
        const int e = ilogb(x);
        if (is_zero || e > r.top) r.top = e;
        if (is_zero || e < r.bottom) r.bottom = e;
        is_zero = false;
    }
    for (int64_t l = 0; l < k; l++)
        r.x[l] = td_df_split(td_bits64(first[l * step]), r.is_special ? 0 : r.top);
    return r;
}

static void free_lines(line *lines, int64_t count)
{
    for (int64_t i = 0; i < count; i++) free(lines[i].x);
    free(lines);
}

static line *make_lines(const double *data, int64_t count, int64_t line_step, int64_t k_step,
                        int64_t k)
{
    line *lines = malloc((size_t)count * sizeof *lines);
    if (!lines) abort();
    for (int64_t i = 0; i < count; i++) lines[i] = make_line(data + i * line_step, k_step, k);
    return lines;
}

static tandem_df block_sum(const tandem_df *a, const tandem_df *b, int64_t count)
{
    float sum, rest;
    td_df_start(&sum, &rest, a[0], b[0]);
    for (int64_t l = 1; l < count; l++) td_df_accumulate(&sum, &rest, a[l], b[l]);
    return td_df(sum, rest);
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static tandem_df superblock_sum(const tandem_df *a, const tandem_df *b, int64_t count)
{
    tandem_df s = td_df(0.0f, 0.0f);
    for (int64_t l = 0; l < count; l += TD_DF_BLOCK) {
        const tandem_df block = block_sum(a + l, b + l, smaller(TD_DF_BLOCK, count - l));
        td_df_flush(&s, block.hi, block.lo);
        if ((l + TD_DF_BLOCK) % TD_DF_RENORMALISE == 0) td_df_renormalise(&s);
    }
    td_df_renormalise(&s);
    return s;
}

static tandem_df sum_of_products(const tandem_df *a, const tandem_df *b, int64_t k)
{
    tandem_df t = td_df(0.0f, 0.0f);
    for (int64_t l = 0; l < k; l += TD_DF_SUPERBLOCK) {
        const tandem_df s = superblock_sum(a + l, b + l, smaller(TD_DF_SUPERBLOCK, k - l));
        t = l == 0 ? s : td_df_add(t, s);
    }
    return t;
}

static double binary64_sum(const ref_gemm *p, int64_t i, int64_t j)
{
    double sum = 0.0;
    for (int64_t l = 0; l < p->k; l++)
        sum = fma(p->a[ref_index_a(p->op_a, i, l, p->lda)],
                  p->b[ref_index_b(p->op_b, l, j, p->ldb)], sum);
    return sum;
}

static void axpby(const ref_gemm *p, double sum, double *c)
{
    *c = p->beta == 0.0 ? p->alpha * sum : fma(p->alpha, sum, p->beta * *c);
}

static void scale(const ref_gemm *p)
{
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t i = 0; i < p->m; i++) {
            double *c = p->c + i + j * p->ldc;
            *c = p->beta == 0.0 ? 0.0 : p->beta * *c;
        }
}

/* True if double-float cannot be trusted with the products of two lines whose sum is t. */
static bool needs_binary64(const line *a, const line *b, tandem_df t, int64_t k)
{
    if (a->is_special || b->is_special) return true;
    if (a->top - a->bottom + (b->top - b->bottom) <= 100) return false;
    return !(fabsf(t.hi) >= (float)k * 0x1p-102f);
}

int64_t ref_df(const ref_gemm *p)
{
    const bool a_n = p->op_a == TANDEM_OP_N, b_n = p->op_b == TANDEM_OP_N;
    int64_t repaired = 0;
    if (p->m == 0 || p->n == 0) return 0;
    if (p->k == 0 || p->alpha == 0.0) {
        scale(p);
        return 0;
    }
    line *rows = make_lines(p->a, p->m, a_n ? 1 : p->lda, a_n ? p->lda : 1, p->k);
    line *cols = make_lines(p->b, p->n, b_n ? p->ldb : 1, b_n ? 1 : p->ldb, p->k);
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t i = 0; i < p->m; i++) {
            const tandem_df t = sum_of_products(rows[i].x, cols[j].x, p->k);
            double sum = td_scale64(td_df_join(t), rows[i].top + cols[j].top);
            if (needs_binary64(&rows[i], &cols[j], t, p->k)) {
                sum = binary64_sum(p, i, j);
                repaired++;
            }
            axpby(p, sum, p->c + i + j * p->ldc);
        }
    free_lines(rows, p->m);
    free_lines(cols, p->n);
    return repaired;
}

void ref_ieee(const ref_gemm *p)
{
    if (p->k == 0 || p->alpha == 0.0) {
        scale(p);
        return;
    }
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t i = 0; i < p->m; i++) axpby(p, binary64_sum(p, i, j), p->c + i + j * p->ldc);
}

/* Row i of op(A) and column j of op(B), one element after another. */
static void copy_lines(const ref_dfgemm *p, int64_t i, int64_t j, tandem_df *a, tandem_df *b)
{
    for (int64_t l = 0; l < p->k; l++) {
        a[l] = p->a[ref_index_a(p->op_a, i, l, p->lda)];
        b[l] = p->b[ref_index_b(p->op_b, l, j, p->ldb)];
    }
}

void ref_df_typed(const ref_dfgemm *p)
{
    const bool no_sum = p->k == 0 || p->alpha.hi == 0.0f;
    tandem_df *a = malloc((size_t)(p->k + 1) * sizeof *a);
    tandem_df *b = malloc((size_t)(p->k + 1) * sizeof *b);
    if (!a || !b) abort();
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t i = 0; i < p->m; i++) {
            tandem_df *c = p->c + i + j * p->ldc;
            tandem_df x = td_df(0.0f, 0.0f);
            if (!no_sum) {
                copy_lines(p, i, j, a, b);
                x = td_df_mul(p->alpha, sum_of_products(a, b, p->k));
            }
            *c = p->beta.hi != 0.0f ? td_df_add(x, td_df_mul(p->beta, *c)) : x;
        }
    free(a);
    free(b);
}
