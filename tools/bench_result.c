#include "tools/bench_result.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tools/visible.h"

/* ---- numbers ---- */

bool bench_is_good_run(const bench_run *run)
{
    return !run->is_late && WIFEXITED(run->status) && WEXITSTATUS(run->status) == 0;
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

static void add_run(bench_mode *m, const bench_report *report)
{
    m->incomplete += report->incomplete;
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

static void sum_up_mode(bench_mode *m)
{
    double walls[BENCH_MOST_REPEATS], products[BENCH_MOST_REPEATS];
    int timed = 0;
    for (int i = 0; i < m->count; i++) {
        const bench_run *run = &m->runs[i];
        const bool is_good = bench_is_good_run(run);
        if (i == 0 || (!is_good && m->good == i)) m->ending = run;
        m->left += run->has_left_processes;
        if (!is_good) continue;
        walls[m->good++] = run->wall_seconds;
        if (run->report.is_timed) products[timed++] = run->report.seconds;
        add_run(m, &run->report);
    }
    m->wall_seconds = median(walls, m->good);
    m->product_seconds = median(products, timed);
    m->least_wall_seconds = m->good > 0 ? walls[0] : -1.0;
    m->most_wall_seconds = m->good > 0 ? walls[m->good - 1] : -1.0;
}

bool bench_is_good(const bench *b)
{
    for (int i = 0; i < b->mode_count; i++)
        if (b->modes[i].good < b->repeat) return false;
    return !b->is_interrupted && !b->is_lost;
}

/* ---- outputs ---- */

bench_label bench_label_of(const bench *b, const bench_mode *m, int number)
{
    const bool is_warm_up = m == &b->warm_up;
    bench_label label = {.mode = m->mode};
    snprintf(label.stem, sizeof label.stem, "%s-%d", is_warm_up ? "warmup" : m->mode, number);
    return label;
}

/* The whole text, in which zero bytes are blanks; the caller frees it. NULL if it cannot be
 * read. */
static char *read_text(FILE *file)
{
    struct stat info;
    if (fstat(fileno(file), &info) != 0) return NULL;
    const size_t bytes = (size_t)info.st_size;
    char *text = malloc(bytes + 1);
    if (text && fread(text, 1, bytes, file) == bytes) {
        text[bytes] = '\0';
        for (char *zero = text; (zero = memchr(zero, '\0', bytes - (size_t)(zero - text)));)
            *zero = ' ';
        return text;
    }
    free(text);
    return NULL;
}

/* A run's output; the caller frees it. NULL if it cannot be read, which is kept in mind. */
static char *read_output(bench *b, const bench_mode *m, int run)
{
    char path[PATH_MAX];
    bench_run_file(&b->program, bench_label_of(b, m, run + 1).stem, ".out", path);
    FILE *file = fopen(path, "r");
    char *text = file ? read_text(file) : NULL;
    if (file) fclose(file);
    b->is_lost |= !text;
    return text;
}

static void compare_mode(bench *b, bench_mode *m, char *const *natives, int count)
{
    for (int i = 0; i < m->count; i++) {
        if (!bench_is_good_run(&m->runs[i])) continue;
        char *text = read_output(b, m, i);
        if (text) compare_outputs(&m->output, natives, count, text);
        m->is_compared = m->is_compared || text;
        free(text);
    }
}

/* Adds the outputs of a native mode's good runs, those of the warm-up where they can say what
 * varies. */
static int read_natives(bench *b, const bench_mode *m, char **natives, int count)
{
    for (int i = 0; i < m->count; i++) {
        char *text = bench_is_good_run(&m->runs[i]) ? read_output(b, m, i) : NULL;
        if (text && (m != &b->warm_up || (count > 0 && are_outputs_alike(natives[0], text))))
            natives[count++] = text;
        else
            free(text);
    }
    return count;
}

static void compare_modes(bench *b)
{
    const bench_mode *native = &b->modes[0], *warm_up = &b->warm_up;
    char **natives = calloc((size_t)native->count + (size_t)warm_up->count, sizeof *natives);
    if (!natives) {
        b->is_lost = true;
        return;
    }
    int count = read_natives(b, native, natives, 0);
    count = read_natives(b, warm_up, natives, count);
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
        sum_up_mode(m);
        for (int run = 0; run < m->count && !b->device[0]; run++)
            b->device = m->runs[run].report.device;
    }
    compare_modes(b);
}

/* ---- words ---- */

/* Of glibc 2.32; with an older one a signal has its number alone. */
#pragma weak sigabbrev_np

void bench_ending_text(const bench_run *run, char text[BENCH_STATUS_BYTES])
{
    const int status = run->status;
    const char *name = WIFSIGNALED(status) && sigabbrev_np ? sigabbrev_np(WTERMSIG(status)) : NULL;
    if (run->is_late)
        snprintf(text, BENCH_STATUS_BYTES, "timeout");
    else if (WIFEXITED(status))
        snprintf(text, BENCH_STATUS_BYTES, "%d", WEXITSTATUS(status));
    else if (name)
        snprintf(text, BENCH_STATUS_BYTES, "SIG%s", name);
    else
        snprintf(text, BENCH_STATUS_BYTES, "signal %d", WTERMSIG(status));
}

static void note_failure(FILE *out, const bench_mode *m)
{
    char ending[BENCH_STATUS_BYTES];
    if (m->good == m->count) return;
    const char *words = m->ending->last_words;
    bench_ending_text(m->ending, ending);
    fprintf(out, "%s: %d of %d runs failed (%s)%s%s\n", m->mode, m->count - m->good, m->count,
            ending, words[0] ? ": " : "", words);
}

/* What makes times and counts less than they seem. */
static void note_measures(FILE *out, const bench_mode *m)
{
    if (m->left > 0)
        fprintf(out,
                "%s: %d of %d runs left processes behind; what these did after the program's "
                "end is not counted\n",
                m->mode, m->left, m->count);
    if (m->incomplete > 0)
        fprintf(out,
                "%s: reports that were cut short, as processes ended by _exit, exec or a signal: "
                "%d; their last calls are not counted\n",
                m->mode, m->incomplete);
    if (m->good > 0 && m->untimed > 0)
        fprintf(out, "%s: the time of %llu of %llu calls is not known, and not in products s\n",
                m->mode, m->untimed, m->calls);
    if (m->outside > 0)
        fprintf(out, "%s: %llu verified elements are beyond their bounds\n", m->mode, m->outside);
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
    if (!m->is_compared || c->varies || c->line == 0) return;
    fprintf(out, "%s: %s on line %ld of the output: '%s' for native's '%s'\n", m->mode,
            c->differs ? "the first difference is" : "the largest difference is", c->line, c->other,
            c->native);
}

/* Whether outputs say anything, and what is left out of them. */
static void note_outputs(FILE *out, const bench *b)
{
    const comparison *c = NULL; /* the one with most words that vary */
    bool has_difference = false;
    for (int i = 1; i < b->mode_count; i++) {
        const bench_mode *m = &b->modes[i];
        if (!m->is_compared) continue;
        has_difference |= m->output.line > 0;
        if (!c || m->output.varying > c->varying || m->output.varies) c = &m->output;
    }
    if (b->is_lost) fprintf(out, "outputs of some runs could not be read, and are not compared\n");
    if (!c) return;
    if (c->varies)
        fprintf(out, "native's own runs print different numbers of words: outputs are not "
                     "compared\n");
    else if (c->numbers == 0 && !c->differs)
        fprintf(out, "the output has no numbers that can be compared\n");
    if (c->varying > 0)
        fprintf(out,
                "%ld of %ld words and numbers of the output, such as times, %s between "
                "native's own runs, and %s not compared\n",
                c->varying, c->tokens, c->varying == 1 ? "differs" : "differ",
                c->varying == 1 ? "is" : "are");
    else if (has_difference && b->repeat + b->warm_ups == 1)
        fprintf(out, "times that the program prints count as differences; with --repeat 2 or more, "
                     "or a warm-up, what native's own runs print differently is not compared\n");
}

static void note_all(FILE *out, const bench *b)
{
    unsigned long long calls = 0;
    for (int i = 0; i < b->mode_count; i++) raise_to(&calls, b->modes[i].calls);
    if (b->is_host_device)
        fprintf(out, "the products ran on the host device, whose speed says nothing about a GPU\n");
    if (b->is_interrupted) fprintf(out, "interrupted: not all runs were made\n");
    if (b->drops_input) fprintf(out, "the program had no standard input: only a file is given\n");
    if (b->has_rules) fprintf(out, "TANDEM_RULES holds in all modes but native\n");
    if (b->modes[0].emulated > 0)
        fprintf(out,
                "native: %llu of %llu calls are emulated, as the program itself asks for "
                "them\n",
                b->modes[0].emulated, b->modes[0].calls);
    if (calls == 0)
        visible_line(out,
                     "the program made no call that Tandem intercepts; tandem doctor %s says why",
                     b->program.command[0]);
    note_outputs(out, b);
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
        note_measures(out, m);
        if (i > 0) note_native_calls(out, m);
        if (i > 0) note_difference(out, m);
    }
    fclose(out);
    return text;
}
