#include "tests/support/test.h"

#include "typed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/bits.h"

#define FUNCTIONS(type)                                                                            \
    static tandem_status type##_gemm(const ref_typed *p)                                           \
    {                                                                                              \
        return tandem_##type##gemm(p->op_a, p->op_b, p->m, p->n, p->k,                             \
                                   *(const tandem_##type *)p->alpha, p->a, p->lda, p->b, p->ldb,   \
                                   *(const tandem_##type *)p->beta, p->c, p->ldc, NULL);           \
    }                                                                                              \
                                                                                                   \
    static tandem_status type##_split(int64_t rows, int64_t cols, const double *a, int64_t lda,    \
                                      void *s, int64_t lds)                                        \
    {                                                                                              \
        return tandem_##type##_split(rows, cols, a, lda, s, lds, NULL);                            \
    }                                                                                              \
                                                                                                   \
    static tandem_status type##_join(int64_t rows, int64_t cols, const void *s, int64_t lds,       \
                                     double *a, int64_t lda)                                       \
    {                                                                                              \
        return tandem_##type##_join(rows, cols, s, lds, a, lda, NULL);                             \
    }

FUNCTIONS(df)
FUNCTIONS(ts)
FUNCTIONS(dd)
FUNCTIONS(ds)

const typed_functions *typed_functions_of(const ref_format *format)
{
    static const typed_functions all[] = {
        {&ref_df_format, df_gemm, df_split, df_join},
        {&ref_ts_format, ts_gemm, ts_split, ts_join},
        {&ref_dd_format, dd_gemm, dd_split, dd_join},
        {&ref_ds_format, ds_gemm, ds_split, ds_join},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].format == format) return &all[i];
    CHECK(0, "no functions for tandem_%s", format->type);
    return NULL;
}

tandem_status typed_sliced(int slices, const ref_typed *p)
{
    return tandem_tsgemm_sliced(slices, p->op_a, p->op_b, p->m, p->n, p->k,
                                *(const tandem_ts *)p->alpha, p->a, p->lda, p->b, p->ldb,
                                *(const tandem_ts *)p->beta, p->c, p->ldc, NULL);
}

typed_matrix typed_make(const ref_format *format, int64_t rows, int64_t cols, int64_t ld,
                        int64_t guard)
{
    const int64_t bytes = (2 * guard + ld * cols) * (int64_t)format->bytes;
    typed_matrix m = {format, rows, cols, ld, guard, {0}};
    m.storage = matrix_make((bytes + 7) / 8, 1, (bytes + 7) / 8, 0);
    return m;
}

typed_matrix typed_copy(const typed_matrix *m)
{
    typed_matrix copy = *m;
    copy.storage = matrix_copy(&m->storage);
    return copy;
}

void typed_free(typed_matrix *m) { matrix_free(&m->storage); }

void *typed_data(const typed_matrix *m, double *storage)
{
    return (char *)storage + m->guard * (int64_t)m->format->bytes;
}

void *typed_at(const typed_matrix *m, int64_t i, int64_t j)
{
    return (char *)typed_data(m, m->storage.storage) + (i + j * m->ld) * (int64_t)m->format->bytes;
}

void typed_split(typed_matrix *m, const test_matrix *x)
{
    for (int64_t j = 0; j < x->cols; j++)
        for (int64_t i = 0; i < x->rows; i++)
            m->format->split(*matrix_at(x, i, j), typed_at(m, i, j));
}

int64_t typed_damage(const typed_matrix *now, const typed_matrix *before)
{
    const size_t column = (size_t)now->rows * now->format->bytes;
    typed_matrix want = typed_copy(before);
    for (int64_t j = 0; j < now->cols; j++)
        memcpy(typed_at(&want, 0, j), typed_at(now, 0, j), column);
    const char *x = (const char *)now->storage.storage, *y = (const char *)want.storage.storage;
    int64_t at = 0;
    const int64_t count = (int64_t)(now->storage.count * sizeof(double));
    while (at < count && x[at] == y[at]) at++;
    typed_free(&want);
    return at < count ? at : -1;
}

bool typed_same(const ref_format *format, const void *x, const void *y)
{
    double p[3], q[3];
    format->get(x, p);
    format->get(y, q);
    if (!isfinite(p[0])) return same_bits(p[0], q[0]);
    return memcmp(x, y, format->bytes) == 0;
}

const char *typed_text(const ref_format *format, const void *x)
{
    static char texts[2][100];
    static int next;
    double part[3] = {0.0, 0.0, 0.0};
    char *text = texts[next++ % 2];
    format->get(x, part);
    if (format->parts == 3)
        snprintf(text, sizeof texts[0], "(%a, %a, %a)", part[0], part[1], part[2]);
    else
        snprintf(text, sizeof texts[0], "(%a, %a)", part[0], part[1]);
    return text;
}
