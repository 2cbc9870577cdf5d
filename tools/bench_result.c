#include "tools/bench_result.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* ---- numbers ---- */

static bool is_good_run(const bench *b, const bench_run *run)
{
    return run->status == b->modes[0].runs[0].status;
}

static int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Sorts the values; of an even number of them the mean of the two in the middle, of none -1. */
static double median(double *values, int count)
{
    if (count == 0) return -1.0;
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return (values[(count - 1) / 2] + values[count / 2]) / 2.0;
}

static void raise_to(unsigned long long *most, unsigned long long value)
{
    if (value > *most) *most = value;
}

static void find_reason(bench_mode *m, const bench_report *report)
{
    for (int i = 0; i < report->reason_count; i++)
        if (!m->reason || report->reasons[i].calls > m->reason->calls)
            m->reason = &report->reasons[i];
}

static void sum_up_mode(const bench *b, bench_mode *m)
{
    double walls[BENCH_MOST_REPEATS], products[BENCH_MOST_REPEATS];
    int timed = 0;
    m->last_words = "";
    for (int i = 0; i < m->count; i++) {
        const bench_run *run = &m->runs[i];
        const bench_report *report = &run->report;
        const bool is_good = is_good_run(b, run), were_good = m->good == i;
        if (were_good) m->status = run->status;
        if (were_good && !is_good) m->last_words = run->last_words;
        if (!is_good) continue;
        walls[m->good++] = run->wall_seconds;
        if (report->is_timed) products[timed++] = report->seconds;
        raise_to(&m->calls, report->calls);
        raise_to(&m->emulated, report->emulated);
        raise_to(&m->native, report->native);
        raise_to(&m->untimed, report->untimed);
        raise_to(&m->repaired, report->repaired);
        m->is_counted |= report->is_counted;
        m->is_verified |= report->is_verified;
        raise_to(&m->outside, report->outside);
        if (report->worst_error > m->worst_error) m->worst_error = report->worst_error;
        find_reason(m, report);
    }
    m->wall_seconds = median(walls, m->good);
    m->product_seconds = median(products, timed);
}

bool bench_is_good(const bench *b)
{
    for (int i = 0; i < b->mode_count; i++)
        if (b->modes[i].good < b->repeat) return false;
    return !b->is_interrupted;
}

/* ---- outputs ---- */

/* The whole of a run's output, a zero byte counting as its end; the caller frees it. NULL if it
 * cannot be read. */
static char *read_output(const bench *b, const bench_mode *m, int run)
{
    char path[PATH_MAX], *text = NULL;
    size_t room = 0;
    bench_run_file(&b->program, m->mode, run + 1, ".out", path);
    FILE *file = fopen(path, "r");
    if (!file) return NULL;
    const bool is_empty = getdelim(&text, &room, '\0', file) < 0;
    if (is_empty && !ferror(file)) {
        free(text);
        text = calloc(1, 1);
    }
    fclose(file);
    return text;
}

static void compare_mode(const bench *b, bench_mode *m, char *const *natives, int count)
{
    for (int i = 0; i < m->count; i++) {
        if (!is_good_run(b, &m->runs[i])) continue;
        char *text = read_output(b, m, i);
        if (text) compare_outputs(&m->output, natives, count, text);
        m->is_compared = m->is_compared || text;
        free(text);
    }
}

static void compare_modes(bench *b)
{
    const bench_mode *native = &b->modes[0];
    char **natives = calloc((size_t)native->count, sizeof *natives);
    int count = 0;
    for (int i = 0; natives && i < native->count; i++)
        if (is_good_run(b, &native->runs[i]) && (natives[count] = read_output(b, native, i)))
            count++;
    for (int i = 1; count > 0 && i < b->mode_count; i++)
        compare_mode(b, &b->modes[i], natives, count);
    while (count > 0) free(natives[--count]);
    free(natives);
}

void bench_sum_up(bench *b)
{
    b->device = "";
    for (int i = 0; i < b->mode_count; i++) {
        bench_mode *m = &b->modes[i];
        sum_up_mode(b, m);
        for (int run = 0; run < m->count && !b->device[0]; run++)
            b->device = m->runs[run].report.device;
    }
    compare_modes(b);
}

/* ---- words ---- */

void bench_status_text(int status, char text[BENCH_STATUS_BYTES])
{
    if (WIFEXITED(status)) {
        snprintf(text, BENCH_STATUS_BYTES, "%d", WEXITSTATUS(status));
        return;
    }
    const char *name = sigabbrev_np(WTERMSIG(status));
    if (name)
        snprintf(text, BENCH_STATUS_BYTES, "SIG%s", name);
    else
        snprintf(text, BENCH_STATUS_BYTES, "signal %d", WTERMSIG(status));
}

static void note_failure(FILE *out, const bench_mode *m)
{
    char status[BENCH_STATUS_BYTES];
    if (m->good == m->count) return;
    bench_status_text(m->status, status);
    fprintf(out, "%s: %d of %d runs ended otherwise than native's first (%s)%s%s\n", m->mode,
            m->count - m->good, m->count, status, m->last_words[0] ? ": " : "", m->last_words);
}

static void note_native_calls(FILE *out, const bench_mode *m)
{
    if (m->good > 0 && m->reason)
        fprintf(out, "%s: %llu of %llu calls native, most because: %s\n", m->mode, m->native,
                m->calls, m->reason->text);
}

static void note_difference(FILE *out, const bench_mode *m)
{
    const comparison *c = &m->output;
    if (!m->is_compared || c->line == 0) return;
    fprintf(out, "%s: %s on line %ld of the output: '%s' for native's '%s'\n", m->mode,
            c->differs ? "the first difference is" : "the largest difference is", c->line, c->other,
            c->native);
}

static void note_all(FILE *out, const bench *b)
{
    unsigned long long calls = 0;
    long varying = 0;
    bool has_difference = false;
    for (int i = 0; i < b->mode_count; i++) {
        const bench_mode *m = &b->modes[i];
        raise_to(&calls, m->calls);
        if (m->output.varying > varying) varying = m->output.varying;
        has_difference |= m->output.line > 0;
    }
    if (b->is_host_device)
        fprintf(out, "the products ran on the host device, whose speed says nothing about a GPU\n");
    if (b->is_interrupted) fprintf(out, "interrupted: not all runs were made\n");
    if (calls == 0)
        fprintf(out, "the program made no call that Tandem intercepts; tandem doctor %s says why\n",
                b->program.command[0]);
    if (varying > 0)
        fprintf(out,
                "%ld words and numbers of the output, such as times, differ between native's own "
                "runs, and are not compared\n",
                varying);
    else if (has_difference && b->repeat == 1)
        fprintf(out, "times that the program prints count as differences; with --repeat 2 or more, "
                     "what native's own runs print differently is not compared\n");
}

char *bench_notes(const bench *b)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out) return NULL;
    note_all(out, b);
    for (int i = 0; i < b->mode_count; i++) {
        const bench_mode *m = &b->modes[i];
        note_failure(out, m);
        if (i > 0) note_native_calls(out, m);
        if (i > 0) note_difference(out, m);
    }
    fclose(out);
    return text;
}
