#include "fields.h"

#include <stdio.h>
#include <string.h>

#include "../routine/entries.h"

/* ---- tables ---- */

#define TYPE(name, kind, null, ...)                                                                \
    enum { kind_of_##name = TD_##kind, null_of_##name = TD_NULL_##null };                          \
    static const char schema_of_##name[] = #__VA_ARGS__;
#include "json_fields.def"

#define FIELD(object, name, type, need, merge, value, meaning)                                     \
    {#name,                                                                                        \
     (td_field_kind)kind_of_##type,                                                                \
     (td_field_null)null_of_##type,                                                                \
     TD_##need,                                                                                    \
     TD_##merge,                                                                                   \
     offsetof(object, name),                                                                       \
     #type,                                                                                        \
     schema_of_##type,                                                                             \
     meaning,                                                                                      \
     NULL},

const td_field td_head_fields[] = {
#define HEAD(...) FIELD(td_report_head, __VA_ARGS__)
#define LIST(name, items, meaning, ...)                                                            \
    {#name, TD_LIST, TD_NULL_NEVER, TD_LATER, TD_FIRST, 0, "list", #__VA_ARGS__, meaning, items},
#include "json_fields.def"
    {.name = NULL}};

const td_field td_device_fields[] = {
#define DEVICE(...) FIELD(td_report_device, __VA_ARGS__)
#include "json_fields.def"
    {.name = NULL}};

const td_field td_total_fields[] = {
#define TOTAL(...) FIELD(td_report_totals, __VA_ARGS__)
#include "json_fields.def"
    {.name = NULL}};

const td_field td_call_fields[] = {
#define CALL(...) FIELD(td_report_call, __VA_ARGS__)
#include "json_fields.def"
    {.name = NULL}};

const td_field td_forecast_fields[] = {
#define FORECAST(...) FIELD(td_report_forecast, __VA_ARGS__)
#include "json_fields.def"
    {.name = NULL}};

const td_field td_verified_fields[] = {
#define VERIFIED(...) FIELD(td_report_verified, __VA_ARGS__)
#include "json_fields.def"
    {.name = NULL}};

const td_field *td_field_members(const td_field *field)
{
    return field->kind == TD_TOTALS     ? td_total_fields
           : field->kind == TD_FORECAST ? td_forecast_fields
           : field->kind == TD_VERIFIED ? td_verified_fields
                                        : field->items;
}

/* ---- lines ---- */

/* Of a function that this version of Tandem does not know as many as there are of most with such
 * letters. */
static int operations_of(const td_report_call *call)
{
    const td_entry entry = td_entry_find(call->function);
    if (entry == TD_ENTRY_COUNT) return call->side || call->uplo ? 1 : 2;
    return td_kinds[td_routines[td_entries[entry].routine].kind].operations;
}

td_letters_text td_report_letters(const td_report_call *call)
{
    td_letters_text told;
    snprintf(told.text, sizeof told.text, "%s", call->letters);
    if (told.text[0]) return told;
    return td_letters_print(
        &(td_letters){call->side, call->uplo, call->diag, call->job, call->op_a, call->op_b},
        operations_of(call));
}

const char *td_report_short_name(const td_report_call *call)
{
    static const char start[] = "cublas";
    const bool begins = strncmp(call->function, start, strlen(start)) == 0;
    return call->function + (begins ? strlen(start) : 0);
}

static int compare(td_field_kind kind, const void *a, const void *b)
{
    if (kind == TD_TEXT) return strcmp(*(const char *const *)a, *(const char *const *)b);
    const long long left = kind == TD_LETTER ? *(const char *)a : *(const long long *)a;
    const long long right = kind == TD_LETTER ? *(const char *)b : *(const long long *)b;
    return (left > right) - (left < right);
}

int td_report_call_compare(const td_report_call *a, const td_report_call *b, bool has_any_mode)
{
    int order = 0;
    for (const td_field *f = td_call_fields; !order && f->name; f++)
        if (f->merge == TD_KIND || (f->merge == TD_MODE && !has_any_mode))
            order = compare(f->kind, (const char *)a + f->offset, (const char *)b + f->offset);
    return order;
}

const char *td_report_because(const td_report_call *call)
{
    return call->native_reason[0] ? call->native_reason : call->choice;
}

double td_report_error(const td_report_call *call, double error)
{
    return call->verified.elements ? error : TD_UNKNOWN;
}

double td_report_bound(const td_report_call *call)
{
    const td_report_verified *v = &call->verified;
    return v->is_known && v->bound >= 0.0 ? v->bound + v->bound_ulps * 0x1p-52 : TD_UNKNOWN;
}

/* ---- merging ---- */

/* How many elements of C the means of both objects are of. */
typedef struct {
    double to, from;
} weights;

static void merge_counts(td_field_merge merge, long long *to, long long from)
{
    if (merge == TD_LARGEST && from > *to) *to = from;
    if (merge == TD_SUM && from >= 0) *to = *to < 0 ? from : *to + from;
}

static void merge_numbers(td_field_merge merge, double *to, double from, weights w)
{
    const double all = w.to + w.from;
    if (merge == TD_LARGEST && from > *to) *to = from;
    if (merge == TD_SUM && from >= 0.0) *to = *to < 0.0 ? from : *to + from;
    if (merge == TD_MEAN) *to = all > 0.0 ? (*to * w.to + from * w.from) / all : 0.0;
}

static void merge_texts(td_field_merge merge, const char **to, const char *from)
{
    if ((merge == TD_MODE || merge == TD_SEVERAL) && strcmp(*to, from) != 0) *to = "several";
}

/* Members are objects with members: NOLINTBEGIN(misc-no-recursion) */

static void merge_verified(td_report_verified *to, const td_report_verified *from);

static void merge_members(const td_field *fields, void *to, const void *from, weights w)
{
    for (const td_field *f = fields; f->name; f++) {
        void *const a = (char *)to + f->offset;
        const void *const b = (const char *)from + f->offset;
        if (f->kind == TD_TEXT) merge_texts(f->merge, a, *(const char *const *)b);
        if (f->kind == TD_COUNT) merge_counts(f->merge, a, *(const long long *)b);
        if (f->kind == TD_SECONDS || f->kind == TD_NUMBER)
            merge_numbers(f->merge, a, *(const double *)b, w);
        if (f->merge == TD_MEMBERS) merge_verified(a, b);
    }
}

static double with_error(const td_report_verified *v) { return (double)(v->elements - v->special); }

static void merge_verified(td_report_verified *to, const td_report_verified *from)
{
    const weights w = {with_error(to), with_error(from)};
    if (from->is_known && to->is_known)
        merge_members(td_verified_fields, to, from, w);
    else if (from->is_known)
        *to = *from;
}

/* NOLINTEND(misc-no-recursion) */

void td_fields_merge(const td_field *fields, void *to, const void *from)
{
    merge_members(fields, to, from, (weights){0.0, 0.0});
}
