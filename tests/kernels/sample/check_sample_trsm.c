/* check_sample_trsm.c - TANDEM_VERIFY of triangular solves, under every mode: residuals are those
 * that sums in 113 bits find on the host, none is beyond the bound of substitution, whatever the
 * triangle, and an X that is made wrong after the call is found. */
#include "tests/support/test.h"

#include <math.h>
#include <string.h>

#include "tests/support/complex_of.h"
#include "lib/routine/solve_steps.h"
#include "tests/kernels/support/device.h"
#include "sampled.h"
#include "tests/kernels/support/system.h"

/* A part of alpha B - op(A) X of element i of vector v, relative to the size of all its products:
 * of complex numbers those of both parts. */
static double residual_of(const system_matrices *s, const test_matrix *x, int64_t i, int64_t v,
                          int part)
{
    const triangular *of = &s->of;
    const bool is_complex = of->type == TD_COMPLEX_BINARY64;
    const number alpha = complex_of(of->alpha[0], is_complex ? of->alpha[1] : 0.0);
    quad_sum sum = {0, 0, 0, 0};
    add_product(&sum, -alpha, (number)system_vector(of, &s->b, i, v));
    for (int64_t j = 0; j <= i; j++)
        add_product(&sum, (number)system_element(s, i, j), (number)system_vector(of, x, j, v));
    const quad off = magnitude(part ? sum.im : sum.re), size = sum.size_re + sum.size_im;
    return off == 0 ? 0.0 : (double)(off / size);
}

static errors residuals_of(const system_matrices *s, const test_matrix *x)
{
    errors e = {0};
    for (int64_t i = 0; i < s->of.order; i++)
        for (int64_t v = 0; v < s->of.vectors; v++)
            for (int part = 0; part < parts_of(s->of.type); part++)
                add_error(&e, residual_of(s, x, i, v, part));
    return e;
}

static td_sample_counts verify_solve(const system_matrices *s, bool has_device_alpha,
                                     const meanwhile *then, td_promise *promise, test_matrix *x)
{
    double *const a = device_upload(&s->a), *const b = device_upload(&s->b);
    void *alpha = NULL;
    td_problem p = system_call(s, a, b);
    p.stream = sampled_stream;
    if (has_device_alpha) p.alpha = routine_on_device(p.alpha, &alpha);
    const td_sample_counts counts = sampled_run(&p, then, promise);
    *x = matrix_copy(&s->b);
    device_download(x, b);
    device_free(a, b);
    CHECK_CUDA(cudaFree(alpha));
    return counts;
}

/* In blocks of some rows: where these are few, products of the mode follow. */
static void check_solve(const triangular *of, int which)
{
    sampled_block_rows = which % 3 ? TD_SOLVE_LEAST_ROWS : td_solve_most_rows(of->type);
    system_matrices s = system_make(of);
    td_promise promise;
    test_matrix x;
    const td_sample_counts counts =
        verify_solve(&s, which % 2, &(meanwhile){NULL, NULL}, &promise, &x);
    const errors want = residuals_of(&s, &x);
    check_counts(&counts, &want, &promise, system_text(of));
    CHECK(counts.worst_ulps == 0.0, "a residual of %g ulps", counts.worst_ulps);
    matrix_free(&x);
    system_free(&s);
}

static const td_type types[] = {TD_BINARY64, TD_COMPLEX_BINARY64};

TEST(all_solves)
{
    static const int orders[] = {1, 2, 9, 63, 64, 65, 130, 200};
    enum { ORDERS = sizeof orders / sizeof *orders };
    for (int i = 0; i < (sampled_mode->is_variant ? 2 : 8); i++) {
        const int which = 8 * sampled_round + i;
        if (test_is_brief() && i % 7 != 2) continue;
        const triangular of =
            system_varied("plain", types[which % 2], orders[which * 5 % ORDERS], 2, 5 * which);
        check_solve(&of, which / 2);
    }
}

/* Graded, ill-conditioned and nearly singular triangles. */
TEST(hard_solves)
{
    if (sampled_mode->is_variant) return;
    for (int i = 0; i < SYSTEM_DATA / 2; i++) {
        const int which = (SYSTEM_DATA / 2 + 1) * sampled_round + i;
        if (test_is_brief() && i % 7 != 2) continue;
        triangular of = system_varied(system_data[which % SYSTEM_DATA], types[which / 2 % 2], 134,
                                      1, 5 * which);
        if (strcmp(of.data, "plain") != 0 && strcmp(of.data, "Kahan") != 0)
            of.diagonal = TD_NON_UNIT_DIAGONAL; /* with ones the solution would overflow */
        check_solve(&of, which);
    }
}

/* An X that is wrong is found by its own residual at least; NaN, where it alone may not be. */
TEST(faults_of_solves)
{
    if (!sampled_stands_for_others()) return;
    for (int which = 0; which < 8; which += test_is_brief() ? 5 : 1) {
        if (!mode_has_turn(sampled_mode, which, 3)) continue;
        const triangular of = system_varied("plain", types[which % 2], 70, 2, 5 * which);
        system_matrices s = system_make(&of);
        const int64_t row = of.side == TD_LEFT ? 40 : 1;
        const unsigned long long parts = (unsigned long long)parts_of(of.type);
        for (int is_nan = 0; is_nan < 2; is_nan++) {
            const fault f = {row, 41 - row, which / 2 % (int)parts, is_nan ? (double)NAN : 0x1p-20};
            td_promise promise;
            test_matrix x;
            const td_sample_counts counts =
                verify_solve(&s, false, &(meanwhile){add_fault, &f}, &promise, &x);
            const bool is_found = is_nan ? counts.outside == parts : counts.outside > 0;
            CHECK(is_nan || promises(&promise) ? is_found : counts.outside == 0,
                  "%s: %llu beyond the bound, off by %g: %s", sampled_mode->name, counts.outside,
                  f.delta, system_text(&of));
            matrix_free(&x);
        }
        system_free(&s);
    }
}

/* NaN and infinities of operands, and what follows from a zero on the diagonal, have no error. */
TEST(special_solves)
{
    static const double values[] = {0.0, NAN, INFINITY};
    if (!sampled_stands_for_others()) return;
    for (int which = 0; which < 12; which += test_is_brief() ? 5 : 1) {
        if (!mode_has_turn(sampled_mode, which, 3)) continue;
        triangular of = system_varied("plain", types[which % 2], 40, 3, 5 * which);
        of.diagonal = TD_NON_UNIT_DIAGONAL;
        system_matrices s = system_make(&of);
        const double value = values[which / 2 % 3];
        if (which % 4 < 2 && value != 0.0)
            system_set_vector(&of, &s.b, 30, 2, value);
        else
            system_set_element(&s, 30, 30, value);
        td_promise promise;
        test_matrix x;
        const td_sample_counts counts =
            verify_solve(&s, which % 2, &(meanwhile){NULL, NULL}, &promise, &x);
        CHECK(counts.outside == 0 && counts.special > 0 && counts.special < counts.elements,
              "%s: %llu outside, %llu special of %llu: %s", sampled_mode->name, counts.outside,
              counts.special, counts.elements, system_text(&of));
        matrix_free(&x);
        system_free(&s);
    }
}

/* With alpha = 0, X is 0, whatever A and B are. */
TEST(solves_of_nothing)
{
    if (!sampled_stands_for_others()) return;
    for (int which = 0; which < 4; which += test_is_brief() ? 3 : 1) {
        triangular of = system_varied("plain", types[which % 2], 40, 3, 5 * which);
        of.alpha[0] = of.alpha[1] = 0.0;
        system_matrices s = system_make(&of);
        system_set_vector(&of, &s.b, 30, 2, (double)NAN);
        for (int is_wrong = 0; is_wrong < 2; is_wrong++) {
            const fault f = {1, 2, 0, 0x1p-20};
            td_promise promise;
            test_matrix x;
            const td_sample_counts counts = verify_solve(
                &s, which / 2, &(meanwhile){is_wrong ? add_fault : NULL, &f}, &promise, &x);
            const unsigned long long elements =
                (unsigned long long)(of.order * of.vectors * parts_of(of.type));
            CHECK(counts.elements == elements && counts.special == 0 &&
                      counts.outside == (is_wrong && promises(&promise)),
                  "%s: %llu of %llu elements, %llu special, %llu outside: %s", sampled_mode->name,
                  counts.elements, elements, counts.special, counts.outside, system_text(&of));
            matrix_free(&x);
        }
        system_free(&s);
    }
}

TEST(graphs_of_solves)
{
    enum { RUNS = 2 };
    if (!sampled_stands_for_others()) return;
    for (int which = 0; which < 2; which++) {
        const triangular of = system_varied("plain", types[which], 134, 1, 5 * which);
        system_matrices s = system_make(&of);
        double *const a = device_upload(&s.a), *const b = device_upload(&s.b);
        td_problem p = system_call(&s, a, b);
        p.stream = sampled_stream;
        const td_sample_counts counts = sampled_run_in_graph(&p, RUNS);
        CHECK(counts.elements ==
                      (unsigned long long)(RUNS * of.order * of.vectors * parts_of(of.type)) &&
                  counts.outside == 0 && counts.special == 0,
              "%s: %llu elements, %llu outside, %llu special: %s", sampled_mode->name,
              counts.elements, counts.outside, counts.special, system_text(&of));
        device_free(a, b);
        system_free(&s);
    }
}

int main(void)
{
    int failed = 0;
    device_require();
    sampled_set_up(NULL);
    sampled_block_rows = TD_SOLVE_LEAST_ROWS;
    for (; sampled_next_mode(); sampled_round++) failed += test_run(.name = sampled_mode->name);
    sampled_tear_down(NULL);
    return failed;
}
