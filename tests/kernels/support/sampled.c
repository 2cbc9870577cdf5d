#include "sampled.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../lib/call/failures.h"
#include "../../../lib/call/lower.h"
#include "../../../lib/engines/solve/solve.h"
#include "../../../lib/report/report_internal.h"
#include "../../support/test.h"
#include "device.h"

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
    td_problem product;
    if (td_problem_is_solve(p)) return td_solve_run(p, &by, td_device_current(), limit, NULL);
    return td_engine_run(d->engine, td_lower(p, &product) ? &product : p, d->parameter,
                         td_device_current(), limit, NULL);
}

static td_decision decide(const char *name)
{
    td_decision d = {.text = name, .cut = {sampled_block_rows, 0}};
    d.engine = td_engine_parse(name, &d.parameter);
    d.parameter.prices = sampled_mode->prices;
    return d;
}

/* Each call has a line of the report for itself: they are told apart by k. */
static td_record *new_record(const td_promise *promise)
{
    static int64_t lines;
    const td_report_key key = {.mode = "mode", .k = ++lines, .bound = promise->bound};
    td_record *record = td_report_find(&key);
    CHECK(record, "no record");
    return record;
}

/* The call on the stream, verified. */
static td_record *run(const td_problem *p, const meanwhile *then, td_promise *promise)
{
    td_sampling sampling = {0};
    const td_decision d = decide(sampled_mode->name);
    *promise = td_promised(&d, TD_ENTRY_cublasDgemm_v2, p);
    td_record *const record = new_record(promise);
    td_sampling_begin(&sampling, &sampled_options, p, promise, td_device_current(), record);
    CHECK(enqueue(p, &d) == TD_RUN_DONE, "%s failed", sampled_mode->name);
    if (then->spoil) {
        CHECK_CUDA(cudaStreamSynchronize(sampled_stream));
        then->spoil(p, then->of);
    }
    td_sampling_end(&sampling, true);
    return record;
}

static td_sample_counts counts_of(const td_record *record)
{
    CHECK_CUDA(cudaStreamSynchronize(sampled_stream));
    return td_record_samples(record);
}

td_sample_counts sampled_run(const td_problem *p, const meanwhile *then, td_promise *promise)
{
    return counts_of(run(p, then, promise));
}

td_sample_counts sampled_run_in_graph(const td_problem *p, int runs)
{
    cudaGraph_t graph;
    cudaGraphExec_t runnable;
    td_promise promise;
    CHECK_CUDA(cudaStreamBeginCapture(sampled_stream, cudaStreamCaptureModeThreadLocal));
    td_record *const record = run(p, &(meanwhile){NULL, NULL}, &promise);
    CHECK_CUDA(cudaStreamEndCapture(sampled_stream, &graph));
    CHECK(td_record_samples(record).elements == 0, "compared while captured");
    CHECK_CUDA(cudaGraphInstantiate(&runnable, graph, 0));
    for (int i = 0; i < runs; i++) CHECK_CUDA(cudaGraphLaunch(runnable, sampled_stream));
    CHECK_CUDA(cudaStreamSynchronize(sampled_stream));
    CHECK_CUDA(cudaGraphExecDestroy(runnable));
    CHECK_CUDA(cudaGraphDestroy(graph));
    return counts_of(record);
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
    CHECK_CUDA(cudaMemcpy(part_at(p, f), &x, sizeof x, cudaMemcpyHostToDevice));
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

static void check_near(double got, double want, const char *what, const char *text)
{
    CHECK(fabs(got - want) <= 0x1p-20 * want + 0x1p-100, "%s: %s is %g, by the reference %g: %s",
          sampled_mode->name, what, got, want, text);
}

void check_counts(const td_sample_counts *s, const errors *want, const td_promise *promise,
                  const char *text)
{
    CHECK(s->elements == want->elements, "%s: %llu elements for %llu: %s", sampled_mode->name,
          s->elements, want->elements, text);
    CHECK(s->outside == 0, "%s: %llu beyond %g and %g ulps, the worst %g and %g: %s",
          sampled_mode->name, s->outside, promise->bound.relative, promise->bound.ulps, s->worst,
          s->worst_ulps, text);
    if (want->worst != want->worst || s->special) return;
    check_near(s->worst, want->worst, "the worst error", text);
    check_near(s->sum, want->sum, "the sum of errors", text);
}

/* ---- set-up ---- */

int sampled_set_up(void **unused)
{
    (void)unused;
    td_options_set_defaults(&sampled_options);
    sampled_options.verify = TD_VERIFY_ALL;
    CHECK(mkdtemp(folder), "no folder");
    snprintf(sampled_log, sizeof sampled_log, "%s/log", folder);
    snprintf(sampled_file, sizeof sampled_file, "%s/verify-%ld.txt", folder, (long)getpid());
    CHECK(td_options_set(&sampled_options, TD_OPTION_VERIFY_DUMP, "dump", folder, TD_ORIGIN_CALL),
          "dump");
    td_failures_open(&sampled_options);
    td_log_open(TD_LOG_WARN, sampled_log);
    td_report_open(&sampled_options, "test");
    CHECK_CUDA(cudaStreamCreateWithFlags(&sampled_stream, cudaStreamNonBlocking));
    return 0;
}

int sampled_tear_down(void **unused)
{
    (void)unused;
    unlink(sampled_file);
    unlink(sampled_log);
    rmdir(folder);
    return 0;
}
