#include "sampled.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/engines/engine.h"
#include "lib/engines/factor/lu.h"
#include "lib/verify/failures.h"
#include "lib/routine/lower.h"
#include "lib/engines/solve/solve.h"
#include "lib/report/report_internal.h"
#include "tests/support/test.h"
#include "tests/kernels/support/device.h"

const mode *sampled_mode;
int sampled_round;
int64_t sampled_block_rows;
td_options sampled_options;
cudaStream_t sampled_stream;
char sampled_log[64], sampled_file[64];
static char folder[] = "/tmp/tandem-sampled-XXXXXX";

/* ---- calls ---- */

static td_run_status enqueue(const td_problem *p, const td_decision *d)
{
    const size_t limit = td_device_current()->workspace_bytes;
    const td_solve_products by = {d->engine, d->parameter, d->cut};
    td_product product;
    const td_factor_products with = {d->engine, d->parameter, d->cut, td_lu_cut_of(p)};
    if (p->kind == TD_FACTOR_LU) return td_factor_lu(p, &with, td_device_current(), limit, NULL);
    if (td_problem_is_solve(p)) return td_solve_run(p, &by, td_device_current(), limit, NULL);
    CHECK(td_lower(p, &product), "no product");
    return td_engine_run(d->engine, &product, d->parameter, td_device_current(), limit, NULL);
}

static td_decision decide(const mode *tested)
{
    td_decision d = {.text = tested->name, .cut = {sampled_block_rows, 0}};
    d.engine = td_engine_parse(tested->name, &d.parameter);
    CHECK(d.engine, "no mode %s", tested->name);
    d.parameter.prices = tested->prices;
    return d;
}

/* Lines are told apart by k. */
static td_record *new_record(const td_promise *promise)
{
    static int64_t lines;
    const td_report_key key = {.mode = "mode", .k = ++lines, .bound = promise->bound};
    td_record *record = td_report_find(&key);
    CHECK(record, "no record");
    return record;
}

sampled_call sampled_call_of(const mode *tested, const td_problem *p)
{
    sampled_call c = {.decision = decide(tested)};
    td_question q;
    td_ask(TD_ENTRY_cublasDgemm_v2, p, &q);
    c.promise = td_promised(&q, &c.decision);
    c.record = new_record(&c.promise);
    return c;
}

/* The call on the stream, verified as the options say. */
static void enqueue_verified(const sampled_call *c, const td_problem *p, const meanwhile *then)
{
    td_sampling sampling = {0};
    td_question q;
    td_ask(TD_ENTRY_cublasDgemm_v2, p, &q);
    td_sampling_begin(&sampling, &sampled_options, &q, &c->promise, td_device_current(), c->record);
    CHECK(enqueue(p, &c->decision) == TD_RUN_DONE, "%s failed", c->decision.text);
    if (then->spoil) {
        CHECK_CUDA(cudaStreamSynchronize(sampled_stream));
        then->spoil(p, then->of);
    }
    td_sampling_end(&sampling, true);
}

td_sample_counts sampled_counts(const sampled_call *c)
{
    CHECK_CUDA(cudaStreamSynchronize(sampled_stream));
    return td_record_samples(c->record);
}

td_sample_counts sampled_run_once(const sampled_call *c, const td_problem *p, const meanwhile *then)
{
    enqueue_verified(c, p, then);
    return sampled_counts(c);
}

td_sample_counts sampled_run_captured(const sampled_call *c, const td_problem *p, int runs)
{
    CHECK_CUDA(cudaStreamBeginCapture(sampled_stream, cudaStreamCaptureModeGlobal));
    enqueue_verified(c, p, &(meanwhile){NULL, NULL});
    cudaGraphExec_t runnable = device_end_capture(sampled_stream);
    CHECK(td_record_samples(c->record).elements == 0, "compared while captured");
    for (int i = 0; i < runs; i++) CHECK_CUDA(cudaGraphLaunch(runnable, sampled_stream));
    CHECK_CUDA(cudaStreamSynchronize(sampled_stream));
    CHECK_CUDA(cudaGraphExecDestroy(runnable));
    return sampled_counts(c);
}

td_sample_counts sampled_run(const td_problem *p, const meanwhile *then, td_promise *promise)
{
    const sampled_call c = sampled_call_of(sampled_mode, p);
    *promise = c.promise;
    return sampled_run_once(&c, p, then);
}

td_sample_counts sampled_run_in_graph(const td_problem *p, int runs)
{
    const sampled_call c = sampled_call_of(sampled_mode, p);
    return sampled_run_captured(&c, p, runs);
}

static double *part_at(const td_problem *p, const fault *f)
{
    const td_matrix *const x = td_problem_result(p);
    return (double *)x->data + (f->row + f->col * x->ld) * parts_of(p->type) + f->part;
}

void add_fault(const td_problem *p, const void *of)
{
    const fault *const f = of;
    double x;
    CHECK_CUDA(cudaMemcpy(&x, part_at(p, f), sizeof x, cudaMemcpyDeviceToHost));
    x += f->delta;
    device_write(part_at(p, f), &x, sizeof x);
}

bool promises(const td_promise *promise) { return isfinite(promise->bound.relative); }

bool sampled_stands_for_others(void)
{
    return mode_stands_for_others(sampled_mode) || sampled_mode->is_binary64;
}

bool sampled_next_mode(void)
{
    do sampled_mode = mode_after(sampled_mode);
    while (sampled_mode && test_is_brief() && !sampled_stands_for_others());
    return sampled_mode != NULL;
}

/* ---- what errors are ---- */

quad magnitude(quad x) { return x < 0 ? -x : x; }

void add_product(quad_sum *s, number a, number b)
{
    const quad ar = creal(a), ai = cimag(a), br = creal(b), bi = cimag(b);
    s->re += ar * br - ai * bi;
    s->im += ar * bi + ai * br;
    s->size_re += magnitude(ar * br) + magnitude(ai * bi);
    s->size_im += magnitude(ar * bi) + magnitude(ai * br);
}

int parts_of(td_type type) { return type == TD_COMPLEX_BINARY64 ? 2 : 1; }

void add_error(errors *e, double error)
{
    e->elements++;
    e->sum += error;
    if (!(error <= e->worst)) e->worst = error;
}

void sampled_near(double got, double want, double more, const char *what, const char *name,
                  const char *text)
{
    CHECK(fabs(got - want) <= 0x1p-20 * want + more, "%s: %s is %g, by the reference %g: %s", name,
          what, got, want, text);
}

void check_errors(const td_sample_counts *s, const errors *want, const char *text)
{
    CHECK(s->elements == want->elements, "%s: %llu elements for %llu: %s", sampled_mode->name,
          s->elements, want->elements, text);
    if (want->worst != want->worst || s->special) return;
    sampled_near(s->worst, want->worst, 0x1p-100, "the worst error", sampled_mode->name, text);
    sampled_near(s->sum, want->sum, 0x1p-100, "the sum of errors", sampled_mode->name, text);
}

void check_counts(const td_sample_counts *s, const errors *want, const td_promise *promise,
                  const char *text)
{
    CHECK(s->outside == 0, "%s: %llu beyond %g and %g ulps, the worst %g and %g: %s",
          sampled_mode->name, s->outside, promise->bound.relative, promise->bound.ulps, s->worst,
          s->worst_ulps, text);
    check_errors(s, want, text);
}

/* ---- set-up ---- */

int sampled_set_up(void **unused)
{
    (void)unused;
    td_options_set_defaults(&sampled_options);
    CHECK(mkdtemp(folder), "no folder");
    snprintf(sampled_log, sizeof sampled_log, "%s/log", folder);
    snprintf(sampled_file, sizeof sampled_file, "%s/verify-%ld.txt", folder, (long)getpid());
    CHECK(td_options_set(&sampled_options, TD_OPTION_VERIFY_DUMP, "dump", folder, TD_ORIGIN_CALL),
          "dump");
    td_failures_open(&sampled_options); /* as of a program that verifies in regions alone */
    sampled_options.verify = TD_VERIFY_ALL;
    td_log_open(TD_LOG_WARN, sampled_log);
    td_report_open(&sampled_options, "test");
    CHECK_CUDA(cudaStreamCreateWithFlags(&sampled_stream, cudaStreamNonBlocking));
    return 0;
}

int sampled_tear_down(void **unused)
{
    (void)unused;
    CHECK_CUDA(cudaStreamDestroy(sampled_stream));
    device_check_clean("samples");
    unlink(sampled_file);
    unlink(sampled_log);
    rmdir(folder);
    return 0;
}
