#include "sampling.h"

#include <limits.h>
#include <math.h>
#include <stdatomic.h>

#include "../routine/real.h"
#include "../engines/engine.h"
#include "../engines/tiler.h"
#include "failures.h"

/* True if kernels can find the call's operands and elements. */
static bool can_measure(const td_problem *p, const td_device *device)
{
    const td_matrix *result = td_problem_result(p);
    const void *written = result->array ? (const void *)result->array : result->data;
    return (p->type == TD_BINARY64 || p->type == TD_COMPLEX_BINARY64) && td_problem_is_valid(p) &&
           !td_problem_is_empty(p) && td_device_reaches(device, written);
}

/* True if what is kept of the call, before anything else looks at its operands, is there. */
static bool are_operands_there(const td_question *q, const td_product *product)
{
    const td_run_status status =
        q->method->has_residuals ? td_engine_check(q->called) : td_engine_check_product(product);
    return status == TD_RUN_DONE || status == TD_RUN_UNALIGNED;
}

/* Places that are to be measured; 0: none, or more than can be numbered. */
static int64_t count_of(const td_options *o, const td_product *product)
{
    const double most = 0x1p60,
                 all = (double)product->m * (double)product->n * (double)product->batch;
    if (all > most || product->m > INT_MAX || product->n > INT_MAX || product->k > TD_SAMPLE_MOST_K)
        return 0;
    return td_smaller(o->verify, product->m * product->n * product->batch);
}

/* Rows of A are where its factors have them. Without positive minors there is no factor. */
static void set_factors(td_sample *s, const td_problem *called)
{
    if (called->kind == TD_FACTOR_CHOLESKY) s->info = called->info;
    if (called->kind != TD_FACTOR_LU) return;
    s->is_factored = true;
    s->pivots = called->pivots;
    s->has_wide_pivots = called->has_wide_pivots;
    s->exchanges = s->k;
}

/* The factor that a triangular product in place writes over; a solve's X is no operand. */
static int kept_of(const td_product *product, bool is_solve)
{
    if (is_solve || product->routine != TD_TRIANGULAR_PRODUCT) return -1;
    return td_is_in_place(product, 0) ? 0 : td_is_in_place(product, 1) ? 1 : -1;
}

/* Without terms alpha multiplies nothing, and may be NaN. */
static td_scalar alpha_of(const td_product *product)
{
    return product->k == 0 ? td_scalar_of(product->type, 0.0) : product->alpha;
}

static td_sample sample_of(const td_product *product, bool is_solve, int64_t count)
{
    static atomic_ullong calls;
    const bool has_addend = td_product_has_addend(product);
    td_sample s = {
        .joined = td_product_has_rest(product) ? 2 : 1,
        .is_complex = product->type == TD_COMPLEX_BINARY64,
        .is_solve = is_solve,
        .alpha_is_real = product->alpha_is_real,
        .beta_is_real = product->beta_is_real,
        .adds_mirror = product->adds_mirror,
        .has_real_diagonal = product->has_real_diagonal,
        .alpha = alpha_of(product),
        .beta = product->beta,
        .c = product->c,
        .old = has_addend ? product->addend : product->c,
        .c_in_rows = product->c_in_rows,
        .old_in_rows = has_addend ? product->addend_in_rows : product->c_in_rows,
        .region = td_product_region(product),
        .m = product->m,
        .n = product->n,
        .k = product->k,
        .batch = product->batch,
        .count = count,
        .seed = atomic_fetch_add(&calls, 1) << 32,
        .kept = kept_of(product, is_solve),
    };
    for (int which = 0; which < 2; which++)
        for (int part = 0; part < s.joined; part++)
            s.factor[which][part] = td_folded_of(product, which, part);
    return s;
}

/* ---- room ---- */

/* Room for elements that blocks share, for what is to be lost and is kept: lines, and elements, and
 * for rows that factors have exchanged. */
typedef struct {
    size_t shares, lines, before, rows;
} room;

/* False if it cannot be counted. */
static bool count_room(const td_sample *s, bool has_before, room *r)
{
    const size_t number = (size_t)td_sample_parts(s) * sizeof(double);
    const int64_t kept = s->kept < 0 ? 0 : td_sample_kept_lines(s);
    if ((double)kept * (double)s->k > 0x1p50 || s->count > INT64_C(1) << 50) return false;
    *r = (room){.shares = td_sample_share_bytes(s),
                .lines = (size_t)(kept * s->k) * number,
                .before = has_before ? (size_t)s->count * number : 0,
                .rows = s->is_factored ? (size_t)s->count * sizeof *s->rows : 0};
    return true;
}

/* Keeps what the call writes over. Not in memory that the caller has lent, which the call itself
 * may use. */
static bool save(td_sampling *s, td_device *device, const td_product *p)
{
    room r;
    const bool has_before = s->sample.is_solve || td_product_has_beta(p);
    if (!count_room(&s->sample, has_before, &r)) return false;
    size_t bytes = r.shares + r.lines + r.before + r.rows;
    if (bytes == 0) return true;
    if (td_workspace_acquire_all(&s->workspace, device, p->stream, bytes) != TD_RUN_DONE)
        return false;
    char *const memory = s->workspace.memory;
    if (r.shares) s->sample.shares = memory;
    if (r.lines) s->sample.lines = (double *)(memory + r.shares);
    if (r.before) s->sample.before = (double *)(memory + r.shares + r.lines);
    if (r.rows) s->sample.rows = (int64_t *)(memory + r.shares + r.lines + r.before);
    if (td_cuda_ok(td_sample_save_run(&s->sample, p->stream))) return true;
    td_workspace_release(&s->workspace, p->stream);
    return false;
}

/* ---- calls ---- */

/* A program whose elements the host device verifies for minutes seems to hang: that is said once,
 * before the call with which they come to take more than some seconds. */
static void warn_of_slow_device(const td_sample *s)
{
#ifdef TD_HOSTGPU
    enum { TERMS_A_SECOND = 2000000, PATIENCE_SECONDS = 5 };
    static atomic_ullong verified;
    const double products = (double)s->joined * (s->is_complex ? 4.0 : 1.0),
                 added = fmin((double)s->count * (double)s->k * products, 0x1p50);
    const double terms = added + (double)atomic_fetch_add(&verified, (unsigned long long)added);
    if (terms > (double)TERMS_A_SECOND * PATIENCE_SECONDS)
        TD_LOG_ONCE(TD_LOG_WARN,
                    "verifying takes the host device about %.0f s with the next product; "
                    "TANDEM_VERIFY=sample:N looks at N elements of each (said once)",
                    terms / TERMS_A_SECOND);
#else
    (void)s;
#endif
}

void td_sampling_begin(td_sampling *s, const td_options *o, const td_question *q,
                       const td_promise *promise, td_device *device, td_record *record)
{
    const td_problem *p = q->called;
    const td_method *method = q->method;
    const unsigned slot = record ? td_record_number(record) : TD_SAMPLE_SLOTS;
    if (!o->verify || !device || slot >= TD_SAMPLE_SLOTS) return;
    td_failures_watch(device);
    td_failures_look();
    td_product product;
    const bool is_product =
        method && method->sample && can_measure(p, device) && method->sample(q, &product);
    const int64_t count = is_product ? count_of(o, &product) : 0;
    if (count == 0 || !are_operands_there(q, &product) ||
        !td_device_load(device, td_sample_prepare, 0))
        return;
    s->sample = sample_of(&product, method->has_residuals, count);
    set_factors(&s->sample, p);
    s->sample.bound = promise->bound;
    s->sample.of_scalars = promise->of_scalars;
    s->sample.is_native = promise->is_native;
    s->sample.slot = slot;
    s->sample.counts = &device->device_samples[slot];
    s->sample.failure = device->mapped_failure;
    s->sample.failed_lines = td_failures_keep_lines(device) && td_device_keep_lines(device)
                                 ? device->mapped_lines
                                 : NULL;
    s->stream = p->stream;
    if (!save(s, device, &product)) return;
    warn_of_slow_device(&s->sample);
    s->mapped = &device->mapped_samples[slot];
    td_report_add_samples(record, &device->samples[slot]);
}

void td_sampling_end(td_sampling *s, bool is_done)
{
    if (!s->mapped) return;
    if (is_done && td_cuda_ok(td_sample_check_run(&s->sample, s->stream)))
        td_cuda_ok(td_sample_move_run(s->sample.counts, s->mapped, s->stream));
    if (s->workspace.memory) td_workspace_release(&s->workspace, s->stream);
    s->mapped = NULL;
}
