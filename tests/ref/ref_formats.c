/* ref_formats.c - the definition of the multi-float modes and typed products: docs/numerics.md. */
#include "ref.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "terms.h"

/* Lines are rows of op(A) or columns of op(B). */
typedef struct {
    const void *data;
    int64_t lines, k, line_step, k_step;
} operand;

static operand operand_of(const void *data, int64_t lines, int64_t k, int64_t ld, bool lines_apart)
{
    return (operand){data, lines, k, lines_apart ? ld : 1, lines_apart ? 1 : ld};
}

static int64_t place_of(const operand *o, int64_t line, int64_t l)
{
    return line * o->line_step + l * o->k_step;
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static void *allocate(int64_t count, size_t bytes)
{
    void *p = malloc((size_t)(count + 1) * bytes);
    if (!p) abort();
    return p;
}

/* The exponents of a line's largest and smallest nonzero elements. */
typedef struct {
    int top, bottom;
    bool is_special; /* there are NaN or infinities */
} range;

static range range_of(const operand *o, int64_t line)
{
    range r = {0, 0, false};
    bool is_zero = true;
    for (int64_t l = 0; l < o->k; l++) {
        const double x = ((const double *)o->data)[place_of(o, line, l)];
        if (!isfinite(x)) return (range){0, 0, true};
        if (x == 0.0) continue;
        const int e = ilogb(x);
        if (is_zero || e > r.top) r.top = e;
        if (is_zero || e < r.bottom) r.bottom = e;
        is_zero = false;
    }
    return r;
}

void ref_scale(const ref_gemm *p)
{
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t i = 0; i < p->m; i++) {
            double *c = p->c + i + j * p->ldc;
            if (p->beta != 1.0) *c = p->beta == 0.0 ? 0.0 : 0.0 + p->beta * *c;
        }
}

static double axpby(double alpha, double sum, double beta, const double *c)
{
    return beta == 0.0 ? alpha * sum : fma(alpha, sum, beta * *c);
}

static double axpby_pair(double alpha, tandem_dd sum, int e, double beta, const double *c)
{
    return td_dd_axpby(alpha, sum, e, beta, beta == 0.0 ? 0.0 : *c);
}

static double a_at(const ref_gemm *p, int64_t i, int64_t l)
{
    return p->a[ref_index_a(p->op_a, i, l, p->lda)];
}

static double b_at(const ref_gemm *p, int64_t l, int64_t j)
{
    return p->b[ref_index_b(p->op_b, l, j, p->ldb)];
}

static double chain_of_fma(const ref_gemm *p, int64_t i, int64_t j, int64_t first, int64_t end)
{
    double sum = 0.0;
    for (int64_t l = first; l < end; l++) sum = fma(a_at(p, i, l), b_at(p, l, j), sum);
    return sum;
}

/* The unscaled operands' sum, in binary64: the sums of blocks, added up in order. */
static double redone_in_binary64(const ref_gemm *p, int64_t i, int64_t j, const double *c)
{
    const int64_t block = ref_binary64_block(p->k);
    double sum = 0.0;
    for (int64_t l = 0; l < p->k; l += block)
        sum += chain_of_fma(p, i, j, l, l + block < p->k ? l + block : p->k);
    return axpby(p->alpha, sum, p->beta, c);
}

int64_t ref_binary64_block(int64_t k)
{
    int64_t block = 8;
    while (2 * block * block <= k) block *= 2;
    return block;
}

/* The exact element, rounded once; whatever its lines span. */
static double redone_exactly(const ref_gemm *p, range a, range b, int64_t i, int64_t j,
                             const double *c)
{
    (void)a;
    (void)b;
    ref_faithful_element(p, i, j);
    return *c;
}

/* True if no product of two lines' elements other than 0 and no beta c is below 2^-1022, and k
 * products of the largest numbers that the lines could have add up to less than 2^1023. Or if a
 * line holds a NaN or an infinity. */
static bool has_room(const ref_gemm *p, range a, range b, const double *c)
{
    int bits_of_k = 0;
    if (a.is_special || b.is_special) return true;
    if (p->beta != 0.0 && *c != 0.0 && fabs(p->beta * *c) < 0x1p-1022) return false;
    while (p->k >> bits_of_k) bits_of_k++;
    return a.top + b.top + 2 + bits_of_k <= 1023 && a.bottom + b.bottom >= -1022;
}

/* In binary64, where that has room. */
static double redone(const ref_gemm *p, range a, range b, int64_t i, int64_t j, const double *c)
{
    return has_room(p, a, b, c) ? redone_in_binary64(p, i, j, c) : redone_exactly(p, a, b, i, j, c);
}

static double one_chain(const ref_gemm *p, int64_t i, int64_t j, const double *c)
{
    return axpby(p->alpha, chain_of_fma(p, i, j, 0, p->k), p->beta, c);
}

/* All of C, by what makes an element; or scaled, where alpha or k is 0. */
static void set_elements(const ref_gemm *p, double (*element)(const ref_gemm *p, int64_t i,
                                                              int64_t j, const double *c))
{
    if (p->k == 0 || p->alpha == 0.0) {
        ref_scale(p);
        return;
    }
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t i = 0; i < p->m; i++) {
            double *c = p->c + i + j * p->ldc;
            *c = element(p, i, j, c);
        }
}

void ref_ieee(const ref_gemm *p) { set_elements(p, one_chain); }
void ref_binary64_product(const ref_gemm *p) { set_elements(p, redone_in_binary64); }

/* Formats */

#define AS_IT_IS(x)     (x)
#define PAIR_PART(s, i) ((i) == 0 ? (s).hi : (s).lo)
#define PAIR_SUM(s)     &(s).hi, &(s).lo
#define PAIR_VALUE(s)   (s).hi, (s).lo

#define NAME(name)                   ref_df_##name
#define MODE                         "df"
#define TYPE                         "df"
#define STORED                       tandem_df
#define COMPUTED                     tandem_df
#define LOAD                         AS_IT_IS
#define STORE                        AS_IT_IS
#define SHORTEN                      AS_IT_IS
#define PARTS                        2
#define PART                         PAIR_PART
#define BLOCK                        TD_BLOCK
#define TD(name)                     td_df_##name
#define SUM                          PAIR_SUM
#define ADDEND                       PAIR_VALUE
#define FINISH(s)                    td_df_renormalise(&(s))
#define REAL                         float
#define SPREAD                       100
#define LEAST                        0x1p-102
#define RESULT(alpha, t, e, beta, c) td_df_axpby(alpha, t, e, beta, beta == 0.0 ? 0.0 : *c)
#define REPAIR                       redone
#include "format_tmpl.h"

#define NAME(name)                   ref_ts_##name
#define MODE                         "ts"
#define TYPE                         "ts"
#define STORED                       tandem_ts
#define COMPUTED                     tandem_ts
#define LOAD                         AS_IT_IS
#define STORE                        AS_IT_IS
#define SHORTEN                      AS_IT_IS
#define PARTS                        3
#define PART(s, i)                   ((i) == 0 ? (s).x : (i) == 1 ? (s).y : (s).z)
#define BLOCK                        TD_TS_BLOCK
#define TD(name)                     td_ts_##name
#define SUM(s)                       &(s)
#define ADDEND(s)                    (s)
#define FINISH(s)                    (s) = td_ts_normalise(s)
#define REAL                         float
#define SPREAD                       75
#define LEAST                        0x1p-75
#define RESULT(alpha, t, e, beta, c) axpby_pair(alpha, td_ts_to_dd(t), e, beta, c)
#define REPAIR                       redone_exactly
#include "format_tmpl.h"

#define NAME(name) ref_dd_##name
#define MODE       "dd"
#define TYPE       "dd"
#define STORED     tandem_dd
#define COMPUTED   tandem_dd
#define LOAD       AS_IT_IS
#define STORE      AS_IT_IS
#define SHORTEN    AS_IT_IS
#define PARTS      2
#define PART       PAIR_PART
#define BLOCK      TD_BLOCK
#define TD(name)   td_dd_##name
#define SUM        PAIR_SUM
#define ADDEND     PAIR_VALUE
#define FINISH(s)  td_dd_renormalise(&(s))
#define REAL       double
#define SPREAD     960
#define LEAST      0x1p-960
#define RESULT     axpby_pair
#define REPAIR     redone_exactly
#include "format_tmpl.h"

/* Double+single: stored so, computed with as double-double. */
#define NAME(name) ref_ds_##name
#define MODE       "d+s"
#define TYPE       "ds"
#define STORED     tandem_ds
#define COMPUTED   tandem_dd
#define LOAD       td_dd_from_ds
#define STORE      td_ds
#define SHORTEN    td_dd_shorten
#define PARTS      2
#define PART       PAIR_PART
#define BLOCK      TD_BLOCK
#define TD(name)   td_dd_##name
#define SUM        PAIR_SUM
#define ADDEND     PAIR_VALUE
#define FINISH(s)  td_dd_renormalise(&(s))
#define REAL       double
#define SPREAD     960
#define LEAST      0x1p-960
#define RESULT     axpby_pair
#define REPAIR     redone_exactly
#include "format_tmpl.h"

const ref_format *const ref_formats[REF_FORMATS] = {&ref_df_format, &ref_ts_format, &ref_dd_format,
                                                    &ref_ds_format};

const ref_format *ref_find(const char *mode)
{
    for (int i = 0; i < REF_FORMATS; i++)
        if (strcmp(ref_formats[i]->mode, mode) == 0) return ref_formats[i];
    return NULL;
}
