#define _GNU_SOURCE 1
#include "report_internal.h"

#include <errno.h>
#include <pthread.h>
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
static long long written_calls = -1; /* of the report at the end; -1: it is not written yet */
static int said_error; /* errno of the last failure to write the file that was said; 0: none */
static bool is_forked; /* this process is a fork() of the one that opened the report, and ... */
static bool is_moved;  /* ... has not looked yet where its own goes */
static _Atomic(int64_t)
    due; /* when a product writes the report, in milliseconds of the monotonic clock */

/* Held while the report is written; taken before td_records_lock. */
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

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

/* A forked child is a process of its own: its counts start at zero. It must not touch the counters
 * in device memory, which the child does not have. */
static void start_again_in_child(void)
{
    is_forked = is_moved = true;
    report.is_complete = false;
    if (written_calls > 0) written_calls = 0; /* it is forked by an exit handler */
    clock_gettime(CLOCK_REALTIME, &report.start);
    atomic_store(&due, 0);
    report.unlisted = 0;
    td_records_empty(&report);
}

void td_report_before_fork(void)
{
    pthread_mutex_lock(&writing);
    td_records_lock();
}

void td_report_after_fork(bool is_child)
{
    if (is_child) start_again_in_child();
    td_records_unlock();
    pthread_mutex_unlock(&writing);
}

void td_report_open(const td_options *o, const char *version)
{
    is_on = is_forked = is_moved = false;
    td_records_free();
    report = (td_report){.options = o, .version = version, .last = &report.first};
    if (kept_stderr.copy > 0) close(kept_stderr.copy);
    kept_stderr = (td_report_stderr){.copy = -1};
    said_error = 0;
    written_calls = -1;
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
    td_records_lock();
    if (!known[0]) snprintf(known, bytes, "%s", text);
    td_records_unlock();
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

/* ---- calls ---- */

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
        .is_conjugate_a = p->is_conjugate_a,
        .is_conjugate_b = p->is_conjugate_b,
        .kind = p->kind,
        .side = p->side,
        .triangle = p->triangle,
        .diagonal = p->diagonal,
        .lacks_vectors = p->lacks_vectors,
        .m = p->m,
        .n = p->n,
        .k = p->k,
        .batch = p->batch,
        .caller = report.options && report.options->sites ? td_site_find(p->caller) : NULL,
    };
}

td_record *td_report_find(const td_report_key *key)
{
    if (!atomic_load_explicit(&is_on, memory_order_relaxed)) return NULL;
    td_record *record = td_records_find(&report, key);
    if (!record) atomic_fetch_add_explicit(&report.unlisted, 1, memory_order_relaxed);
    return record;
}

bool td_report_describe(unsigned number, char text[TD_CALL_TEXT])
{
    td_records_lock();
    const td_record *record = report.first;
    while (record && record->number != number) record = record->next;
    if (record) td_report_print_call(&record->key, text);
    td_records_unlock();
    return record != NULL;
}

/* ---- writing ---- */

/* The whole report as text, which the caller frees; NULL if memory has run out. */
static char *compose(bool is_table, size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    if (!out) return NULL;
    td_records_lock();
    (is_table ? td_report_print_table : td_report_print_json)(out, &report);
    td_records_unlock();
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

char *td_report_compose(size_t *length)
{
    return atomic_load_explicit(&is_on, memory_order_acquire) ? compose(false, length) : NULL;
}

static long long count_calls(void)
{
    td_records_lock();
    const long long count = td_report_add_up(&report).intercepted;
    td_records_unlock();
    return count;
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
    written_calls = count_calls();
    const bool is_empty = written_calls == 0;
    report.is_complete = true;
    if (is_empty && is_forked) return;
    if (is_empty && !goes_to_stderr() && !has_cublas(why)) {
        td_log(TD_LOG_INFO, "no report in '%s': %s made no call that Tandem intercepts: %s",
               file.path, program_invocation_short_name, why);
        return;
    }
    (void)compose_and_write(is_empty);
}

/* Under `writing`. What has gone to a stream cannot be replaced. */
static void write_late_calls(void)
{
    const long long late = count_calls() - written_calls;
    if (written_calls < 0 || late == 0)
        return; /* another thread is about to write it, or all is there */
    written_calls += late;
    report.is_complete = true;
    if (goes_to_stderr() || file.is_stream)
        td_log(TD_LOG_WARN,
               "the report lacks %lld calls that were made after it, as the process ended", late);
    else
        (void)compose_and_write(false);
}

static void write_once_at_a_time(void (*write)(void))
{
    if (!is_on || !has_destination()) return;
    pthread_mutex_lock(&writing);
    write();
    pthread_mutex_unlock(&writing);
}

void td_report_write(void) { write_once_at_a_time(write_at_end); }
void td_report_write_late_calls(void) { write_once_at_a_time(write_late_calls); }

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
    td_records_lock();
    const bool has_many = td_records_count() > LINES_AT_EVERY_PRODUCT;
    td_records_unlock();
    return has_many;
}

static void write_and_put_off(void)
{
    const int64_t before = milliseconds_of(CLOCK_MONOTONIC);
    const bool is_written = !file.is_stream && compose_and_write(false);
    const int64_t after = milliseconds_of(CLOCK_MONOTONIC);
    if (!is_written)
        put_off(INT64_MAX); /* it is tried again at the end alone; a stream gets one report */
    else if (is_long())
        put_off(after + (after - before) + 1);
}

void td_report_write_so_far(void)
{
    pthread_mutex_lock(&writing);
    if (!report.is_complete) write_and_put_off();
    pthread_mutex_unlock(&writing);
}
