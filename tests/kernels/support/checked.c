#include "checked.h"

#include <math.h>

#include "include/tandem.h"
#include "lib/engines/engine.h"
#include "lib/cuda/device.h"
#include "lib/routine/lower.h"
#include "tests/support/bits.h"
#include "tests/support/test.h"
#include "device.h"

static tandem_status run(const mode *m, const problem *p, double *a, double *b, double *c)
{
    const product *of = &p->of;
    return tandem_dgemm(m->name, of->op_a, of->op_b, of->m, of->n, of->k, of->alpha,
                        device_data(&p->a, a), p->a.ld, device_data(&p->b, b), p->b.ld, of->beta,
                        device_data(&p->c, c), p->c.ld, NULL);
}

test_matrix checked_result(const problem *p, const double *from)
{
    test_matrix c = matrix_copy(&p->c);
    device_check_clean(product_text(&p->of));
    device_download(&c, from);
    const int64_t damage = matrix_damage(&c);
    CHECK(damage == -1, "element %d outside C was written: %s", (int)damage, product_text(&p->of));
    return c;
}

void checked_errors(const problem *p, const test_matrix *got, double bound)
{
    const product *of = &p->of;
    test_matrix before = matrix_copy(&p->c);
    const ref_gemm gemm = problem_gemm(p, &before);
    for (int64_t j = 0; j < of->n; j += 7)
        for (int64_t i = 0; i < of->m; i += 3) {
            const ref_distance d = ref_measure(&gemm, i, j, *matrix_at(got, i, j));
            CHECK(d.error <= bound, "C(%d, %d) errs by %s: %s", (int)i, (int)j, test_power(d.error),
                  product_text(of));
        }
    matrix_free(&before);
}

test_matrix checked_compute(const mode *m, const problem *p)
{
    double *a = device_upload(&p->a), *b = device_upload(&p->b), *dc = device_upload(&p->c);
    const tandem_status status = run(m, p, a, b, dc);
    CHECK(status == TANDEM_OK, "%s: %s", tandem_last_message(), product_text(&p->of));
    test_matrix c = checked_result(p, dc);
    device_free(a, b, dc);
    return c;
}

td_problem checked_call(const problem *p, double *a, double *b, double *c)
{
    const product *of = &p->of;
    return (td_problem){.op_a = of->op_a == TANDEM_OP_N ? TD_OP_N : TD_OP_T,
                        .op_b = of->op_b == TANDEM_OP_N ? TD_OP_N : TD_OP_T,
                        .m = of->m,
                        .n = of->n,
                        .k = of->k,
                        .alpha.value.binary64 = of->alpha,
                        .beta.value.binary64 = of->beta,
                        .a = device_matrix(&p->a, a),
                        .b = device_matrix(&p->b, b),
                        .c = device_matrix(&p->c, c),
                        .batch = 1};
}

td_product checked_lowered(const problem *p, double *a, double *b, double *c)
{
    const td_problem call = checked_call(p, a, b, c);
    td_product product;
    CHECK(td_lower(&call, &product), "no product: %s", product_text(&p->of));
    return product;
}

td_run_status checked_run(const mode *m, const td_product *p, size_t limit, td_counters *counters)
{
    td_parameter parameter;
    const td_engine *engine = td_engine_parse(m->name, &parameter);
    parameter.prices = m->prices;
    return td_engine_run(engine, p, parameter, td_device_current(), limit, counters);
}

td_run_status checked_run_in(const mode *m, const td_product *p, bool in_little)
{
    enum { LEAST = 1 << 14 };
    const size_t most = td_device_current()->workspace_bytes;
    size_t limit = in_little ? LEAST : most;
    td_run_status status = checked_run(m, p, limit, NULL);
    while (status == TD_RUN_NO_MEMORY && limit < most) status = checked_run(m, p, limit *= 2, NULL);
    return status;
}

test_matrix checked_compute_within(const mode *m, const problem *p, size_t limit,
                                   td_counters *counters)
{
    double *a = device_upload(&p->a), *b = device_upload(&p->b), *dc = device_upload(&p->c);
    const td_product gemm = checked_lowered(p, a, b, dc);
    CHECK(checked_run(m, &gemm, limit, counters) == TD_RUN_DONE, "%s in %zu bytes failed: %s",
          m->name, limit, product_text(&p->of));
    test_matrix c = checked_result(p, dc);
    device_free(a, b, dc);
    return c;
}

td_counters checked_counters(const mode *m, const problem *p)
{
    td_counters *counters, counted = {0};
    counters = device_copy(&counted, sizeof counted);
    test_matrix c = checked_compute_within(m, p, td_device_current()->workspace_bytes, counters);
    CHECK_CUDA(cudaMemcpy(&counted, counters, sizeof counted, cudaMemcpyDeviceToHost));
    matrix_free(&c);
    device_free(counters);
    return counted;
}

int64_t checked_repairs(const mode *m, const problem *p)
{
    return (int64_t)checked_counters(m, p).repaired;
}

void checked_compare(const mode *m, const problem *p, const test_matrix *got,
                     const test_matrix *want)
{
    const int64_t at = matrix_difference(got, want);
    if (at == -1) return;
    const int64_t i = at % got->rows, j = at / got->rows;
    const double x = *matrix_at(got, i, j), y = *matrix_at(want, i, j);
    CHECK(0, "%s: C(%d, %d) is %a (%016llx), the definition gives %a (%016llx): %s", m->name,
          (int)i, (int)j, x, (unsigned long long)bits_of(x), y, (unsigned long long)bits_of(y),
          product_text(&p->of));
}

/* All elements, or every so many of a large product and those at the tiles' edges. */
static void measure(const mode *m, const problem *p, const test_matrix *c,
                    const ref_account *account, checked *seen)
{
    enum { MOST = 60000 };
    test_matrix before = p->c;
    const ref_gemm gemm = problem_gemm(p, &before);
    const bool is_hostile = distribution_find(p->of.data)->is_hostile;
    const int64_t step = p->of.m * p->of.n * p->of.k / MOST + 1;
    for (int64_t j = 0; j < p->of.n; j++)
        for (int64_t i = 0; i < p->of.m; i++) {
            const int is_corner =
                (i % 64 == 63 || i == p->of.m - 1) && (j % 64 == 63 || j == p->of.n - 1);
            if ((i + j * p->of.m) % step && !is_corner) continue;
            const verdict v = mode_judge(m, &gemm, account, is_hostile, i, j, *matrix_at(c, i, j));
            CHECK_AT_MOST(v.error, v.bound, "%s: C(%d, %d): %s", m->name, (int)i, (int)j,
                          product_text(&p->of));
            seen->error = fmax(seen->error, v.error);
            seen->elements++;
            seen->nearest += v.is_nearest;
        }
}

void checked_problem(const mode *m, const problem *p, checked *seen)
{
    test_matrix c = checked_compute(m, p), want = matrix_copy(&p->c);
    const ref_gemm gemm = problem_gemm(p, &want);
    ref_account account = mode_product(m, &gemm);
    checked_compare(m, p, &c, &want);
    measure(m, p, &c, &account, seen);
    seen->repaired = account.repaired < 0 ? -1 : seen->repaired + account.repaired;
    seen->parameter = account.parameter;
    ref_account_free(&account);
    matrix_free(&c, &want);
}

double checked_product(const mode *m, const product *of)
{
    checked seen = {0};
    problem p = problem_make(of);
    checked_problem(m, &p, &seen);
    problem_free(&p);
    return seen.error;
}
