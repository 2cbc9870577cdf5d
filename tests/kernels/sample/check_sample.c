/* check_sample.c - TANDEM_VERIFY: errors of elements as kernels measure them against those that
 * the reference finds; that every mode keeps what it promises, whatever the data; batches,
 * graphs, device scalars, NaN. Elements that are made wrong: check_sample_faults.c. */
#include "tests/support/test.h"

#include <math.h>

#include "sampled_product.h"
#include "tests/kernels/support/device.h"

static td_sample_counts multiply(const sampled_product *r)
{
    return sampled_run_once(&r->call, &r->gemm, &(meanwhile){NULL, NULL});
}

/* ---- errors ---- */

/* Of all elements of a C that is finite, relative to their sizes. */
static errors reference_errors(const sampled_product *r, const test_matrix *got)
{
    test_matrix before = r->p->c;
    const ref_gemm gemm = problem_gemm(r->p, &before);
    errors e = {0};
    for (int64_t j = 0; j < gemm.n; j++)
        for (int64_t i = 0; i < gemm.m; i++) {
            const ref_distance d = ref_measure(&gemm, i, j, *matrix_at(got, i, j));
            const double error = d.off == 0.0L ? 0.0 : (double)(d.off / d.size);
            add_error(&e, error);
        }
    return e;
}

static int is_all_finite(const test_matrix *m)
{
    for (int64_t j = 0; j < m->cols; j++)
        for (int64_t i = 0; i < m->rows; i++)
            if (!isfinite(*matrix_at(m, i, j))) return 0;
    return 1;
}

/* All elements are counted, none is beyond what the mode promises, and errors are the
 * reference's. */
static void check_product(const char *mode, const product *of)
{
    problem p = problem_make(of);
    sampled_product r = sampled_product_make(mode, &p);
    const td_sample_counts s = multiply(&r);
    test_matrix got = matrix_copy(&p.c);
    device_download(&got, r.c);
    CHECK(s.elements == (unsigned long long)(of->m * of->n), "%s: %llu elements were compared: %s",
          mode, s.elements, product_text(of));
    CHECK(s.outside == 0, "%s: %llu elements beyond %g sizes and %g ulps, the worst %g and %g: %s",
          mode, s.outside, r.call.promise.bound.relative, r.call.promise.bound.ulps, s.worst,
          s.worst_ulps, product_text(of));
    if (is_all_finite(&got)) {
        const errors want = reference_errors(&r, &got);
        sampled_near(s.worst, want.worst, 0.0, "the worst error", mode, product_text(of));
        sampled_near(s.sum, want.sum, 0.0, "the sum of errors", mode, product_text(of));
        CHECK(s.special == 0, "%llu elements of none are special", s.special);
    }
    matrix_free(&got);
    sampled_product_free(&r);
    problem_free(&p);
}

TEST(modes_keep_what_they_promise)
{
    sampled_options.verify = TD_VERIFY_ALL;
    int which = 0;
    for (const mode *m = NULL; (m = mode_after(m));) {
        if (test_is_brief() && !mode_stands_for_others(m)) continue;
        for (int d = 0; d < distribution_count; d += test_is_brief() ? 7 : 1, which++) {
            if (!mode_has_turn(m, d, 3)) continue;
            const product of =
                product_varied(distributions[d].name, 9, 7, which % 2 ? 33 : 130, which);
            check_product(m->name, &of);
        }
    }
}

/* Several blocks share an element of so many terms, the last of which has fewer. */
static const int shared_terms[] = {2 * TD_SAMPLE_SHARED_TERMS + 1,
                                   TD_SAMPLE_SHARES *TD_SAMPLE_SHARED_TERMS + 1000};

TEST(blocks_share_long_sums)
{
    sampled_options.verify = TD_VERIFY_ALL;
    for (int i = 0; i < (test_is_brief() ? 1 : 2); i++)
        for (int d = 0; d < distribution_count; d += test_is_brief() ? 33 : i ? 7 : 3) {
            if (!test_takes(d / (i ? 7 : 3), 4)) continue;
            const product of = product_varied(distributions[d].name, 3, 2, shared_terms[i], d);
            CHECK(td_sample_shares(of.k, 6) > 1, "k = %d is not shared", (int)of.k);
            check_product("fp64", &of);
        }
}

/* Infinities of both signs are in the shares of two blocks, and a NaN in another's. */
TEST(blocks_share_special_sums)
{
    sampled_options.verify = TD_VERIFY_ALL;
    const product of = {
        .data = "both signs", .m = 4, .n = 1, .k = shared_terms[1], .alpha = 1.0, .seed = 3};
    problem p = problem_make(&of);
    for (int64_t l = 0; l < of.k; l++) *matrix_at(&p.b, l, 0) = 1.0;
    *matrix_at(&p.a, 1, 0) = INFINITY;
    *matrix_at(&p.a, 2, 0) = INFINITY;
    *matrix_at(&p.a, 2, of.k - 1) = -INFINITY;
    *matrix_at(&p.a, 3, of.k / 2) = NAN;
    sampled_product r = sampled_product_make("fp64", &p);
    const td_sample_counts s = multiply(&r);
    CHECK(s.elements == 4 && s.special == 3 && s.outside == 0, "%llu, %llu special, %llu outside",
          s.elements, s.special, s.outside);
    sampled_product_free(&r);
    problem_free(&p);
}

/* ---- places ---- */

TEST(a_sample_is_as_large_as_asked)
{
    const product of = {.data = "both signs", .m = 40, .n = 30, .k = 20, .alpha = 1.0, .seed = 3};
    problem p = problem_make(&of);
    sampled_product r = sampled_product_make("fp64", &p);
    sampled_options.verify = 17;
    multiply(&r);
    const td_sample_counts s = multiply(&r);
    CHECK(s.elements == 2 * 17, "%llu elements", s.elements);
    CHECK(s.worst > 0 && s.sum <= s.worst * 34 && s.worst_ulps >= 0.25, "errors %g, %g, %g ulps",
          s.worst, s.sum, s.worst_ulps);
    sampled_product_free(&r);
    problem_free(&p);
}

enum { BATCH = 3 };

/* Storage of an operand of all members, on the device; where the elements of each begin. */
static double *upload_members(const test_matrix *const of[BATCH], double *first[BATCH])
{
    const size_t count = of[0]->count;
    double *all = NULL;
    CHECK_CUDA(cudaMalloc((void **)&all, BATCH * count * sizeof(double)));
    for (int z = 0; z < BATCH; z++) {
        first[z] = all + (size_t)z * count + of[z]->guard;
        device_write(all + (size_t)z * count, of[z]->storage, count * sizeof(double));
    }
    return all;
}

/* Members that differ, a stride or pointers apart; beta is in device memory. */
static void check_batch(int by_pointers)
{
    const product of = {
        .data = "both signs", .m = 8, .n = 5, .k = 40, .alpha = 1.5, .beta = -0.5, .seed = 5};
    problem p[BATCH];
    double *pointers[3 * BATCH];
    for (int z = 0; z < BATCH; z++) {
        product member = of;
        member.seed += (uint64_t)z;
        p[z] = problem_make(&member);
    }
    const test_matrix *const operand[3][BATCH] = {
        {&p[0].a, &p[1].a, &p[2].a}, {&p[0].b, &p[1].b, &p[2].b}, {&p[0].c, &p[1].c, &p[2].c}};
    sampled_product r = sampled_product_make("faithful", &p[0]);
    td_matrix *const matrix[] = {&r.gemm.a, &r.gemm.b, &r.gemm.c};
    double *all[3];
    for (int o = 0; o < 3; o++) all[o] = upload_members(operand[o], pointers + o * BATCH);
    void **const arrays = device_copy(pointers, sizeof pointers);
    double *const beta = device_copy(&of.beta, sizeof of.beta);
    for (int o = 0; o < 3; o++)
        *matrix[o] = (td_matrix){.data = by_pointers ? NULL : pointers[o * BATCH],
                                 .array = by_pointers ? (void *const *)(arrays + o * BATCH) : NULL,
                                 .ld = matrix[o]->ld,
                                 .stride = (int64_t)operand[o][0]->count};
    r.gemm.batch = BATCH;
    r.gemm.beta = (td_scalar){.device = beta};
    const td_sample_counts s = multiply(&r);
    CHECK(s.elements == (unsigned long long)(BATCH * of.m * of.n), "%llu elements", s.elements);
    CHECK(s.outside == 0 && s.worst_ulps <= 0.5 && s.worst > 0, "%llu outside, %g ulps", s.outside,
          s.worst_ulps);
    sampled_product_free(&r);
    void *const memory[] = {all[0], all[1], all[2], (void *)arrays, beta};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) device_free(memory[i]);
    for (int z = 0; z < BATCH; z++) problem_free(&p[z]);
}

TEST(batches_are_verified)
{
    sampled_options.verify = TD_VERIFY_ALL;
    check_batch(0);
    check_batch(1);
}

/* Of C only a triangle is made: nothing else of it is looked at, which is all NaN. */
TEST(triangles_are_verified)
{
    enum { ORDER = 12 };
    for (int upper = 0; upper < 2; upper++) {
        const product of = {.data = "both signs",
                            .m = ORDER,
                            .n = ORDER,
                            .k = 30,
                            .alpha = 0.7,
                            .beta = -0.5,
                            .seed = 14};
        problem p = problem_make(&of);
        for (int64_t j = 0; j < ORDER; j++)
            for (int64_t i = 0; i < ORDER; i++)
                if (upper ? i > j : i < j) *matrix_at(&p.c, i, j) = (double)NAN;
        for (int all = 0; all < 2; all++) {
            sampled_product r = sampled_product_make("faithful", &p);
            r.gemm.kind = TD_RANK_K;
            r.gemm.triangle = upper ? TD_UPPER : TD_LOWER;
            r.gemm.m = 0;
            sampled_options.verify = all ? TD_VERIFY_ALL : 40;
            const td_sample_counts s = multiply(&r);
            CHECK(s.elements == (all ? ORDER * (ORDER + 1) / 2 : 40), "%llu elements", s.elements);
            CHECK(s.outside == 0 && s.special == 0, "%llu outside, %llu special", s.outside,
                  s.special);
            CHECK(s.worst > 0 && s.worst_ulps <= 0.5, "%g, %g ulps", s.worst, s.worst_ulps);
            sampled_product_free(&r);
        }
        problem_free(&p);
    }
}

/* What C was before the product is of the moment, in each run of a graph. */
TEST(graphs_are_verified)
{
    enum { RUNS = 3 };
    const product of = {
        .data = "both signs", .m = 9, .n = 11, .k = 20, .alpha = 1.5, .beta = -0.5, .seed = 4};
    problem p = problem_make(&of);
    sampled_product r = sampled_product_make("faithful", &p);
    sampled_options.verify = TD_VERIFY_ALL;
    const td_sample_counts s = sampled_run_captured(&r.call, &r.gemm, RUNS);
    CHECK(s.elements == (unsigned long long)(RUNS * of.m * of.n), "%llu elements", s.elements);
    CHECK(s.outside == 0 && s.worst_ulps <= 0.5 && s.worst > 0, "%llu outside, %g ulps", s.outside,
          s.worst_ulps);
    sampled_product_free(&r);
    problem_free(&p);
}

/* ---- what is not finite ---- */

TEST(special_elements_have_no_error)
{
    sampled_options.verify = TD_VERIFY_ALL;
    const product of = {
        .data = "both signs", .m = 6, .n = 5, .k = 30, .alpha = 2.0, .beta = 1.0, .seed = 6};
    for (const mode *m = NULL; (m = mode_after(m));) {
        problem p = problem_make(&of);
        *matrix_at(&p.a, 1, 3) = (double)NAN;
        *matrix_at(&p.a, 2, 3) = (double)INFINITY;
        *matrix_at(&p.b, 7, 4) = -(double)INFINITY;
        *matrix_at(&p.c, 4, 0) = (double)INFINITY;
        sampled_product r = sampled_product_make(m->name, &p);
        const td_sample_counts s = multiply(&r);
        /* Two rows, a column, and an element. */
        CHECK(s.special == 2 * 5 + 6 - 2 + 1 && s.outside == 0, "%s: %llu special, %llu outside",
              m->name, s.special, s.outside);
        CHECK(s.elements == 30, "%llu elements", s.elements);
        sampled_product_free(&r);
        problem_free(&p);
    }
}

/* alpha = 0: nobody looks at A and B, which are all NaN. */
TEST(operands_that_do_not_count_are_not_read)
{
    sampled_options.verify = TD_VERIFY_ALL;
    const product of = {
        .data = "both signs", .m = 6, .n = 5, .k = 30, .alpha = 0.0, .beta = 0.7, .seed = 7};
    check_product("df", &of);
    check_product("faithful", &of);
}

/* Without terms alpha multiplies nothing: C is beta C, whatever alpha is. */
TEST(scalars_that_do_not_count_are_not_read)
{
    const double alphas[] = {(double)NAN, (double)INFINITY};
    sampled_options.verify = TD_VERIFY_ALL;
    for (int i = 0; i < 2; i++) {
        const product of = {
            .data = "both signs", .m = 6, .n = 5, .alpha = alphas[i], .beta = 0.7, .seed = 7};
        problem p = problem_make(&of);
        sampled_product r = sampled_product_make("df", &p);
        const td_sample_counts s = multiply(&r);
        CHECK(s.elements == 30 && s.special == 0 && s.outside == 0,
              "alpha %g: %llu elements, %llu special, %llu outside", alphas[i], s.elements,
              s.special, s.outside);
        sampled_product_free(&r);
        problem_free(&p);
    }
}

TEST(what_is_no_product_stays_unverified)
{
    const product of = {.data = "both signs", .m = 6, .n = 5, .k = 30, .alpha = 1.0, .seed = 8};
    problem p = problem_make(&of);
    sampled_product r = sampled_product_make("fp64", &p);
    td_sampling sampling = {0};
    sampled_options.verify = 0;
    multiply(&r);
    sampled_options.verify = TD_VERIFY_ALL;
    td_question q;
    td_ask(TD_ENTRY_cublasDgemm_v2, &r.gemm, &q);
    td_sampling_begin(&sampling, &sampled_options, &q, &r.call.promise, NULL, r.call.record);
    td_sampling_end(&sampling, true);
    td_sampling_begin(&sampling, &sampled_options, &q, &r.call.promise, td_device_current(),
                      r.call.record);
    td_sampling_end(&sampling, false); /* C is not what was asked for */
    r.gemm.kind = TD_LU_FACTOR;
    td_ask(TD_ENTRY_cublasDgetrfBatched, &r.gemm, &q);
    td_sampling_begin(&sampling, &sampled_options, &q, &r.call.promise, td_device_current(),
                      r.call.record);
    td_sampling_end(&sampling, true);
    CHECK(sampled_counts(&r.call).elements == 0, "%llu elements", sampled_counts(&r.call).elements);
    sampled_product_free(&r);
    problem_free(&p);
}

/* Each part of what nobody can judge stays so, and nothing of it counts as wrong. */
TEST(what_nobody_can_judge_is_not_judged)
{
    sampled_options.verify = TD_VERIFY_ALL;
    const product of = {
        .data = "both signs", .m = 3, .n = 2, .k = 4, .alpha = 1.0, .beta = 1.0, .seed = 12};
    for (const mode *m = NULL; (m = mode_after(m));) {
        problem p = problem_make(&of);
        /* Row 0 of A B is some 2^1023 at most, by way of twice that; row 1 by way of -2^1024. */
        for (int64_t l = 0; l < of.k; l++) {
            for (int64_t j = 0; j < of.n; j++) *matrix_at(&p.b, l, j) = 1.0;
            *matrix_at(&p.a, 0, l) = l < 2 ? 0x1.8p1023 : -0x1.8p1023;
            *matrix_at(&p.a, 1, l) = -*matrix_at(&p.a, 0, l);
            *matrix_at(&p.a, 2, l) = 1.0;
        }
        for (int64_t i = 0; i < of.m; i++) *matrix_at(&p.c, i, 0) = (double)INFINITY;
        sampled_product r = sampled_product_make(m->name, &p);
        const td_sample_counts s = multiply(&r);
        CHECK(s.outside == 0 && s.unjudged == 2 && s.elements == 4,
              "%s: %llu elements, %llu outside, %llu unjudged", m->name, s.elements, s.outside,
              s.unjudged);
        sampled_product_free(&r);
        problem_free(&p);
    }
}

/* Members whose C is one place have one result, of no matter which of them. What has a place of its
 * own is judged. */
static void check_shared(int64_t stride, unsigned long long least)
{
    const product of = {.data = "both signs", .m = 4, .n = 3, .k = 8, .alpha = 1.0, .seed = 13};
    problem p = problem_make(&of);
    sampled_product r = sampled_product_make("fp64", &p);
    r.gemm.batch = 2;
    r.gemm.a.stride = 1; /* other lines */
    r.gemm.c.stride = stride;
    r.gemm.m = 3;
    r.gemm.n = 2;
    const td_sample_counts s = multiply(&r);
    CHECK(s.outside == 0 && s.elements + s.unjudged == 12 && s.unjudged >= least,
          "stride %d: %llu elements, %llu outside, %llu unjudged", (int)stride, s.elements,
          s.outside, s.unjudged);
    sampled_product_free(&r);
    problem_free(&p);
}

TEST(members_in_one_place_are_not_judged)
{
    sampled_options.verify = TD_VERIFY_ALL;
    check_shared(0, 1);
    check_shared(2, 1);
}

int main(void)
{
    device_require();
    return test_run(.set_up = sampled_set_up, .tear_down = sampled_tear_down);
}
