/* check_sample.c - TANDEM_VERIFY: errors of elements as kernels measure them against those that
 * the reference finds; that every mode keeps what it promises, whatever the data; batches,
 * graphs, device scalars, NaN; and that an element that is made wrong after the product is
 * found, said and left in a file. */
#include "../support/test.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/call/failures.h"
#include "../../lib/call/lower.h"
#include "../../lib/call/sampling.h"
#include "../../lib/engines/engine.h"
#include "../../lib/report/report_internal.h"
#include "support/checked.h"
#include "support/device.h"
#include "support/modes.h"
#include "support/problem.h"

static td_options options;
static char folder[] = "/tmp/tandem-sample-XXXXXX", log_path[64];
static cudaStream_t stream;

/* A product on the device, and how it is verified. */
typedef struct {
    const problem *p;
    td_problem gemm;
    const td_engine *engine;
    td_parameter parameter;
    td_promise promise;
    td_record *record;
    double *a, *b, *c;
} run;

/* Each has a line of the report for itself: the lines are told apart by k. */
static td_record *new_record(const td_sample_bound *bound)
{
    static int64_t lines;
    const td_report_key key = {.mode = "mode", .k = ++lines, .bound = *bound};
    td_record *record = td_report_find(&key);
    CHECK(record, "no record");
    return record;
}

static run run_make(const char *mode, const problem *p)
{
    run r = {
        .p = p, .a = device_upload(&p->a), .b = device_upload(&p->b), .c = device_upload(&p->c)};
    r.gemm = checked_call(p, r.a, r.b, r.c);
    r.gemm.stream = stream;
    r.engine = td_engine_parse(mode, &r.parameter);
    CHECK(r.engine, "no mode %s", mode);
    const td_decision decision = {.engine = r.engine, .parameter = r.parameter};
    r.promise = td_promised(&decision, TD_ENTRY_cublasDgemm_v2, &r.gemm);
    r.record = new_record(&r.promise.bound);
    return r;
}

static void run_free(run *r)
{
    device_free(r->a);
    device_free(r->b);
    device_free(r->c);
}

/* The product on the stream. meanwhile: done between the product and what looks at it. */
static void multiply(run *r, void (*meanwhile)(run *r))
{
    td_sampling sampling = {0};
    td_problem product;
    td_device *device = td_device_current();
    td_sampling_begin(&sampling, &options, &r->gemm, &r->promise, device, r->record);
    CHECK(td_lower(&r->gemm, &product), "no product");
    CHECK(td_engine_run(r->engine, &product, r->parameter, device, device->workspace_bytes, NULL) ==
              TD_RUN_DONE,
          "%s failed", r->engine->name);
    if (meanwhile) meanwhile(r);
    td_sampling_end(&sampling, true);
}

static td_sample_counts counts_of(const run *r)
{
    CHECK_CUDA(cudaStreamSynchronize(stream));
    return td_record_samples(r->record);
}

static void verify(td_option_verify count) { options.verify = count; }

/* ---- errors ---- */

typedef struct {
    double worst, sum;
} errors;

/* Of all elements of a C that is finite, relative to their sizes. */
static errors reference_errors(const run *r, const test_matrix *got)
{
    test_matrix before = r->p->c;
    const ref_gemm gemm = problem_gemm(r->p, &before);
    errors e = {0};
    for (int64_t j = 0; j < gemm.n; j++)
        for (int64_t i = 0; i < gemm.m; i++) {
            const ref_distance d = ref_measure(&gemm, i, j, *matrix_at(got, i, j));
            const double error = d.off == 0.0L ? 0.0 : (double)(d.off / d.size);
            e.sum += error;
            if (error > e.worst) e.worst = error;
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

static void check_near(double got, double want, const char *what, const run *r)
{
    CHECK(fabs(got - want) <= 0x1p-20 * want, "%s: %s is %g, by the reference %g: %s",
          r->engine->name, what, got, want, product_text(&r->p->of));
}

/* All elements are counted, none is beyond what the mode promises, and errors are the
 * reference's. */
static void check_product(const char *mode, const product *of)
{
    problem p = problem_make(of);
    run r = run_make(mode, &p);
    multiply(&r, NULL);
    const td_sample_counts s = counts_of(&r);
    test_matrix got = matrix_copy(&p.c);
    device_download(&got, r.c);
    CHECK(s.elements == (unsigned long long)(of->m * of->n), "%s: %llu elements were compared: %s",
          mode, s.elements, product_text(of));
    CHECK(s.outside == 0, "%s: %llu elements beyond %g sizes and %g ulps, the worst %g and %g: %s",
          mode, s.outside, r.record->key.bound.relative, r.record->key.bound.ulps, s.worst,
          s.worst_ulps, product_text(of));
    if (is_all_finite(&got)) {
        const errors want = reference_errors(&r, &got);
        check_near(s.worst, want.worst, "the worst error", &r);
        check_near(s.sum, want.sum, "the sum of errors", &r);
        CHECK(s.special == 0, "%llu elements of none are special", s.special);
    }
    matrix_free(&got);
    run_free(&r);
    problem_free(&p);
}

static void modes_keep_what_they_promise(void **unused)
{
    (void)unused;
    verify(TD_VERIFY_ALL);
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

static void blocks_share_long_sums(void **unused)
{
    (void)unused;
    verify(TD_VERIFY_ALL);
    for (int i = 0; i < (test_is_brief() ? 1 : 2); i++)
        for (int d = 0; d < distribution_count; d += test_is_brief() ? 33 : i ? 7 : 3) {
            if (!test_takes(d / (i ? 7 : 3), 4)) continue;
            const product of = product_varied(distributions[d].name, 3, 2, shared_terms[i], d);
            CHECK(td_sample_shares(of.k, 6) > 1, "k = %d is not shared", (int)of.k);
            check_product("fp64", &of);
        }
}

/* Infinities of both signs are in the shares of two blocks, and a NaN in another's. */
static void blocks_share_special_sums(void **unused)
{
    (void)unused;
    verify(TD_VERIFY_ALL);
    const product of = {
        .data = "both signs", .m = 4, .n = 1, .k = shared_terms[1], .alpha = 1.0, .seed = 3};
    problem p = problem_make(&of);
    for (int64_t l = 0; l < of.k; l++) *matrix_at(&p.b, l, 0) = 1.0;
    *matrix_at(&p.a, 1, 0) = INFINITY;
    *matrix_at(&p.a, 2, 0) = INFINITY;
    *matrix_at(&p.a, 2, of.k - 1) = -INFINITY;
    *matrix_at(&p.a, 3, of.k / 2) = NAN;
    run r = run_make("fp64", &p);
    multiply(&r, NULL);
    const td_sample_counts s = counts_of(&r);
    CHECK(s.elements == 4 && s.special == 3 && s.outside == 0, "%llu, %llu special, %llu outside",
          s.elements, s.special, s.outside);
    run_free(&r);
    problem_free(&p);
}

/* ---- places ---- */

static void a_sample_is_as_large_as_asked(void **unused)
{
    (void)unused;
    const product of = {.data = "both signs", .m = 40, .n = 30, .k = 20, .alpha = 1.0, .seed = 3};
    problem p = problem_make(&of);
    run r = run_make("fp64", &p);
    verify(17);
    multiply(&r, NULL);
    multiply(&r, NULL);
    const td_sample_counts s = counts_of(&r);
    CHECK(s.elements == 2 * 17, "%llu elements", s.elements);
    CHECK(s.worst > 0 && s.sum <= s.worst * 34 && s.worst_ulps >= 0.25, "errors %g, %g, %g ulps",
          s.worst, s.sum, s.worst_ulps);
    run_free(&r);
    problem_free(&p);
}

enum { BATCH = 3 };

/* Members that differ, a stride or pointers apart; beta is in device memory. */
static void check_batch(int by_pointers)
{
    const product of = {
        .data = "both signs", .m = 8, .n = 5, .k = 40, .alpha = 1.5, .beta = -0.5, .seed = 5};
    problem p[BATCH];
    double *a = NULL, *b = NULL, *c = NULL, *beta = NULL, **arrays = NULL, *pointers[3 * BATCH];
    for (int z = 0; z < BATCH; z++) {
        product member = of;
        member.seed += (uint64_t)z;
        p[z] = problem_make(&member);
    }
    const size_t counts[] = {p[0].a.count, p[0].b.count, p[0].c.count};
    double **const to[] = {&a, &b, &c};
    for (int o = 0; o < 3; o++) {
        CHECK_CUDA(cudaMalloc((void **)to[o], BATCH * counts[o] * sizeof(double)));
        for (int z = 0; z < BATCH; z++) {
            const test_matrix *from = o == 0 ? &p[z].a : o == 1 ? &p[z].b : &p[z].c;
            pointers[o * BATCH + z] = *to[o] + (size_t)z * counts[o] + from->guard;
            CHECK_CUDA(cudaMemcpy(*to[o] + (size_t)z * counts[o], from->storage,
                                  counts[o] * sizeof(double), cudaMemcpyHostToDevice));
        }
    }
    CHECK_CUDA(cudaMalloc((void **)&arrays, sizeof pointers));
    CHECK_CUDA(cudaMemcpy(arrays, pointers, sizeof pointers, cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMalloc((void **)&beta, sizeof *beta));
    CHECK_CUDA(cudaMemcpy(beta, &of.beta, sizeof *beta, cudaMemcpyHostToDevice));

    run r = run_make("faithful", &p[0]);
    td_matrix *const matrix[] = {&r.gemm.a, &r.gemm.b, &r.gemm.c};
    for (int o = 0; o < 3; o++)
        *matrix[o] = (td_matrix){.data = by_pointers ? NULL : pointers[o * BATCH],
                                 .array = by_pointers ? (void *const *)(arrays + o * BATCH) : NULL,
                                 .ld = matrix[o]->ld,
                                 .stride = (int64_t)counts[o]};
    r.gemm.batch = BATCH;
    r.gemm.beta = (td_scalar){.device = beta};
    multiply(&r, NULL);
    const td_sample_counts s = counts_of(&r);
    CHECK(s.elements == (unsigned long long)(BATCH * of.m * of.n), "%llu elements", s.elements);
    CHECK(s.outside == 0 && s.worst_ulps <= 0.5 && s.worst > 0, "%llu outside, %g ulps", s.outside,
          s.worst_ulps);
    run_free(&r);
    for (int o = 0; o < 3; o++) CHECK_CUDA(cudaFree(*to[o]));
    CHECK_CUDA(cudaFree(arrays));
    CHECK_CUDA(cudaFree(beta));
    for (int z = 0; z < BATCH; z++) problem_free(&p[z]);
}

static void batches_are_verified(void **unused)
{
    (void)unused;
    verify(TD_VERIFY_ALL);
    check_batch(0);
    check_batch(1);
}

/* Of C only a triangle is made: nothing else of it is looked at, which is all NaN. */
static void triangles_are_verified(void **unused)
{
    enum { ORDER = 12 };
    (void)unused;
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
            run r = run_make("faithful", &p);
            r.gemm.kind = TD_RANK_K;
            r.gemm.triangle = upper ? TD_UPPER : TD_LOWER;
            r.gemm.m = 0;
            verify(all ? TD_VERIFY_ALL : 40);
            multiply(&r, NULL);
            const td_sample_counts s = counts_of(&r);
            CHECK(s.elements == (all ? ORDER * (ORDER + 1) / 2 : 40), "%llu elements", s.elements);
            CHECK(s.outside == 0 && s.special == 0, "%llu outside, %llu special", s.outside,
                  s.special);
            CHECK(s.worst > 0 && s.worst_ulps <= 0.5, "%g, %g ulps", s.worst, s.worst_ulps);
            run_free(&r);
        }
        problem_free(&p);
    }
}

/* What C was before the product is of the moment, in each run of a graph. */
static void graphs_are_verified(void **unused)
{
    enum { RUNS = 3 };
    (void)unused;
    const product of = {
        .data = "both signs", .m = 9, .n = 11, .k = 20, .alpha = 1.5, .beta = -0.5, .seed = 4};
    problem p = problem_make(&of);
    run r = run_make("faithful", &p);
    cudaGraph_t graph = NULL;
    cudaGraphExec_t executable = NULL;
    verify(TD_VERIFY_ALL);
    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    multiply(&r, NULL);
    CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
    CHECK(td_record_samples(r.record).elements == 0, "compared while captured");
    CHECK_CUDA(cudaGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < RUNS; i++) CHECK_CUDA(cudaGraphLaunch(executable, stream));
    const td_sample_counts s = counts_of(&r);
    CHECK(s.elements == (unsigned long long)(RUNS * of.m * of.n), "%llu elements", s.elements);
    CHECK(s.outside == 0 && s.worst_ulps <= 0.5 && s.worst > 0, "%llu outside, %g ulps", s.outside,
          s.worst_ulps);
    CHECK_CUDA(cudaGraphExecDestroy(executable));
    CHECK_CUDA(cudaGraphDestroy(graph));
    run_free(&r);
    problem_free(&p);
}

/* ---- what is not finite ---- */

static void special_elements_have_no_error(void **unused)
{
    (void)unused;
    verify(TD_VERIFY_ALL);
    const product of = {
        .data = "both signs", .m = 6, .n = 5, .k = 30, .alpha = 2.0, .beta = 1.0, .seed = 6};
    for (const mode *m = NULL; (m = mode_after(m));) {
        problem p = problem_make(&of);
        *matrix_at(&p.a, 1, 3) = (double)NAN;
        *matrix_at(&p.a, 2, 3) = (double)INFINITY;
        *matrix_at(&p.b, 7, 4) = -(double)INFINITY;
        *matrix_at(&p.c, 4, 0) = (double)INFINITY;
        run r = run_make(m->name, &p);
        multiply(&r, NULL);
        const td_sample_counts s = counts_of(&r);
        /* Two rows, a column, and an element. */
        CHECK(s.special == 2 * 5 + 6 - 2 + 1 && s.outside == 0, "%s: %llu special, %llu outside",
              m->name, s.special, s.outside);
        CHECK(s.elements == 30, "%llu elements", s.elements);
        run_free(&r);
        problem_free(&p);
    }
}

/* alpha = 0: nobody looks at A and B, which are all NaN. */
static void operands_that_do_not_count_are_not_read(void **unused)
{
    (void)unused;
    verify(TD_VERIFY_ALL);
    const product of = {
        .data = "both signs", .m = 6, .n = 5, .k = 30, .alpha = 0.0, .beta = 0.7, .seed = 7};
    check_product("df", &of);
    check_product("faithful", &of);
}

static void what_is_no_product_stays_unverified(void **unused)
{
    (void)unused;
    const product of = {.data = "both signs", .m = 6, .n = 5, .k = 30, .alpha = 1.0, .seed = 8};
    problem p = problem_make(&of);
    run r = run_make("fp64", &p);
    td_sampling sampling = {0};
    verify(0);
    multiply(&r, NULL);
    verify(TD_VERIFY_ALL);
    td_sampling_begin(&sampling, &options, &r.gemm, &r.promise, NULL, r.record);
    td_sampling_end(&sampling, true);
    td_sampling_begin(&sampling, &options, &r.gemm, &r.promise, td_device_current(), r.record);
    td_sampling_end(&sampling, false); /* C is not what was asked for */
    r.gemm.kind = TD_LU_FACTOR;
    td_sampling_begin(&sampling, &options, &r.gemm, &r.promise, td_device_current(), r.record);
    td_sampling_end(&sampling, true);
    CHECK(counts_of(&r).elements == 0, "%llu elements", counts_of(&r).elements);
    run_free(&r);
    problem_free(&p);
}

/* Each part of what nobody can judge stays so, and nothing of it counts as wrong. */
static void what_nobody_can_judge_is_not_judged(void **unused)
{
    (void)unused;
    verify(TD_VERIFY_ALL);
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
        run r = run_make(m->name, &p);
        multiply(&r, NULL);
        const td_sample_counts s = counts_of(&r);
        CHECK(s.outside == 0 && s.unjudged == 2 && s.elements == 4,
              "%s: %llu elements, %llu outside, %llu unjudged", m->name, s.elements, s.outside,
              s.unjudged);
        run_free(&r);
        problem_free(&p);
    }
}

/* Members whose C is one place have one result, of no matter which of them. What has a place of its
 * own is judged. */
static void check_shared(int64_t stride, unsigned long long least)
{
    const product of = {.data = "both signs", .m = 4, .n = 3, .k = 8, .alpha = 1.0, .seed = 13};
    problem p = problem_make(&of);
    run r = run_make("fp64", &p);
    r.gemm.batch = 2;
    r.gemm.a.stride = 1; /* other lines */
    r.gemm.c.stride = stride;
    r.gemm.m = 3;
    r.gemm.n = 2;
    multiply(&r, NULL);
    const td_sample_counts s = counts_of(&r);
    CHECK(s.outside == 0 && s.elements + s.unjudged == 12 && s.unjudged >= least,
          "stride %d: %llu elements, %llu outside, %llu unjudged", (int)stride, s.elements,
          s.outside, s.unjudged);
    run_free(&r);
    problem_free(&p);
}

static void members_in_one_place_are_not_judged(void **unused)
{
    (void)unused;
    verify(TD_VERIFY_ALL);
    check_shared(0, 1);
    check_shared(2, 1);
}

/* ---- faults ---- */

enum { BAD_ROW = 3, BAD_COL = 2 };

static double *bad_element(run *r)
{
    return (double *)r->gemm.c.data + BAD_ROW + BAD_COL * r->gemm.c.ld;
}

/* Wrong by 2^-30, */
static void spoil_a_little(run *r)
{
    double x;
    CHECK_CUDA(cudaStreamSynchronize(stream));
    CHECK_CUDA(cudaMemcpy(&x, bad_element(r), sizeof x, cudaMemcpyDeviceToHost));
    x *= 1.0 + 0x1p-30;
    CHECK_CUDA(cudaMemcpy(bad_element(r), &x, sizeof x, cudaMemcpyHostToDevice));
}

/* by one unit in the last place, */
static void spoil_by_a_unit(run *r)
{
    double x;
    CHECK_CUDA(cudaStreamSynchronize(stream));
    CHECK_CUDA(cudaMemcpy(&x, bad_element(r), sizeof x, cudaMemcpyDeviceToHost));
    x = nextafter(x, 1e300);
    CHECK_CUDA(cudaMemcpy(bad_element(r), &x, sizeof x, cudaMemcpyHostToDevice));
}

/* and no number. */
static void spoil_by_nan(run *r)
{
    const double nan = (double)NAN;
    CHECK_CUDA(cudaStreamSynchronize(stream));
    CHECK_CUDA(cudaMemcpy(bad_element(r), &nan, sizeof nan, cudaMemcpyHostToDevice));
}

/* Wrong by so many of 2^-1074, away from what it is: the exact element is within half of one, but
 * for what the mode may lose. */
static int spoilt_units;
static void spoil_by_least_units(run *r)
{
    double x;
    CHECK_CUDA(cudaStreamSynchronize(stream));
    CHECK_CUDA(cudaMemcpy(&x, bad_element(r), sizeof x, cudaMemcpyDeviceToHost));
    x += 2.0 * spoilt_units * 0x1p-1074;
    CHECK_CUDA(cudaMemcpy(bad_element(r), &x, sizeof x, cudaMemcpyHostToDevice));
}

static void check_spoiled(const char *mode, void (*spoil)(run *r), unsigned long long outside)
{
    const product of = {
        .data = "uniform", .op_a = TANDEM_OP_T, .m = 6, .n = 5, .k = 30, .alpha = 1.0, .seed = 9};
    problem p = problem_make(&of);
    run r = run_make(mode, &p);
    multiply(&r, spoil);
    const td_sample_counts s = counts_of(&r);
    CHECK(s.elements == 30 && s.outside == outside, "%s: %llu elements, %llu outside, worst %g",
          mode, s.elements, s.outside, s.worst);
    run_free(&r);
    problem_free(&p);
}

static void wrong_elements_are_found_and_said_once(void **unused)
{
    (void)unused;
    verify(TD_VERIFY_ALL);
    check_spoiled("faithful", spoil_by_a_unit, 1);
    check_spoiled("df", spoil_by_a_unit, 0);
    check_spoiled("df", spoil_a_little, 1);
    check_spoiled("fp64", spoil_by_nan, 1);
    check_spoiled("ozaki2:6", spoil_a_little, 0); /* which promises nothing */

    char *log = test_read_file(log_path), *first = strstr(log, "element (3, 2) of C is off by ");
    CHECK(first, "the log is: %s", log);
    CHECK(strstr(first, "the mode promises 0.00e+00 and 5.00e-01"), "the log is: %s", log);
    CHECK(!strstr(first + 1, "element ("), "said again: %s", log);
}

/* The row and column make the element again, by exact sums of the reference's. */
static void the_first_row_and_column_are_kept(void **unused)
{
    char path[128];
    double a[30], b[30], after = 0.0, exact = 0.0;
    (void)unused;
    snprintf(path, sizeof path, "%s/verify-%ld.txt", folder, (long)getpid());
    const char *text = test_read_file(path);
    CHECK(strstr(text, "element (3, 2) of C"), "%s", text);
    CHECK(strstr(text, "30 of 30 terms"), "%s", text);
    const char *value = strstr(text, "# C after ");
    CHECK(value && sscanf(value, "# C after %lf", &after) == 1, "%s", text);
    int terms = 0;
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (*line && *line != '#' && terms < 30 &&
            sscanf(line, "%lf %lf", &a[terms], &b[terms]) == 2)
            terms++;
    CHECK(terms == 30, "%d terms: %s", terms, text);
    const ref_gemm one = {.m = 1,
                          .n = 1,
                          .k = 30,
                          .alpha = 1.0,
                          .a = a,
                          .b = b,
                          .c = &exact,
                          .lda = 1,
                          .ldb = 30,
                          .ldc = 1};
    ref_faithful_product(&one);
    CHECK(nextafter(exact, 1e300) == after, "the element is %a, the terms make %a", after, exact);
}

/* Elements far below 2^-1022, some of them 0. What the mode promises there holds for them, and what
 * is off by more than that does not. */
static void check_below_range(const mode *m, int k, double scale, double alpha, double beta)
{
    const product of = {.data = "both signs",
                        .m = 5,
                        .n = 4,
                        .k = k,
                        .alpha = alpha,
                        .beta = beta,
                        .seed = (uint64_t)k};
    problem p = problem_make(&of);
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i < of.m; i++) *matrix_at(&p.a, i, j) *= scale;
    for (int64_t j = 0; j < of.n; j++)
        for (int64_t i = 0; i < of.m; i++) *matrix_at(&p.c, i, j) *= scale;
    for (int spoils = 0; spoils < 2; spoils++) {
        run r = run_make(m->name, &p);
        const td_sample_loss *loss = &r.promise.bound.loss;
        spoilt_units = (int)ceil((loss->products * k + loss->sum) * fabs(alpha) / 2.0 +
                                 loss->element / 2.0 + 1.0);
        const bool is_promised = isfinite(r.promise.bound.relative);
        multiply(&r, spoils ? spoil_by_least_units : NULL);
        const td_sample_counts s = counts_of(&r);
        CHECK(s.elements == 20 && s.outside == (spoils && is_promised ? 1 : 0),
              "%s: k %d scale %g alpha %g beta %g, %s: %llu outside, worst %g and %g units",
              m->name, k, scale, alpha, beta, spoils ? "spoilt" : "as it is", s.outside, s.worst,
              s.worst_ulps);
        run_free(&r);
    }
    problem_free(&p);
}

static void what_is_promised_below_the_range_is_held(void **unused)
{
    (void)unused;
    verify(TD_VERIFY_ALL);
    for (const mode *m = NULL; (m = mode_after(m));)
        for (int i = 0; i < (test_is_brief() ? 2 : 8); i++)
            check_below_range(m, i % 2 ? 4 : 60, i & 2 ? 0x1p-1070 : 0x1p-1060, i & 4 ? 3.0 : 1.0,
                              i % 3 ? 0.0 : 0.75);
}

static int set_up(void **unused)
{
    (void)unused;
    td_options_set_defaults(&options);
    options.verify = TD_VERIFY_ALL;
    CHECK(mkdtemp(folder), "no folder");
    snprintf(log_path, sizeof log_path, "%s/log", folder);
    CHECK(td_options_set(&options, TD_OPTION_VERIFY_DUMP, "dump", folder, TD_ORIGIN_CALL), "dump");
    td_failures_open(&options);
    td_log_open(TD_LOG_WARN, log_path);
    td_report_open(&options, "test");
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    char path[128];
    CHECK_CUDA(cudaStreamDestroy(stream));
    device_check_clean("samples");
    snprintf(path, sizeof path, "%s/verify-%ld.txt", folder, (long)getpid());
    unlink(path);
    unlink(log_path);
    rmdir(folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes_keep_what_they_promise),
        cmocka_unit_test(blocks_share_long_sums),
        cmocka_unit_test(blocks_share_special_sums),
        cmocka_unit_test(a_sample_is_as_large_as_asked),
        cmocka_unit_test(batches_are_verified),
        cmocka_unit_test(triangles_are_verified),
        cmocka_unit_test(graphs_are_verified),
        cmocka_unit_test(special_elements_have_no_error),
        cmocka_unit_test(operands_that_do_not_count_are_not_read),
        cmocka_unit_test(what_is_no_product_stays_unverified),
        cmocka_unit_test(what_nobody_can_judge_is_not_judged),
        cmocka_unit_test(members_in_one_place_are_not_judged),
        cmocka_unit_test(wrong_elements_are_found_and_said_once),
        cmocka_unit_test(the_first_row_and_column_are_kept),
        cmocka_unit_test(what_is_promised_below_the_range_is_held),
    };
    device_require();
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
