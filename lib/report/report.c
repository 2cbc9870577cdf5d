#define _GNU_SOURCE 1
#include "report_internal.h"

#include <errno.h>
#include <pthread.h>
#include <search.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../loader/loaded.h"
#include "../options/log.h"

static atomic_bool is_on;
static td_report report;
static td_file_name file_name; /* as the user gave it */
static td_report_file file;
static td_report_stderr kept_stderr;
static int said_error; /* errno of the last failure to write the file that was said; 0: none */
static bool is_forked; /* this process is a fork() of the one that opened the report, and ... */
static bool is_moved;  /* ... has not looked yet where its own goes */
static _Atomic(int64_t)
    due; /* when a product writes the report, in milliseconds of the monotonic clock */

/* Held while the report is written; taken before `lock`. */
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

/* Guards all of the following, the list of records and their counters; not the counts
 * themselves. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *tree; /* all records, for tsearch(3) */
static unsigned record_count;

/* False where the report is kept for TANDEM_VERIFY alone. */
static bool has_destination(void) { return report.options->report.text[0] != '\0'; }

static bool goes_to_stderr(void) { return strcmp(report.options->report.text, "-") == 0; }

/* is_new: the name counts from where the process is now; false after a fork, which keeps that. */
static bool open_destination(bool is_new)
{
    if (goes_to_stderr()) {
        if (is_new) td_report_stderr_keep(&kept_stderr);
        return true;
    }
    if ((!is_new || td_file_name_set(&file_name, report.options->report.text)) &&
        td_report_file_open(&file, &file_name)) {
        td_report_file_share(&file, report.run, &report.start);
        return true;
    }
    td_log(TD_LOG_ERROR, "cannot write the report file '%s' (%s); there will be no report",
           report.options->report.text, td_file_reason(errno));
    return false;
}

static void drop_list(td_counted **list)
{
    while (*list) {
        td_counted *first = *list;
        *list = first->next;
        free(first);
    }
}

static void drop_counters(td_record *record)
{
    drop_list(&record->counters);
    drop_list(&record->samples);
}

static void free_record(void *record)
{
    drop_counters(record);
    free(record);
}

/* A forked child is a process of its own: its counts start at zero. It must not touch the counters
 * in device memory, which the child does not have. */
static void start_again_in_child(void)
{
    is_forked = is_moved = true;
    report.is_complete = false;
    clock_gettime(CLOCK_REALTIME, &report.start);
    atomic_store(&due, 0);
    report.unlisted = 0;
    for (td_record *record = report.first; record; record = record->next) {
        record->count = record->timed = record->expected = record->nanoseconds = 0;
        drop_counters(record);
    }
}

void td_report_before_fork(void)
{
    pthread_mutex_lock(&writing);
    pthread_mutex_lock(&lock);
}

void td_report_after_fork(bool is_child)
{
    if (is_child) start_again_in_child();
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&writing);
}

void td_report_open(const td_options *o, const char *version)
{
    report.options = o;
    report.version = version;
    report.last = &report.first;
    report.is_complete = is_forked = is_moved = false;
    said_error = 0;
    atomic_store(&due, 0);
    clock_gettime(CLOCK_REALTIME, &report.start);
    if (o->report.text[0]) {
        td_report_run_find(o->report.text, report.run);
        if (!open_destination(true)) return;
    }
    if (o->report.text[0] || o->verify) td_report_count_calls();
}

void td_report_count_calls(void) { atomic_store_explicit(&is_on, true, memory_order_release); }

bool td_report_is_on(void) { return atomic_load_explicit(&is_on, memory_order_relaxed); }

/* The first text stays. */
static void set_text(char *known, size_t bytes, const char *text)
{
    pthread_mutex_lock(&lock);
    if (!known[0]) snprintf(known, bytes, "%s", text);
    pthread_mutex_unlock(&lock);
}

static bool has_place(int number) { return number >= 0 && number < TD_REPORT_DEVICES; }

void td_report_set_device(int number, const char *name)
{
    if (has_place(number)) set_text(report.devices[number], sizeof report.devices[0], name);
}

void td_report_set_figures(int number, const char *figures)
{
    if (has_place(number)) set_text(report.figures[number], sizeof report.figures[0], figures);
}

void td_report_set_host_device(void) { report.is_host_device = true; }

td_report_key td_report_key_of(td_entry entry, const td_problem *p, const td_decision *decision,
                               td_sample_bound bound, int device)
{
    return (td_report_key){
        .entry = entry,
        .mode = decision->text,
        .reason = decision->reason,
        .choice = decision->choice,
        .forecast = decision->forecast,
        .bound = bound,
        .device = device,
        .type = p->type,
        .op_a = p->op_a,
        .op_b = p->op_b,
        .is_conjugate_a = p->form_a.is_conjugate,
        .is_conjugate_b = p->form_b.is_conjugate,
        .kind = p->kind,
        .side = p->side,
        .triangle = p->triangle,
        .diagonal = p->diagonal,
        .m = p->m,
        .n = p->n,
        .k = p->k,
        .batch = p->batch,
        .caller = report.options && report.options->sites ? p->caller : NULL,
    };
}

static int compare_texts(const char *a, const char *b)
{
    if (a == b) return 0;
    return a && b ? strcmp(a, b) : a ? 1 : -1;
}

/* Any order, as tsearch(3) wants one. */
static int compare_keys(const void *left, const void *right)
{
    const td_report_key *a = left, *b = right;
    const int64_t numbers[][2] = {
        {a->entry, b->entry},
        {a->m, b->m},
        {a->n, b->n},
        {a->k, b->k},
        {a->op_a, b->op_a},
        {a->op_b, b->op_b},
        {a->is_conjugate_a, b->is_conjugate_a},
        {a->is_conjugate_b, b->is_conjugate_b},
        {a->batch, b->batch},
        {a->type, b->type},
        {a->kind, b->kind},
        {a->side, b->side},
        {a->device, b->device},
        {a->triangle, b->triangle},
        {a->diagonal, b->diagonal},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i][0] != numbers[i][1]) return numbers[i][0] < numbers[i][1] ? -1 : 1;
    if (a->caller != b->caller) return (uintptr_t)a->caller < (uintptr_t)b->caller ? -1 : 1;
    const int mode = compare_texts(a->mode, b->mode);
    return mode ? mode : compare_texts(a->reason, b->reason);
}

static td_record *add_record(const td_report_key *key, const td_site *site)
{
    td_record *record = calloc(1, sizeof *record);
    if (!record) return NULL;
    record->key = *key;
    record->number = record_count;
    record->site = site;
    if (!tsearch(record, &tree, compare_keys)) {
        free(record);
        return NULL;
    }
    *report.last = record;
    report.last = &record->next;
    record_count++;
    return record;
}

/* The key's record; if it is new and is_added, one is made. */
static td_record *look_for(const td_report_key *key, bool is_added, const td_site *site)
{
    pthread_mutex_lock(&lock);
    td_record *const *found = tfind(key, &tree, compare_keys);
    td_record *record = found ? *found : is_added ? add_record(key, site) : NULL;
    pthread_mutex_unlock(&lock);
    return record;
}

td_record *td_report_find(const td_report_key *key)
{
    _Static_assert(offsetof(td_record, key) == 0, "a record is found by its key");
    if (!atomic_load_explicit(&is_on, memory_order_relaxed)) return NULL;
    td_record *record = look_for(key, !key->caller, NULL);
    if (!record && key->caller) record = look_for(key, true, td_site_find(key->caller));
    if (!record) atomic_fetch_add_explicit(&report.unlisted, 1, memory_order_relaxed);
    return record;
}

bool td_report_wants_native(const td_record *record)
{
    return record && !atomic_load_explicit(&record->has_native, memory_order_relaxed);
}

void td_report_set_native(td_record *record, double seconds)
{
    atomic_store_explicit(&record->native_seconds, seconds, memory_order_relaxed);
    atomic_store_explicit(&record->has_native, true, memory_order_release);
}

bool td_report_describe(unsigned number, char text[TD_CALL_TEXT])
{
    pthread_mutex_lock(&lock);
    const td_record *record = report.first;
    while (record && record->number != number) record = record->next;
    if (record) td_report_print_call(&record->key, text);
    pthread_mutex_unlock(&lock);
    return record != NULL;
}

unsigned td_record_number(const td_record *record) { return record->number; }

bool td_report_wants_time(const td_record *record)
{
    enum { ALWAYS_TIMED = 16, TIMED_ONE_IN = 16 };
    if (!record) return false;
    const unsigned long long count = atomic_load_explicit(&record->count, memory_order_relaxed);
    return count < ALWAYS_TIMED || count % TIMED_ONE_IN == 0;
}

void td_report_count(td_record *record)
{
    if (record) atomic_fetch_add_explicit(&record->count, 1, memory_order_relaxed);
}

unsigned long long td_nanoseconds(double seconds)
{
    return seconds > 0.0 ? (unsigned long long)(seconds * 1e9 + 0.5) : 0;
}

void td_report_expect_time(td_record *record)
{
    if (record) atomic_fetch_add_explicit(&record->expected, 1, memory_order_relaxed);
}

void td_report_add_time(td_record *record, double seconds)
{
    /* no call takes 30 years: a broken clock, as is a negative or NaN time */
    const double longest = 1e9;
    if (!record || !(seconds >= 0 && seconds < longest)) return;
    atomic_fetch_add_explicit(&record->nanoseconds, td_nanoseconds(seconds), memory_order_relaxed);
    atomic_fetch_add_explicit(&record->timed, 1, memory_order_relaxed);
}

/* Adds counts to a list that does not have them. */
static void add_counts(td_counted **list, const volatile void *counts)
{
    pthread_mutex_lock(&lock);
    const td_counted *known = *list;
    while (known && known->counts != counts) known = known->next;
    td_counted *added = known ? NULL : malloc(sizeof *added);
    if (added) {
        *added = (td_counted){counts, *list};
        *list = added;
    }
    pthread_mutex_unlock(&lock);
}

void td_report_add_counters(td_record *record, const volatile td_counters *counters)
{
    if (record) add_counts(&record->counters, counters);
}

void td_report_add_samples(td_record *record, const volatile td_sample_counts *samples)
{
    if (record) add_counts(&record->samples, samples);
}

/* The whole report as text, which the caller frees; NULL if memory has run out. */
static char *compose(bool is_table, size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    if (!out) return NULL;
    pthread_mutex_lock(&lock);
    (is_table ? td_report_print_table : td_report_print_json)(out, &report);
    pthread_mutex_unlock(&lock);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

char *td_report_compose(size_t *length)
{
    return atomic_load_explicit(&is_on, memory_order_acquire) ? compose(false, length) : NULL;
}

static bool is_without_calls(void)
{
    pthread_mutex_lock(&lock);
    const bool is_empty = td_report_add_up(&report).intercepted == 0;
    pthread_mutex_unlock(&lock);
    return is_empty;
}

/* True if the process may have wanted calls counted: it has cuBLAS. Other programs that it starts,
 * or that started it, inherit its environment, and have not. */
static bool has_cublas(char why[TD_LOADED_TEXT])
{
    const td_loaded loaded = td_loaded_cublas();
    td_loaded_explain(&loaded, report.is_host_device, TD_SEES_DLSYM && report.options->dlsym, why);
    return td_loaded_is_used(&loaded, report.is_host_device);
}

static bool write_out(bool is_empty, const char *text, size_t length)
{
    if (goes_to_stderr()) return td_report_stderr_write(&kept_stderr, text, length);
    if (td_report_file_write(&file, is_empty, text, length)) return true;
    if (errno != said_error)
        td_log(TD_LOG_ERROR, "cannot write the report file '%s' (%s)", file.path,
               td_file_reason(errno));
    said_error = errno;
    return false;
}

/* The report as it is now; false, and a line in the log, if it cannot be written. */
static bool compose_and_write(bool is_empty)
{
    size_t length = 0;
    if (is_moved && !open_destination(false)) { /* %p has another value now */
        is_on = false;
        return false;
    }
    is_moved = false;
    char *text = compose(goes_to_stderr(), &length);
    const bool is_written = text && write_out(is_empty, text, length);
    if (!text) td_log(TD_LOG_ERROR, "cannot write the report: out of memory");
    free(text);
    return is_written;
}

/* Under `writing`. */
static void write_at_end(void)
{
    char why[TD_LOADED_TEXT];
    const bool is_empty = is_without_calls();
    report.is_complete = true;
    if (is_empty && is_forked) return;
    if (is_empty && !goes_to_stderr() && !has_cublas(why)) {
        td_log(TD_LOG_INFO, "no report in '%s': %s made no call that Tandem intercepts: %s",
               file.path, program_invocation_short_name, why);
        return;
    }
    (void)compose_and_write(is_empty);
}

void td_report_write(void)
{
    if (!is_on || !has_destination()) return;
    pthread_mutex_lock(&writing);
    write_at_end();
    pthread_mutex_unlock(&writing);
}

static int64_t milliseconds_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool td_report_is_due(void)
{
    if (!atomic_load_explicit(&is_on, memory_order_acquire) || goes_to_stderr() ||
        !has_destination() || report.options->report_every == TD_NEVER)
        return false;
    const int64_t now = milliseconds_of(CLOCK_MONOTONIC_COARSE);
    int64_t planned = atomic_load_explicit(&due, memory_order_relaxed);
    return now >= planned &&
           atomic_compare_exchange_strong(&due, &planned,
                                          now + (int64_t)report.options->report_every * 1000);
}

static void put_off(int64_t until)
{
    int64_t planned = atomic_load(&due);
    while (planned < until && !atomic_compare_exchange_weak(&due, &planned, until)) {
    }
}

/* A long report is written in a time that grows with its lines, and leaves the program as much time
 * before it is written again. */
static bool is_long(void)
{
    enum { LINES_AT_EVERY_PRODUCT = 256 };
    pthread_mutex_lock(&lock);
    const bool has_many = record_count > LINES_AT_EVERY_PRODUCT;
    pthread_mutex_unlock(&lock);
    return has_many;
}

static void write_and_put_off(void)
{
    const int64_t before = milliseconds_of(CLOCK_MONOTONIC);
    const bool is_written = compose_and_write(false);
    const int64_t after = milliseconds_of(CLOCK_MONOTONIC);
    if (!is_written)
        put_off(INT64_MAX); /* it is tried again at the end alone */
    else if (is_long())
        put_off(after + (after - before) + 1);
}

void td_report_write_so_far(void)
{
    pthread_mutex_lock(&writing);
    if (!report.is_complete) write_and_put_off();
    pthread_mutex_unlock(&writing);
}

void td_report_close(void)
{
    is_on = false;
    tdestroy(tree, free_record);
    tree = NULL;
    record_count = 0;
    report = (td_report){0};
    if (kept_stderr.copy > 0) close(kept_stderr.copy);
    kept_stderr = (td_report_stderr){.copy = -1};
}
