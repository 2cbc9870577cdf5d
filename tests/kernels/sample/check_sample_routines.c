/* check_sample_routines.c - TANDEM_VERIFY of every product: symmetric, Hermitian, triangular and
 * complex ones, and updates by two matrices, under every mode. Errors are those that sums in 113
 * bits find on the host, no element is beyond its bound, and what is made wrong after the call is
 * found. Solves: check_sample_trsm.c. */
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/verify/failures.h"
#include "tests/support/complex_of.h"
#include "tests/support/random.h"
#include "tests/kernels/support/device.h"
#include "sampled.h"

static int cases = 20;
static uint64_t first_seed;

/* ---- what errors are ---- */

/* A part of y x, and the sum of its products' magnitudes in *size. */
static quad part_of_product(number y, quad re, quad im, quad size_re, quad size_im, int part,
                            quad *size)
{
    const quad other = part ? cimag(y) : -cimag(y);
    *size += magnitude(creal(y)) * (part ? size_im : size_re) +
             magnitude(other) * (part ? size_re : size_im);
    return (quad)creal(y) * (part ? im : re) + other * (part ? re : im);
}

static quad_sum sum_of(const routine_case *c, int64_t i, int64_t j)
{
    quad_sum s = {0, 0, 0, 0};
    for (int64_t l = 0; l < c->left.columns; l++)
        add_product(&s, *element(&c->left, i, l), *element(&c->right, l, j));
    return s;
}

/* The relative error of a part of C, as ../../kernels/sample/sample.h defines it. */
static double error_of(const routine_case *c, const matrix *got, int64_t i, int64_t j, int part)
{
    const number x = *element(got, i, j), old = routine_before(c, i, j);
    const quad_sum s = sum_of(c, i, j);
    quad size = 0, value = part_of_product(c->alpha, s.re, s.im, s.size_re, s.size_im, part, &size);
    if (c->p.kind == TD_RANK_2K && c->p.is_hermitian) {
        const quad_sum t = sum_of(c, j, i);
        value += part_of_product(conj(c->alpha), t.re, -t.im, t.size_re, t.size_im, part, &size);
    }
    if (c->beta != 0.0)
        value += part_of_product(c->beta, creal(old), cimag(old), magnitude(creal(old)),
                                 magnitude(cimag(old)), part, &size);
    if (c->p.is_hermitian && !routine_has_side(&c->p) && i == j && part) value = size = 0;
    const quad off = magnitude(value - (part ? cimag(x) : creal(x)));
    return off == 0 ? 0.0 : (double)(off / size);
}

static bool is_made(const routine_case *c, int64_t i, int64_t j)
{
    return routine_has_side(&c->p) || routine_is_inside(c->p.triangle, i, j);
}

static errors errors_of(const routine_case *c, const matrix *got)
{
    errors e = {0};
    for (int64_t j = 0; j < got->columns; j++)
        for (int64_t i = 0; i < got->rows; i++)
            for (int part = 0; is_made(c, i, j) && part < parts_of(c->p.type); part++)
                add_error(&e, error_of(c, got, i, j, part));
    return e;
}

/* ---- products ---- */

static td_problem call_of(const routine_case *c, void *memory[ROUTINE_MEMORIES])
{
    td_problem p = routine_own_call(c, memory);
    p.stream = sampled_stream;
    return p;
}

static td_sample_counts verify(const routine_case *c, const meanwhile *then, td_promise *promise,
                               matrix *got)
{
    void *memory[ROUTINE_MEMORIES];
    const td_problem p = call_of(c, memory);
    CHECK(td_problem_is_valid(&p), "no problem: %s", routine_text(c));
    const td_sample_counts s = sampled_run(&p, then, promise);
    *got = routine_download(c, &c->c, memory[2]);
    for (int i = 0; i < ROUTINE_MEMORIES; i++) CHECK_CUDA(cudaFree(memory[i]));
    return s;
}

/* The next case of few products from a seed on: the host needs time for each. */
static routine_case small_case(uint64_t *seed)
{
    enum { MOST = 4000 };
    for (;; ++*seed) {
        routine_case c = routine_make(*seed);
        if (c.left.rows * c.left.columns * c.right.columns <= MOST) return c;
        routine_free(&c);
    }
}

TEST(all_routines)
{
    uint64_t seed = first_seed + 10000 * (uint64_t)sampled_round;
    for (int i = 0; i < test_cases(cases); i++, seed++) {
        if (!test_takes(i, 3)) continue;
        routine_case c = small_case(&seed);
        td_promise promise;
        matrix got;
        const td_sample_counts s = verify(&c, &(meanwhile){NULL, NULL}, &promise, &got);
        const errors want = errors_of(&c, &got);
        check_counts(&s, &want, &promise, routine_text(&c));
        CHECK(c.is_special || s.special == 0, "%s: %llu special: %s", sampled_mode->name, s.special,
              routine_text(&c));
        free(got.at);
        routine_free(&c);
    }
}

/* ---- products that are made wrong ---- */

/* One of each kind, real, complex and Hermitian. */
static const struct {
    td_kind kind;
    td_type type;
    bool is_hermitian;
} kinds[] = {
    {TD_SYMMETRIC_PRODUCT, TD_BINARY64, false},
    {TD_RANK_2K, TD_BINARY64, false},
    {TD_TRIANGULAR_PRODUCT, TD_BINARY64, false},
    {TD_SYMMETRIC_PRODUCT, TD_COMPLEX_BINARY64, true},
    {TD_RANK_K, TD_COMPLEX_BINARY64, true},
    {TD_RANK_KX, TD_COMPLEX_BINARY64, false},
    {TD_RANK_2K, TD_COMPLEX_BINARY64, false},
    {TD_RANK_2K, TD_COMPLEX_BINARY64, true},
    {TD_TRIANGULAR_PRODUCT, TD_COMPLEX_BINARY64, false},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Of ordinary numbers, with alpha 1. */
static routine_case plain_case(int which, int64_t n, int64_t k)
{
    const bool is_update =
        kinds[which].kind != TD_SYMMETRIC_PRODUCT && kinds[which].kind != TD_TRIANGULAR_PRODUCT;
    const td_problem p = {.kind = kinds[which].kind,
                          .type = kinds[which].type,
                          .is_hermitian = kinds[which].is_hermitian,
                          .m = is_update ? 0 : n + 2,
                          .n = n,
                          .k = is_update ? k : 0,
                          .batch = 1};
    uint64_t seed = first_seed + 1000 + (uint64_t)which;
    routine_case c = routine_make_of(&p, seed);
    while (c.is_special) { /* its matrices are to be finite */
        routine_free(&c);
        c = routine_make_of(&p, seed += 100);
    }
    if (c.alpha == 0.0) c.alpha = 0.7;
    return c;
}

static void check_fault(const routine_case *c, const fault *f, bool is_always_seen)
{
    td_promise promise;
    matrix got;
    const td_sample_counts s = verify(c, &(meanwhile){add_fault, f}, &promise, &got);
    const unsigned long long wanted = is_always_seen || promises(&promise);
    CHECK(s.outside == wanted, "%s: %llu beyond the bound, part %d of (%d, %d) off by %g: %s",
          sampled_mode->name, s.outside, f->part, (int)f->row, (int)f->col, f->delta,
          routine_text(c));
    free(got.at);
}

/* Sanitizers see a third of the kinds with each mode, and the next third with the next one. */
static bool is_left_out(int which) { return test_is_brief() && (which + sampled_round) % 3 != 0; }

/* Off by 2^-24 of what is beside it, NaN, and an imaginary part where there must be none. */
TEST(faults_of_products)
{
    for (int which = 0; which < KINDS; which++) {
        if (sampled_mode->is_variant && which % 4) continue;
        if (!mode_has_turn(sampled_mode, which, 3) || is_left_out(which)) continue;
        routine_case c = plain_case(which, 6, 20);
        const int part = c.is_complex ? which % 2 : 0;
        const bool is_upper = c.p.triangle == TD_UPPER;
        fault f = {is_upper ? 1 : 4, is_upper ? 4 : 1, part, 0x1p-20};
        check_fault(&c, &f, false);
        f.delta = NAN;
        check_fault(&c, &f, true);
        const fault of_diagonal = {3, 3, 1, 0x1p-60};
        if (c.p.is_hermitian && !routine_has_side(&c.p)) check_fault(&c, &of_diagonal, false);
        routine_free(&c);
    }
}

/* A real beta multiplies each part of C alone: an infinite one leaves the other as it is. */
TEST(real_scalars_leave_the_other_part)
{
    for (int which = 0; which < KINDS; which++) {
        if (!kinds[which].is_hermitian ||
            routine_has_side(&(td_problem){.kind = kinds[which].kind}))
            continue;
        routine_case c = plain_case(which, 6, 9);
        td_promise promise;
        matrix got;
        const bool is_upper = c.p.triangle == TD_UPPER;
        c.beta = 0.75;
        *element(&c.c, is_upper ? 1 : 4, is_upper ? 4 : 1) = complex_of(INFINITY, 3.0);
        *element(&c.c, is_upper ? 2 : 5, is_upper ? 5 : 2) = complex_of(3.0, -INFINITY);
        const td_sample_counts s = verify(&c, &(meanwhile){NULL, NULL}, &promise, &got);
        CHECK(s.special == 2 && s.outside == 0 && s.unjudged == 0,
              "%s: %llu special, %llu outside, %llu unjudged: %s", sampled_mode->name, s.special,
              s.outside, s.unjudged, routine_text(&c));
        free(got.at);
        routine_free(&c);
    }
}

/* ---- how they run ---- */

TEST(graphs_of_products)
{
    enum { RUNS = 3 };
    if (sampled_mode->is_variant) return;
    for (int which = 0; which < KINDS; which++) {
        if (!mode_has_turn(sampled_mode, which, 3) || is_left_out(which)) continue;
        routine_case c = plain_case(which, 5, 9);
        const errors one = errors_of(&c, &c.c);
        void *memory[ROUTINE_MEMORIES];
        c.is_in_place = c.p.kind == TD_TRIANGULAR_PRODUCT;
        c.c.ld = c.is_in_place ? c.b.ld : c.c.ld;
        const td_problem p = call_of(&c, memory);
        const td_sample_counts s = sampled_run_in_graph(&p, RUNS);
        CHECK(s.elements == RUNS * one.elements && s.outside == 0 && s.special == 0,
              "%s: %llu elements, %llu outside, %llu special: %s", sampled_mode->name, s.elements,
              s.outside, s.special, routine_text(&c));
        for (int i = 0; i < ROUTINE_MEMORIES; i++) CHECK_CUDA(cudaFree(memory[i]));
        routine_free(&c);
    }
}

/* So many places, each of two parts where numbers are complex; lines are kept for each. */
TEST(samples_of_products)
{
    enum { PLACES = 11 };
    if (sampled_mode->is_variant) return;
    sampled_options.verify = PLACES;
    for (int which = 0; which < KINDS; which++) {
        routine_case c = plain_case(which, 9, 7);
        td_promise promise;
        matrix got;
        const td_sample_counts s = verify(&c, &(meanwhile){NULL, NULL}, &promise, &got);
        CHECK(s.elements == (unsigned long long)(PLACES * parts_of(c.p.type)) && s.outside == 0,
              "%s: %llu elements, %llu outside: %s", sampled_mode->name, s.elements, s.outside,
              routine_text(&c));
        free(got.at);
        routine_free(&c);
    }
    sampled_options.verify = TD_VERIFY_ALL;
}

/* Several blocks share the terms of an element. */
TEST(blocks_share_long_sums)
{
    enum { K = 2 * TD_SAMPLE_SHARED_TERMS + 11 };
    if (strcmp(sampled_mode->name, "fp64") != 0) return;
    for (int which = 0; which < KINDS; which++) {
        if (test_is_brief() && which % 4) continue;
        routine_case c = plain_case(which, 2, K);
        if (!routine_has_side(&c.p)) {
            td_promise promise;
            matrix got;
            const td_sample_counts s = verify(&c, &(meanwhile){NULL, NULL}, &promise, &got);
            const errors want = errors_of(&c, &got);
            check_counts(&s, &want, &promise, routine_text(&c));
            free(got.at);
        }
        routine_free(&c);
    }
}

/* ---- what is kept of the first fault ---- */

/* The imaginary part that these terms make, and how many there are. */
static quad sum_of_file(const char *text, number alpha, int *terms)
{
    quad_sum s = {0, 0, 0, 0};
    quad size = 0;
    *terms = 0;
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        double x[4];
        if (*line == '#' || sscanf(line, "%lf %lf %lf %lf", &x[0], &x[1], &x[2], &x[3]) != 4)
            continue;
        add_product(&s, complex_of(x[0], x[1]), complex_of(x[2], x[3]));
        ++*terms;
    }
    return part_of_product(alpha, s.re, s.im, 0, 0, 1, &size);
}

/* The terms of the row and the column make the element again, less what was added to it. */
static void the_first_fault_is_kept(void **unused)
{
    (void)unused;
    sampled_mode = mode_after(NULL);
    routine_case c = plain_case(5, 6, 20);
    td_promise promise;
    matrix got;
    c.beta = 0.0;
    c.p.triangle = TD_LOWER;
    const fault f = {4, 1, 1, 0x1p-10};
    verify(&c, &(meanwhile){add_fault, &f}, &promise, &got);
    td_failures_look();
    const double after = cimag(*element(&got, 4, 1));

    const char *const log = test_read_file(sampled_log);
    CHECK(strstr(log, "the imaginary part of element (4, 1) of C is off by "), "the log is: %s",
          log);
    const char *const text = test_read_file(sampled_file);
    int terms;
    const double made = (double)sum_of_file(text, c.alpha, &terms);
    CHECK(terms == 20, "%d terms: %s", terms, text);
    CHECK(fabs(after - made - f.delta) <= 0x1p-40, "%a after, the terms make %a", after, made);
    free(got.at);
    routine_free(&c);
    sampled_mode = NULL;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest first[] = {cmocka_unit_test(the_first_fault_is_kept)};
    test_take_cases(argc, argv, &cases, &first_seed);
    device_require();
    int failed = cmocka_run_group_tests_name("the first fault", first, sampled_set_up, NULL);
    for (; sampled_next_mode(); sampled_round++) failed += test_run(.name = sampled_mode->name);
    sampled_tear_down(NULL);
    return failed;
}
