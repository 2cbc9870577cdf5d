/* check_q.c - Q of reflectors, and its products with other matrices, are what the reflectors make
 * in long double, and have the bits that they have on any other device. Memory around the matrices
 * stays as it was. */
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cuda/device.h"
#include "lib/engines/factor/q.h"
#include "qr_case.h"
#include "tests/kernels/support/device.h"

static factors run(const matrix *x, const double *a, const td_engine *engine)
{
    return run_factors(x, a, engine, false);
}

/* A call with k reflectors, which are in f: Q in place of them, or its product with C. */
typedef struct {
    td_kind kind;
    td_side side;
    td_op op;
    int m, n, k;
} q_call;

static const char *text_of_call(const q_call *q)
{
    static char text[160];
    snprintf(text, sizeof text, "%s, side %d, op %d, %d x %d, %d reflectors",
             q->kind == TD_FORM_Q ? "form" : "apply", (int)q->side, (int)q->op, q->m, q->n, q->k);
    return text;
}

/* Returns Q or C, whose leading dimension is ld; `c` is what C was, of the same. */
static double *run_q(const q_call *q, const matrix *x, const factors *f, const double *c, int ld,
                     const td_engine *engine)
{
    const size_t bytes = elements_of(x) * sizeof *c, tau_bytes = (size_t)q->k * sizeof *c,
                 c_bytes = (size_t)ld * (size_t)q->n * sizeof *c;
    int info = -1;
    const bool forms = q->kind == TD_FORM_Q;
    double *made = malloc(forms ? bytes : c_bytes);
    CHECK(made, "no memory");
    void *device_a = device_copy(f->a, bytes), *device_tau = device_copy(f->tau, tau_bytes),
         *device_info = device_copy(&info, sizeof info),
         *device_c = forms ? NULL : device_copy(c, c_bytes);
    const td_problem p = {.kind = q->kind,
                          .type = TD_BINARY64,
                          .side = q->side,
                          .op_a = q->op,
                          .m = q->m,
                          .n = q->n,
                          .k = q->k,
                          .a = {.data = device_a, .ld = x->ld},
                          .c = {.data = device_c, .ld = ld},
                          .tau = device_tau,
                          .info = device_info,
                          .batch = 1};
    const td_factor_products by = {.engine = engine};
    td_device *device = td_device_current();
    const td_run_status status = td_factor_q(&p, &by, device, td_device_limit(device, 0), NULL);
    CHECK(status == TD_RUN_DONE, "%s: status %d", text_of_call(q), (int)status);
    CHECK_CUDA(cudaDeviceSynchronize());
    device_fetch(made, forms ? device_a : device_c, forms ? bytes : c_bytes);
    device_fetch(&info, device_info, sizeof info);
    CHECK(info == 0, "%s: info %d", text_of_call(q), info);
    device_free(device_a);
    device_free(device_tau);
    device_free(device_info);
    if (device_c) device_free(device_c);
    device_check_clean(text_of_call(q));
    return made;
}

/* How far a vector is from what the reflectors make of another one, over m 2^-53. */
static double distance(const quantity *wanted, const double *made, int64_t step, int count)
{
    quantity sum = 0.0L, norm = norm_of(wanted, count);
    for (int i = 0; i < count; i++) {
        const quantity off = wanted[i] - (quantity)made[i * step];
        sum += off * off;
    }
    return (double)(sqrtl(sum) / ((norm == 0.0L ? 1.0L : norm) * count * 0x1p-53L));
}

static void check_formed(const matrix *x, const factors *f, int n, int k)
{
    const q_call q = {.kind = TD_FORM_Q, .m = x->m, .n = n, .k = k};
    double *made = run_q(&q, x, f, NULL, 0, &td_engine_fp64);
    quantity *column = malloc((size_t)x->m * sizeof *column);
    CHECK(column, "no memory");
    for (int j = 0; j < n; j += 1 + n / 20) {
        for (int i = 0; i < x->m; i++) column[i] = i == j;
        apply_reflectors(x, f, k, false, column);
        CHECK_AT_MOST(distance(column, made + (int64_t)j * x->ld, 1, x->m), 30.0, "%s",
                      text_of_call(&q));
    }
    for (int j = 0; j < x->n; j++)
        for (int i = j < n ? x->m : 0; i < x->ld; i++)
            CHECK(is_same(made[i + (int64_t)j * x->ld], f->a[i + (int64_t)j * x->ld]),
                  "%s: element %d, %d has changed", text_of_call(&q), i, j);
    free(column);
    free(made);
}

static void check_applied(const matrix *x, const factors *f, const q_call *q)
{
    const bool is_left = q->side == TD_LEFT;
    const matrix like = {q->m, q->n, q->m + 1, "random", 77};
    double *c = make_matrix(&like), *made = run_q(q, x, f, c, like.ld, &td_engine_fp64);
    quantity *vector = malloc((size_t)x->m * sizeof *vector);
    CHECK(vector, "no memory");
    for (int j = 0; j < (is_left ? q->n : q->m); j += 3) {
        const int64_t at = is_left ? (int64_t)j * like.ld : j, step = is_left ? 1 : like.ld;
        for (int i = 0; i < x->m; i++) vector[i] = (quantity)c[at + i * step];
        apply_reflectors(x, f, q->k, (q->op == TD_OP_T) == is_left, vector);
        CHECK_AT_MOST(distance(vector, made + at, step, x->m), 30.0, "%s", text_of_call(q));
    }
    for (int j = 0; j < like.n; j++)
        CHECK(is_same(made[like.m + (int64_t)j * like.ld], c[like.m + (int64_t)j * like.ld]),
              "%s: padding has changed", text_of_call(q));
    free(vector);
    free(made);
    free(c);
}

TEST(q_is_what_reflectors_make)
{
    const int sizes[][2] = {{1, 1}, {5, 3}, {40, 40}, {300, 257}, {256, 256}, {530, 520}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int m = sizes[i][0], n = sizes[i][1];
        const matrix x = {m, n, m + 1, qr_kinds[i % 3].name, fresh_seed()};
        double *a = make_matrix(&x);
        factors f = run(&x, a, &td_engine_fp64);
        check_formed(&x, &f, n, n);
        check_formed(&x, &f, n, n / 2);
        check_formed(&x, &f, n / 2 + 1, n / 2);
        for (int which = 0; which < 4; which++) {
            const td_side side = which & 1 ? TD_RIGHT : TD_LEFT;
            const td_op op = which & 2 ? TD_OP_T : TD_OP_N;
            const q_call q = {
                TD_APPLY_Q, side, op, side == TD_LEFT ? m : 7, side == TD_LEFT ? 7 : m, n};
            check_applied(&x, &f, &q);
        }
        free_factors(&f);
        free(a);
    }
}

TEST(bits_of_q_are_the_same_everywhere)
{
    const matrix x = {530, 520, 530, "random", 9}, like = {530, 9, 530, "random", 10};
    const q_call form = {.kind = TD_FORM_Q, .m = 530, .n = 520, .k = 520},
                 multiply = {TD_APPLY_Q, TD_LEFT, TD_OP_T, 530, 9, 520};
    double *a = make_matrix(&x), *c = make_matrix(&like);
    factors f = run(&x, a, &td_engine_fp64);
    double *formed = run_q(&form, &x, &f, NULL, 0, &td_engine_fp64),
           *product = run_q(&multiply, &x, &f, c, 530, &td_engine_fp64);
    const uint64_t hashes[] = {hash_of(formed, elements_of(&x)),
                               hash_of(product, elements_of(&like))};
    CHECK(hashes[0] == 0xf442de3594ec35e9 && hashes[1] == 0xad9d96c4d0317233,
          "hashes %016llx and %016llx", (unsigned long long)hashes[0],
          (unsigned long long)hashes[1]);
    free(product);
    free(formed);
    free_factors(&f);
    free(c);
    free(a);
}

int main(void)
{
    device_require();
    return test_run();
}
