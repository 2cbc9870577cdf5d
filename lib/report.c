#define _GNU_SOURCE 1
#include "report_internal.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

enum { FIRST_BUCKETS = 64 };

static atomic_bool is_on;
static td_report report;
static td_report_file file;
static bool is_forked; /* this process is a fork() of the one that opened the report */

/* Guards all of the following, the list of records and their counters; not the counts themselves. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static td_record **buckets; /* 2^i of them */
static size_t bucket_count, record_count;

static bool goes_to_stderr(void) { return strcmp(report.options->report_file, "-") == 0; }

static bool open_destination(void)
{
    if (goes_to_stderr() || td_report_file_open(&file, report.options->report_file)) return true;
    td_log(TD_LOG_ERROR, "cannot write the report file '%s' (%s); there will be no report",
           report.options->report_file, strerror(errno));
    return false;
}

/* A forked child is a process of its own: its counts start at zero. It must not touch the counters in device
 * memory, which the child does not have. */
static void start_again_in_child(void)
{
    is_forked = true;
    report.unlisted = 0;
    for (td_record *record = report.first; record; record = record->next) {
        record->count = record->timed = record->nanoseconds = 0;
        record->repaired = record->parts = 0;
        record->is_counted = false;
        record->counters = NULL;
    }
}

void td_report_before_fork(void) { pthread_mutex_lock(&lock); }

void td_report_after_fork(bool is_child)
{
    if (is_child) start_again_in_child();
    pthread_mutex_unlock(&lock);
}

void td_report_open(const td_options *o, const char *version)
{
    if (!o->report_file[0]) return;
    report.options = o;
    report.version = version;
    report.last = &report.first;
    is_forked = false;
    if (!open_destination()) return;
    atomic_store_explicit(&is_on, true, memory_order_release);
}

void td_report_set_device(int number, const char *name)
{
    if (number < 0 || number >= TD_REPORT_DEVICES) return;
    pthread_mutex_lock(&lock);
    char *known = report.devices[number];
    if (!known[0]) snprintf(known, TD_REPORT_DEVICE_BYTES, "%s", name);
    pthread_mutex_unlock(&lock);
}

void td_report_set_host_device(void) { report.is_host_device = true; }

td_report_key td_report_key_of(td_entry entry, const td_problem *p, const char *mode,
                               const char *reason, int device)
{
    return (td_report_key){
        .entry = entry,
        .mode = mode,
        .reason = reason,
        .device = device,
        .type = p->type,
        .op_a = p->op_a,
        .op_b = p->op_b,
        .kind = p->kind,
        .side = p->side,
        .triangle = p->triangle,
        .diagonal = p->diagonal,
        .m = p->m,
        .n = p->n,
        .k = p->k,
        .batch = p->batch,
    };
}

/* FNV-1a over whole numbers, with its high half folded in for the low bits that pick the bucket. The strings
 * are left out: calls seldom differ in them alone. */
static uint64_t hash_key(const td_report_key *key)
{
    const uint64_t words[] = {(uint64_t)key->entry, (uint64_t)key->op_a, (uint64_t)key->op_b,
                              (uint64_t)key->m,     (uint64_t)key->n,    (uint64_t)key->k,
                              (uint64_t)key->batch};
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hash = (hash ^ words[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 32;
}

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same_key(const td_report_key *a, const td_report_key *b)
{
    return a->entry == b->entry && a->type == b->type && a->kind == b->kind && a->side == b->side &&
           a->triangle == b->triangle && a->diagonal == b->diagonal && a->op_a == b->op_a &&
           a->op_b == b->op_b && a->m == b->m && a->n == b->n && a->k == b->k &&
           a->batch == b->batch && a->device == b->device && is_same_text(a->mode, b->mode) &&
           is_same_text(a->reason, b->reason);
}

static void hang_in(td_record **table, size_t count, td_record *record)
{
    td_record **head = &table[record->hash & (count - 1)];
    record->next_in_bucket = *head;
    *head = record;
}

/* Keeps at least a bucket for each record; false only if there are no buckets at all. */
static bool grow(void)
{
    if (record_count < bucket_count) return true;
    const size_t count = bucket_count ? 2 * bucket_count : FIRST_BUCKETS;
    td_record **table = calloc(count, sizeof *table);
    if (!table) return bucket_count != 0;
    for (td_record *record = report.first; record; record = record->next)
        hang_in(table, count, record);
    free(buckets);
    buckets = table;
    bucket_count = count;
    return true;
}

static td_record *add_record(const td_report_key *key, uint64_t hash)
{
    td_record *record = grow() ? calloc(1, sizeof *record) : NULL;
    if (!record) return NULL;
    record->key = *key;
    record->hash = hash;
    record->number = (unsigned)record_count;
    hang_in(buckets, bucket_count, record);
    *report.last = record;
    report.last = &record->next;
    record_count++;
    return record;
}

static td_record *find_record(const td_report_key *key, uint64_t hash)
{
    if (bucket_count == 0) return NULL;
    td_record *record = buckets[hash & (bucket_count - 1)];
    while (record && (record->hash != hash || !is_same_key(&record->key, key)))
        record = record->next_in_bucket;
    return record;
}

td_record *td_report_find(const td_report_key *key)
{
    if (!atomic_load_explicit(&is_on, memory_order_relaxed)) return NULL;
    const uint64_t hash = hash_key(key);
    pthread_mutex_lock(&lock);
    td_record *record = find_record(key, hash);
    if (!record) record = add_record(key, hash);
    pthread_mutex_unlock(&lock);
    if (!record) atomic_fetch_add_explicit(&report.unlisted, 1, memory_order_relaxed);
    return record;
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

void td_report_add_time(td_record *record, double seconds)
{
    const double longest =
        1e9; /* no call takes 30 years: a broken clock, as is a negative or NaN time */
    if (!record || !(seconds >= 0 && seconds < longest)) return;
    const unsigned long long nanoseconds = (unsigned long long)(seconds * 1e9 + 0.5);
    atomic_fetch_add_explicit(&record->nanoseconds, nanoseconds, memory_order_relaxed);
    atomic_fetch_add_explicit(&record->timed, 1, memory_order_relaxed);
}

void td_report_set_counters(td_record *record, const volatile td_counters *counters)
{
    if (!record) return;
    pthread_mutex_lock(&lock);
    if (record->counters != counters) {
        record->repaired = td_record_repaired(record);
        record->parts = td_record_parts(record);
        record->counters = counters;
        record->is_counted |= counters != NULL;
    }
    pthread_mutex_unlock(&lock);
}

unsigned long long td_record_repaired(const td_record *record)
{
    return record->repaired + (record->counters ? record->counters->repaired : 0);
}

unsigned long long td_record_parts(const td_record *record)
{
    const unsigned long long parts = record->counters ? record->counters->parts : 0;
    return parts > record->parts ? parts : record->parts;
}

td_report_totals td_report_add_up(const td_report *from)
{
    td_report_totals totals = {.unlisted = from->unlisted};
    totals.intercepted = totals.unlisted;
    for (const td_record *record = from->first; record; record = record->next) {
        totals.intercepted += record->count;
        *(record->key.reason ? &totals.native : &totals.emulated) += record->count;
        totals.timed += record->timed;
        totals.nanoseconds += record->nanoseconds;
        totals.repaired += td_record_repaired(record);
        totals.is_counted |= record->is_counted;
    }
    return totals;
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

static bool is_without_calls(void)
{
    pthread_mutex_lock(&lock);
    const bool is_empty = td_report_add_up(&report).intercepted == 0;
    pthread_mutex_unlock(&lock);
    return is_empty;
}

void td_report_write(void)
{
    if (!is_on) return;
    /* A shell that started the program, or a child that it forked, must not put an empty report in its place. */
    if (is_without_calls() &&
        (is_forked || (!goes_to_stderr() && td_report_file_has_changed(&file))))
        return;
    if (is_forked && !open_destination()) return; /* %p has another value now */
    size_t length = 0;
    char *text = compose(goes_to_stderr(), &length);
    if (!text)
        td_log(TD_LOG_ERROR, "cannot write the report: out of memory");
    else if (goes_to_stderr())
        fwrite(text, 1, length, stderr);
    else if (!td_report_file_write(&file, text, length))
        td_log(TD_LOG_ERROR, "cannot write the report file '%s' (%s)", file.path, strerror(errno));
    free(text);
}

void td_report_close(void)
{
    is_on = false;
    while (report.first) {
        td_record *record = report.first;
        report.first = record->next;
        free(record);
    }
    free(buckets);
    buckets = NULL;
    bucket_count = record_count = 0;
    report = (td_report){0};
}
