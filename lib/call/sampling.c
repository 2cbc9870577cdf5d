#include "sampling.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../engines/tiler.h"
#include "lower.h"
#include "../engines/real.h"
#include "../options/file.h"
#include "../report/number_text.h"

/* ---- failures ---- */

/* What kernels write in host memory; both stay for the life of the process, and can be read when
 * CUDA is gone. */
typedef struct {
    const volatile td_sample_failure *failure;
    const double *lines; /* NULL: not kept */
} place;
static place places[TD_MAX_DEVICES]; /* by number of the device */
static atomic_bool is_placed[TD_MAX_DEVICES];
static atomic_bool has_said;
static char folder[TD_PATH_BYTES]; /* TANDEM_VERIFY_DUMP, absolute; "": none */

/* One term of the sum a line. */
static void print_lines(FILE *out, const td_sample_failure *f, const double *lines,
                        const char *call)
{
    fprintf(out,
            "# %s\n# element (%lld, %lld) of C, counted from 0, of member %lld\n"
            "# alpha %s\n# beta %s\n# C before %s\n# C after %s\n"
            "# the row of op(A) and the column of op(B), %lld of %lld terms\n",
            call, (long long)f->row, (long long)f->col, (long long)f->member,
            td_number_exact(f->alpha).text, td_number_exact(f->beta).text,
            td_number_exact(f->before).text, td_number_exact(f->after).text, (long long)f->kept,
            (long long)f->k);
    for (int64_t l = 0; l < f->kept; l++)
        fprintf(out, "%s %s\n", td_number_exact(lines[l]).text,
                td_number_exact(lines[TD_SAMPLE_LINE + l]).text);
}

/* The file's content, which the caller frees; NULL if memory has run out. */
static char *compose(const td_sample_failure *f, const double *lines, const char *call,
                     size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    if (!out) return NULL;
    print_lines(out, f, lines, call);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

static void dump(const td_sample_failure *f, const double *lines, const char *call)
{
    char path[TD_PATH_BYTES + 32];
    size_t length = 0;
    char *text = compose(f, lines, call, &length);
    snprintf(path, sizeof path, "%s/verify-%ld.txt", folder, (long)getpid());
    if (text && td_file_replace(path, 0666, NULL, false, text, length, NULL))
        td_log(TD_LOG_ERROR, "its row of op(A) and column of op(B) are in '%s'", path);
    else
        td_log(TD_LOG_ERROR, "cannot write '%s' (%s)", path, td_file_reason(text ? errno : ENOMEM));
    free(text);
}

/* What the element is, beside what it may be. */
static void say(const td_sample_failure *f, const char *call)
{
    char where[128];
    snprintf(where, sizeof where, "element (%lld, %lld)%s", (long long)f->row, (long long)f->col,
             f->member ? " of a member of the batch" : "");
    if (isnan(f->error))
        td_log(TD_LOG_ERROR, "%s: %s of C is %s, and the product is not (said once)", call, where,
               td_number_short(f->after).text);
    else
        td_log(
            TD_LOG_ERROR,
            "%s: %s of C is off by %s of |A||B| and %s units in its last place; the mode promises "
            "%s and %s together (said once)",
            call, where, td_number_short(f->error).text, td_number_short(f->error_ulps).text,
            td_number_short(f->bound.relative).text, td_number_short(f->bound.ulps).text);
}

static void say_first(const place *of)
{
    char call[TD_CALL_TEXT];
    td_sample_failure f;
    if (!of->failure->is_ready || atomic_exchange(&has_said, true)) return;
    atomic_thread_fence(memory_order_acquire);
    memcpy(&f, (const void *)of->failure, sizeof f);
    if (!td_report_describe(f.slot, call)) snprintf(call, sizeof call, "a product");
    say(&f, call);
    if (folder[0] && of->lines) dump(&f, of->lines, call);
}

static void look_for_failures(void)
{
    for (int i = 0; i < TD_MAX_DEVICES && !atomic_load_explicit(&has_said, memory_order_relaxed);
         i++)
        if (atomic_load_explicit(&is_placed[i], memory_order_acquire)) say_first(&places[i]);
}

void td_sampling_open(const td_options *o)
{
    td_file_name name;
    if (o->verify_dump.text[0] &&
        !(td_file_name_set(&name, o->verify_dump.text) && td_file_name_path(&name, folder)))
        td_log(TD_LOG_ERROR, "TANDEM_VERIFY_DUMP is '%s' (%s); nothing will be kept there",
               o->verify_dump.text, td_file_reason(errno));
}

/* Under the lock, once for each device. */
static void add_place(td_device *device)
{
    static bool is_watched;
    if (!is_watched) (void)atexit(look_for_failures);
    is_watched = true;
    const bool keeps = folder[0] && td_device_keep_lines(device);
    places[device->ordinal] = (place){device->failure, keeps ? device->lines : NULL};
    atomic_store_explicit(&is_placed[device->ordinal], true, memory_order_release);
}

static void watch(td_device *device)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (atomic_load_explicit(&is_placed[device->ordinal], memory_order_acquire)) return;
    pthread_mutex_lock(&lock);
    if (!atomic_load(&is_placed[device->ordinal])) add_place(device);
    pthread_mutex_unlock(&lock);
}

/* ---- calls ---- */

/* Elements that are to be compared; 0: none, or more than can be numbered. */
static int64_t count_of(const td_options *o, const td_problem *p)
{
    const double most = 0x1p62, all = (double)p->m * (double)p->n * (double)p->batch;
    if (all > most || p->m > INT_MAX || p->n > INT_MAX || p->k > TD_SAMPLE_MOST_K) return 0;
    return td_smaller(o->verify, p->m * p->n * p->batch);
}

/* True if kernels can find the product's operands and elements. */
static bool can_measure(const td_problem *p, const td_device *device)
{
    const void *written = p->c.array ? (const void *)p->c.array : p->c.data;
    return p->type == TD_BINARY64 && td_problem_is_valid(p) && !td_problem_is_empty(p) &&
           td_device_reaches(device, written);
}

static td_sample sample_of(const td_problem *p, int64_t count)
{
    static atomic_ullong products;
    return (td_sample){
        .operand = {td_view_of(p, 0, 0, (int)p->m), td_view_of(p, 1, 0, (int)p->n)},
        .c = p->c,
        .region = td_problem_region(p),
        .alpha = p->alpha,
        .beta = p->beta,
        .m = p->m,
        .n = p->n,
        .batch = p->batch,
        .count = count,
        .seed = atomic_fetch_add(&products, 1) << 32,
    };
}

static size_t all_or_none(void *bytes, size_t limit)
{
    return *(const size_t *)bytes <= limit ? *(const size_t *)bytes : 0;
}

/* Makes room for what beta multiplies, which is kept, and for elements that blocks share. Not in
 * memory that the caller has lent, which the product itself may use. */
static bool save(td_sampling *s, td_device *device, const td_problem *p)
{
    td_problem own = *p;
    const bool has_before = p->beta.device || p->beta.value.binary64 != 0.0;
    const size_t shares = td_sample_share_bytes(s->sample.operand[0].k, s->sample.count);
    size_t bytes = shares + (has_before ? (size_t)s->sample.count * sizeof(double) : 0);
    own.lent = NULL;
    if (bytes == 0) return true;
    if (td_workspace_acquire(&s->workspace, device, &own, SIZE_MAX, all_or_none, &bytes) !=
        TD_RUN_DONE)
        return false;
    if (shares) s->sample.shares = s->workspace.memory;
    if (has_before) s->sample.before = (double *)((char *)s->workspace.memory + shares);
    if (td_cuda_ok(td_sample_save_run(&s->sample, p->stream))) return true;
    td_workspace_release(&s->workspace, p->stream);
    return false;
}

void td_sampling_begin(td_sampling *s, const td_options *o, const td_problem *p,
                       const td_sample_bound *bound, td_device *device, td_record *record)
{
    const unsigned slot = record ? td_record_number(record) : TD_SAMPLE_SLOTS;
    if (!o->verify || !device || slot >= TD_SAMPLE_SLOTS) return;
    watch(device);
    look_for_failures();
    td_problem product;
    const bool is_product =
        td_lower(p, &product) && can_measure(p, device) && !td_is_folded(&product);
    const int64_t count = is_product ? count_of(o, &product) : 0;
    if (count == 0 || !td_device_load(device, td_sample_prepare, 0)) return;
    s->sample = sample_of(&product, count);
    s->sample.bound = *bound;
    s->sample.slot = slot;
    s->sample.counts = &device->device_samples[slot];
    s->sample.failure = device->mapped_failure;
    s->sample.lines =
        places[device->ordinal].lines && td_device_keep_lines(device) ? device->mapped_lines : NULL;
    s->stream = p->stream;
    if (!save(s, device, p)) return;
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
