#include "tools/report_page.h"

#include <stdlib.h>
#include <string.h>

#include "include/tandem.h"
#include "lib/report/json_text.h"
#include "tools/html.h"
#include "tools/visible.h"

/* ---- names that several reports have ---- */

enum { MOST_NAMES = 6 };

typedef struct {
    const char *text[MOST_NAMES];
    int times[MOST_NAMES], count;
    int others; /* of which there was no room */
} names;

static void add_name(names *n, const char *text)
{
    int i = 0;
    if (!text[0]) return;
    while (i < n->count && strcmp(n->text[i], text) != 0) i++;
    if (i == MOST_NAMES) {
        n->others++;
        return;
    }
    if (i == n->count) n->count++;
    n->text[i] = text;
    n->times[i]++;
}

static void print_visible(FILE *out, const char *text)
{
    char *visible = visible_copy(text);
    fputs(visible ? visible : "?", out);
    free(visible);
}

/* "a, b and 3 more"; with how many there are of each, if has_counts and there are several. */
static void print_names(FILE *out, const names *n, bool has_counts)
{
    for (int i = 0; i < n->count; i++) {
        if (i) fprintf(out, ", ");
        if (has_counts && n->count > 1) fprintf(out, "%d of ", n->times[i]);
        print_visible(out, n->text[i]);
    }
    if (n->others) fprintf(out, " and %d more", n->others);
}

/* ---- what the reports are of ---- */

static const char host_device_note[] =
    "The products ran on the host device: the times say nothing about a GPU.";

static void print_origin(FILE *out, const merged *m)
{
    names programs = {.count = 0}, devices = {.count = 0};
    for (int i = 0; i < m->report_count; i++) {
        const report *r = &m->reports[i];
        add_name(&programs, r->head.program);
        for (int d = 0; d < r->device_count; d++) add_name(&devices, r->devices[d].name);
    }
    fprintf(out, "%d report%s", m->report_count, m->report_count == 1 ? "" : "s");
    if (programs.count) fprintf(out, programs.count == 1 ? " of " : " (");
    print_names(out, &programs, true);
    if (programs.count > 1) fprintf(out, ")");
    if (devices.count) fprintf(out, " on ");
    print_names(out, &devices, false);
    fprintf(out, ": %lld calls, %lld emulated, %lld native", m->totals.intercepted,
            m->totals.emulated, m->totals.native);
    if (m->totals.unlisted) fprintf(out, ", %lld not listed", m->totals.unlisted);
    fprintf(out, "\n");
}

/* Hosts, and from when to when: RFC 3339 in UTC is in the order of time as text, too. */
static void print_when(FILE *out, const merged *m)
{
    names hosts = {.count = 0};
    const char *first = "", *last = "";
    for (int i = 0; i < m->report_count; i++) {
        const report *r = &m->reports[i];
        add_name(&hosts, r->head.host);
        if (r->head.started[0] && (!first[0] || strcmp(r->head.started, first) < 0))
            first = r->head.started;
        if (strcmp(r->head.written, last) > 0) last = r->head.written;
    }
    if (!hosts.count || !first[0]) return;
    fprintf(out, "Begun ");
    print_visible(out, first);
    fprintf(out, ", written ");
    print_visible(out, last);
    fprintf(out, ", on ");
    print_names(out, &hosts, false);
    fprintf(out, "\n");
}

static bool has_command(const report *a, const report *b)
{
    bool is_same = a->words == b->words;
    for (int i = 0; is_same && i < a->words; i++)
        is_same = strcmp(a->command[i], b->command[i]) == 0;
    return is_same;
}

/* The command line, if all reports have the same one. */
static void print_command(FILE *out, const merged *m)
{
    const report *first = &m->reports[0];
    for (int i = 1; i < m->report_count; i++)
        if (!has_command(first, &m->reports[i])) return;
    if (!first->words) return;
    fprintf(out, "Command:");
    for (int i = 0; i < first->words; i++) {
        fprintf(out, " ");
        print_visible(out, first->command[i]);
    }
    fprintf(out, "\n");
}

/* What the numbers do not hold. */
static void print_gaps(FILE *out, const merged *m)
{
    long long unread = 0;
    names paths = {.count = 0};
    for (int i = 0; i < m->count; i++) unread += m->lines[i]->unread;
    for (int i = 0; i < m->report_count; i++)
        if (!m->reports[i].head.is_complete) add_name(&paths, m->paths[i]);
    if (m->incomplete) {
        fprintf(out,
                "INCOMPLETE: %d of %d reports, of processes that still run or ended without "
                "writing the rest (_exit, a signal); later calls are missing: ",
                m->incomplete, m->report_count);
        print_names(out, &paths, false);
        fprintf(out, "\n");
    }
    if (unread)
        fprintf(out,
                "The times of %lld calls are not known, and are not in the sums: their context "
                "ended first (cudaDeviceReset), or they had not ended.\n",
                unread);
    if (m->is_host_device) fprintf(out, "%s\n", host_device_note);
}

static void print_summary(FILE *out, const merged *m)
{
    print_origin(out, m);
    print_when(out, m);
    print_command(out, m);
    print_gaps(out, m);
}

static void print_summaries(FILE *out, const report_page *page)
{
    if (page->before) fprintf(out, "Before: ");
    if (page->before) print_summary(out, page->before);
    if (page->before) fprintf(out, "Now: ");
    print_summary(out, page->now);
}

/* ---- text and HTML ---- */

void report_page_print_text(FILE *out, const void *of)
{
    const report_page *page = of;
    print_summaries(out, page);
    if (page->table->count > 0) sheet_print(out, page->sheet);
}

typedef struct {
    char label[3 * VALUE_TEXT_BYTES], value[64];
} bar_texts;

static html_bar bar_of(const report_row *row, bar_texts *texts)
{
    const td_report_call *c = &row->now->call;
    snprintf(texts->label, sizeof texts->label, "%s %s %lld x %lld x %lld, %s%s%s",
             td_report_short_name(c), td_report_letters(c).text, c->m, c->n, c->k, c->mode,
             c->site[0] ? ", " : "", c->site);
    snprintf(texts->value, sizeof texts->value, "%.4f s, %lld calls", row->now->seconds, c->count);
    return (html_bar){texts->label, row->now->seconds, 0.0, texts->value};
}

/* The first lines that have a time. */
static void print_bars(FILE *out, const table *t)
{
    enum { MOST_BARS = 24 };
    static bar_texts texts[MOST_BARS];
    html_bar bars[MOST_BARS] = {{.label = NULL}};
    int count = 0;
    for (int i = 0; i < t->count && count < MOST_BARS; i++) {
        const report_row *row = t->rows[i];
        if (!row->now || row->now->seconds < 0.0) continue;
        bars[count] = bar_of(row, &texts[count]);
        count++;
    }
    html_print_bars(out, bars, count);
    if (count > 0) fprintf(out, "<p>Time of all calls of a line on the device.</p>\n");
}

void report_page_print_html(FILE *out, const void *of)
{
    const report_page *page = of;
    char *summary = NULL;
    size_t length = 0;
    html_begin(out, "tandem report");
    FILE *text = open_memstream(&summary, &length);
    if (text) print_summaries(text, page);
    fprintf(out, "<p>");
    if (text && fclose(text) == 0) html_print_text(out, summary);
    free(summary);
    fprintf(out, "</p>\n");
    print_bars(out, page->table);
    sheet_print_html(out, page->sheet);
    fprintf(out, "<p>Tandem %s. Errors are relative to |A||B|.</p>\n", tandem_version());
    html_end(out);
}

/* ---- CSV and JSON ---- */

void report_page_print_csv(FILE *out, const void *page)
{
    table_print_csv(out, ((const report_page *)page)->table);
}

/* A text of a list; the first one without a comma before it. */
static void print_listed(FILE *out, const char *text, bool is_first)
{
    fputs(is_first ? "" : ", ", out);
    td_json_print_string(out, text);
}

static void print_report(FILE *out, const char *path, const report *r)
{
    td_json_print_members(out, "{",
                          (const td_json_member[]){
                              {"file", path},
                              {"program", r->head.program},
                              {"host", r->head.host[0] ? r->head.host : NULL},
                              {"started", r->head.started[0] ? r->head.started : NULL},
                              {"written", r->head.written[0] ? r->head.written : NULL},
                              {NULL, NULL},
                          });
    fprintf(out, ", \"command\": [");
    for (int i = 0; i < r->words; i++) print_listed(out, r->command[i], i == 0);
    fprintf(out, "], \"devices\": [");
    for (int i = 0; i < r->device_count; i++) print_listed(out, r->devices[i].name, i == 0);
    fprintf(out, "], \"host_device\": %s, \"is_complete\": %s}",
            r->head.host_device ? "true" : "false", r->head.is_complete ? "true" : "false");
}

static void print_merged(FILE *out, const char *name, const merged *m)
{
    fprintf(out, "  \"%s\": [", name);
    for (int i = 0; i < m->report_count; i++) {
        fprintf(out, "%s\n    ", i ? "," : "");
        print_report(out, m->paths[i], &m->reports[i]);
    }
    fprintf(out, "\n  ],\n");
}

void report_page_print_json(FILE *out, const void *of)
{
    const report_page *page = of;
    fprintf(out, "{\n  \"tandem\": ");
    td_json_print_string(out, tandem_version());
    fprintf(out, ",\n");
    if (page->before) print_merged(out, "reports_before", page->before);
    print_merged(out, "reports", page->now);
    fprintf(out, "  \"lines\": ");
    table_print_json(out, page->table);
    fprintf(out, "\n}\n");
}
