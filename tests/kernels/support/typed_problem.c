#include "tests/support/test.h"

#include "typed_problem.h"

#include <string.h>

#include "device.h"

typed_scalar typed_scalar_of(const ref_format *format, double x)
{
    typed_scalar s = {{0}};
    format->split(x, s.bytes);
    return s;
}

typed_scalar typed_ninth_of(const ref_format *format, double x)
{
    const typed_scalar s = typed_scalar_of(format, x), third = typed_scalar_of(format, 1.0 / 3.0),
                       zero = typed_scalar_of(format, 0.0);
    typed_scalar result = {{0}};
    const ref_typed product = {format,      TANDEM_OP_N, TANDEM_OP_N,  1, 1, 1, s.bytes, zero.bytes,
                               third.bytes, third.bytes, result.bytes, 1, 1, 1};
    format->typed(&product);
    return result;
}

void typed_lengthen(typed_matrix *x)
{
    for (int64_t j = 0; j < x->cols; j++)
        for (int64_t i = 0; i < x->rows; i++) {
            const double value = x->format->join(typed_at(x, i, j));
            const typed_scalar s = typed_ninth_of(x->format, 3.0 * value);
            memcpy(typed_at(x, i, j), s.bytes, x->format->bytes);
        }
}

static typed_matrix typed_of(const ref_format *format, const test_matrix *x, bool is_set)
{
    typed_matrix m = typed_make(format, x->rows, x->cols, x->ld, x->guard);
    if (is_set) typed_split(&m, x);
    return m;
}

typed_problem typed_problem_make(const ref_format *format, const product *of)
{
    problem p = problem_make(of);
    const typed_problem t = {.of = *of,
                             .format = format,
                             .a = typed_of(format, &p.a, of->alpha != 0.0),
                             .b = typed_of(format, &p.b, of->alpha != 0.0),
                             .c = typed_of(format, &p.c, of->beta != 0.0),
                             .alpha = typed_scalar_of(format, of->alpha),
                             .beta = typed_scalar_of(format, of->beta)};
    problem_free(&p);
    return t;
}

typed_problem typed_problem_varied(const ref_format *format, const char *data, int m, int n, int k,
                                   int ops, double alpha, double beta, uint64_t seed)
{
    const product of = {.data = data,
                        .op_a = ops & 1 ? TANDEM_OP_T : TANDEM_OP_N,
                        .op_b = ops & 2 ? TANDEM_OP_T : TANDEM_OP_N,
                        .m = m,
                        .n = n,
                        .k = k,
                        .pad_a = ops,
                        .pad_b = 3 - ops,
                        .pad_c = (m + ops) % 3,
                        .guard = (n + ops) % 3,
                        .alpha = alpha,
                        .beta = beta,
                        .seed = seed};
    return typed_problem_make(format, &of);
}

void typed_problem_free(typed_problem *t)
{
    typed_free(&t->a);
    typed_free(&t->b);
    typed_free(&t->c);
}

static ref_typed gemm_of(const typed_problem *t, const void *a, const void *b, void *c)
{
    return (ref_typed){t->format, t->of.op_a,     t->of.op_b,    t->of.m, t->of.n,
                       t->of.k,   t->alpha.bytes, t->beta.bytes, a,       b,
                       c,         t->a.ld,        t->b.ld,       t->c.ld};
}

ref_typed typed_problem_gemm(const typed_problem *t, const typed_matrix *c)
{
    return gemm_of(t, typed_at(&t->a, 0, 0), typed_at(&t->b, 0, 0), typed_at(c, 0, 0));
}

typed_matrix typed_problem_compute(const typed_problem *t,
                                   tandem_status (*gemm)(const ref_typed *p))
{
    typed_matrix c = typed_copy(&t->c);
    double *a = device_upload(&t->a.storage), *b = device_upload(&t->b.storage),
           *dc = device_upload(&c.storage);
    const ref_typed product =
        gemm_of(t, typed_data(&t->a, a), typed_data(&t->b, b), typed_data(&c, dc));
    const tandem_status status = gemm(&product);
    CHECK(status == TANDEM_OK, "%s: %s", tandem_last_message(), product_text(&t->of));
    device_check_clean(product_text(&t->of));
    device_download(&c.storage, dc);
    CHECK(typed_damage(&c, &t->c) == -1, "something outside C was written: %s",
          product_text(&t->of));
    device_free(a, b, dc);
    return c;
}
