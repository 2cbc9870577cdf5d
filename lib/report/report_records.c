/* report_records.c - the records of a report, and what is counted in them. */
#define _GNU_SOURCE 1
#include "report_internal.h"

#include <pthread.h>
#include <search.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Guards the tree, the list of records and their counters; not the counts themselves. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *tree; /* all records, for tsearch(3) */
static unsigned record_count;

void td_records_lock(void) { pthread_mutex_lock(&lock); }
void td_records_unlock(void) { pthread_mutex_unlock(&lock); }
unsigned td_records_count(void) { return record_count; }

/* ---- the list ---- */

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
        {a->lacks_vectors, b->lacks_vectors},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i][0] != numbers[i][1]) return numbers[i][0] < numbers[i][1] ? -1 : 1;
    if (a->caller != b->caller) return (uintptr_t)a->caller < (uintptr_t)b->caller ? -1 : 1;
    const int mode = compare_texts(a->mode, b->mode);
    return mode ? mode : compare_texts(a->reason, b->reason);
}

static td_record *add_record(td_report *report, const td_report_key *key)
{
    td_record *record = calloc(1, sizeof *record);
    if (!record) return NULL;
    record->key = *key;
    record->number = record_count;
    if (!tsearch(record, &tree, compare_keys)) {
        free(record);
        return NULL;
    }
    *report->last = record;
    report->last = &record->next;
    record_count++;
    return record;
}

td_record *td_records_find(td_report *report, const td_report_key *key)
{
    _Static_assert(offsetof(td_record, key) == 0, "a record is found by its key");
    pthread_mutex_lock(&lock);
    td_record *const *found = tfind(key, &tree, compare_keys);
    td_record *record = found ? *found : add_record(report, key);
    pthread_mutex_unlock(&lock);
    return record;
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
    drop_list(&record->mantissa_bits);
}

static void free_record(void *record)
{
    drop_counters(record);
    free(record);
}

void td_records_empty(const td_report *report)
{
    for (td_record *record = report->first; record; record = record->next) {
        record->count = record->timed = record->expected = record->nanoseconds = 0;
        drop_counters(record);
    }
}

void td_records_free(void)
{
    tdestroy(tree, free_record);
    tree = NULL;
    record_count = 0;
}

/* ---- what is counted ---- */

bool td_report_wants_native(const td_record *record)
{
    return record && !atomic_load_explicit(&record->has_native, memory_order_relaxed);
}

void td_report_set_native(td_record *record, double seconds)
{
    atomic_store_explicit(&record->native_seconds, seconds, memory_order_relaxed);
    atomic_store_explicit(&record->has_native, true, memory_order_release);
}

unsigned td_record_number(const td_record *record) { return record->number; }

bool td_report_wants_time(const td_record *record)
{
    enum { ALWAYS_TIMED = 16, TIMED_ONE_IN = 16 };
    if (!record) return false;
    const long long count = atomic_load_explicit(&record->count, memory_order_relaxed);
    return count < ALWAYS_TIMED || count % TIMED_ONE_IN == 0;
}

void td_report_count(td_record *record)
{
    if (record) atomic_fetch_add_explicit(&record->count, 1, memory_order_relaxed);
}

long long td_nanoseconds(double seconds)
{
    return seconds > 0.0 ? (long long)(seconds * 1e9 + 0.5) : 0;
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

void td_report_add_mantissa_bits(td_record *record, const volatile int *bits)
{
    if (record) add_counts(&record->mantissa_bits, bits);
}

void td_report_add_samples(td_record *record, const volatile td_sample_counts *samples)
{
    if (record) add_counts(&record->samples, samples);
}
