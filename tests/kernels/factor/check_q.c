/* check_q.c - Q of reflectors, and its products with other matrices, are what the reflectors make
 * in long double, and have the bits that they have on any other device. Memory around the matrices
 * stays as it was. */
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/cuda/device.h"
#include "lib/engines/factor/q.h"
#include "qr_case.h"
#include "tests/kernels/support/device.h"

static factors run(const matrix *x, const number *a, const td_engine *engine)
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
static number *run_q(const q_call *q, const matrix *x, const factors *f, const number *c, int ld,
                     const td_engine *engine)
{
    const bool forms = q->kind == TD_FORM_Q;
    const size_t count = forms ? elements_of(x) : (size_t)ld * (size_t)q->n;
    int info = -1;
    number *made = test_memory(count * sizeof *made);
    void *device_a = put_numbers(x, f->a, elements_of(x)),
         *device_tau = put_numbers(x, f->tau, (size_t)q->k),
         *device_info = device_copy(&info, sizeof info),
         *device_c = forms ? NULL : put_numbers(x, c, count);
    const td_problem p = {.kind = q->kind,
                          .type = type_of(x),
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
    const td_run_status status =
        td_factor_q(&p, &by, cut_in_use(&p), device, td_device_limit(device, 0), NULL);
    CHECK(status == TD_RUN_DONE, "%s: status %d", text_of_call(q), (int)status);
    CHECK_CUDA(cudaDeviceSynchronize());
    get_numbers(x, made, forms ? device_a : device_c, count);
    device_fetch(&info, device_info, sizeof info);
    CHECK(info == 0, "%s: info %d", text_of_call(q), info);
    device_free(device_a, device_tau, device_info);
    if (device_c) device_free(device_c);
    device_check_clean(text_of_call(q));
    return made;
}

/* How far a vector is from what the reflectors make of another one, over m 2^-53. */
static double distance(quantity *wanted, const number *made, int64_t step, int count)
{
    const long double norm = norm_of(wanted, count);
    for (int i = 0; i < count; i++)
        wanted[i] = quantity_minus(wanted[i], quantity_of(made[i * step]));
    return (double)(norm_of(wanted, count) / ((norm == 0.0L ? 1.0L : norm) * count * 0x1p-53L));
}

static void check_formed(const matrix *x, const factors *f, int n, int k)
{
    const q_call q = {.kind = TD_FORM_Q, .m = x->m, .n = n, .k = k};
    number *made = run_q(&q, x, f, NULL, 0, &td_engine_fp64);
    quantity *column = test_memory((size_t)x->m * sizeof *column);
    for (int j = 0; j < n; j += 1 + n / 20) {
        for (int i = 0; i < x->m; i++) column[i] = quantity_of((number){i == j, 0.0});
        apply_reflectors(x, f, k, false, column);
        CHECK_AT_MOST(distance(column, made + (int64_t)j * x->ld, 1, x->m), 30.0, "%s",
                      text_of_call(&q));
    }
    for (int j = 0; j < x->n; j++)
        for (int i = j < n ? x->m : 0; i < x->ld; i++)
            CHECK(made[i + (int64_t)j * x->ld].re == f->a[i + (int64_t)j * x->ld].re,
                  "%s: element %d, %d has changed", text_of_call(&q), i, j);
    test_drop(column, made);
}

/* A row c of C becomes c Q: its conjugate transpose Q' c'. */
static void apply_to_line(const matrix *x, const factors *f, const q_call *q, quantity *line)
{
    const bool is_left = q->side == TD_LEFT;
    const long double sign = is_left ? 1.0L : -1.0L;
    for (int i = 0; i < x->m; i++) line[i].im *= sign;
    apply_reflectors(x, f, q->k, (q->op != TD_OP_N) == is_left, line);
    for (int i = 0; i < x->m; i++) line[i].im *= sign;
}

static void check_applied(const matrix *x, const factors *f, const q_call *q)
{
    const bool is_left = q->side == TD_LEFT;
    const matrix like = {q->m, q->n, q->m + 1, "random", 77, x->is_complex};
    number *c = make_matrix(&like), *made = run_q(q, x, f, c, like.ld, &td_engine_fp64);
    quantity *vector = test_memory((size_t)x->m * sizeof *vector);
    for (int j = 0; j < (is_left ? q->n : q->m); j += 3) {
        const int64_t at = is_left ? (int64_t)j * like.ld : j, step = is_left ? 1 : like.ld;
        for (int i = 0; i < x->m; i++) vector[i] = quantity_of(c[at + i * step]);
        apply_to_line(x, f, q, vector);
        CHECK_AT_MOST(distance(vector, made + at, step, x->m), 30.0, "%s", text_of_call(q));
    }
    for (int j = 0; j < like.n; j++)
        CHECK(made[like.m + (int64_t)j * like.ld].re == c[like.m + (int64_t)j * like.ld].re,
              "%s: padding has changed", text_of_call(q));
    test_drop(vector, made, c);
}

static void check_q(const matrix *x)
{
    const int m = x->m, n = x->n;
    const td_op ops[] = {TD_OP_N, x->is_complex ? TD_OP_C : TD_OP_T};
    number *a = make_matrix(x);
    factors f = run(x, a, &td_engine_fp64);
    check_formed(x, &f, n, n);
    check_formed(x, &f, n, n / 2);
    check_formed(x, &f, n / 2 + 1, n / 2);
    for (int which = 0; which < 4; which++) {
        const td_side side = which & 1 ? TD_RIGHT : TD_LEFT;
        const q_call q = {
            TD_APPLY_Q, side, ops[which / 2], side == TD_LEFT ? m : 7, side == TD_LEFT ? 7 : m, n};
        check_applied(x, &f, &q);
    }
    free_factors(&f);
    free(a);
}

TEST(q_is_what_reflectors_make)
{
    const int sizes[][2] = {{1, 1}, {5, 3}, {40, 40}, {300, 257}, {256, 256}, {530, 520}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int is_complex = 0; is_complex < 2; is_complex++) {
            if (test_is_brief() && sizes[i][0] > 300) continue;
            const int halvings = test_is_brief() ? i > 2 : is_complex && i > 4,
                      m = sizes[i][0] >> halvings, n = sizes[i][1] * m / sizes[i][0];
            check_q(&(matrix){m, n, m + 1, qr_kinds[i % 3].name, test_seed(), is_complex});
        }
}

/* Leaves of eight real columns have made the reflectors; T is made again by wider ones. */
TEST(q_of_many_rows_is_what_reflectors_make)
{
    for (int is_complex = 0; is_complex < (test_is_brief() ? 1 : 2); is_complex++)
        check_q(&(matrix){17000, 37, 17001, "random", test_seed(), is_complex});
}

/* Cuts as in check_qr.c; reflectors fill whole blocks, or leave some for the last one. */
TEST(blocks_of_reflectors_are_what_they_make)
{
    const td_qr_cut cuts[] = {{64, 128, 128, 64}, {32, 128, 127, 32}, {32, 256, 256, 0}};
    const int sizes[][2] = {{300, 257}, {256, 256}, {400, 290}};
    for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
        use_cut(&cuts[c]);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            if ((c + i) % 3 == 0 || test_takes_everything())
                check_q(&(matrix){sizes[i][0], sizes[i][1], sizes[i][0] + 1, qr_kinds[i].name,
                                  test_seed(), (c + i) % 2});
    }
    use_cut(NULL);
}

static void check_hashes(bool is_complex, uint64_t of_q, uint64_t of_product)
{
    const matrix x = {530, 520, 530, "random", 9, is_complex},
                 like = {530, 9, 530, "random", 10, is_complex};
    const q_call form = {.kind = TD_FORM_Q, .m = 530, .n = 520, .k = 520},
                 multiply = {TD_APPLY_Q, TD_LEFT, is_complex ? TD_OP_C : TD_OP_T, 530, 9, 520};
    number *a = make_matrix(&x), *c = make_matrix(&like);
    factors f = run(&x, a, &td_engine_fp64);
    number *formed = run_q(&form, &x, &f, NULL, 0, &td_engine_fp64),
           *product = run_q(&multiply, &x, &f, c, 530, &td_engine_fp64);
    const uint64_t hashes[] = {hash_of(&x, formed, elements_of(&x)),
                               hash_of(&like, product, elements_of(&like))};
    CHECK(hashes[0] == of_q && hashes[1] == of_product, "hashes %016llx and %016llx",
          (unsigned long long)hashes[0], (unsigned long long)hashes[1]);
    test_drop(product, formed);
    free_factors(&f);
    test_drop(c, a);
}

TEST(bits_of_q_are_the_same_everywhere)
{
    check_hashes(false, 0xf442de3594ec35e9, 0xad9d96c4d0317233);
    if (test_is_brief()) return;
    check_hashes(true, 0xbea83ec95702e853, 0x00710cfdb0e1277d);
}
