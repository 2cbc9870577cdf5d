#include "failures.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../options/file.h"
#include "../options/log.h"
#include "../report/number_text.h"
#include "../report/report.h"

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

static const char *const part_names[] = {
    [TD_SAMPLE_REAL] = "element",
    [TD_SAMPLE_RE] = "the real part of element",
    [TD_SAMPLE_IM] = "the imaginary part of element",
};

/* One number, or two of a complex one. */
typedef struct {
    char text[2 * TD_NUMBER_BYTES];
} parts_text;
static parts_text exact_parts(td_complex_binary64 x, td_sample_part part)
{
    parts_text r;
    snprintf(r.text, sizeof r.text, "%s%s%s", td_number_exact(x.re).text,
             part == TD_SAMPLE_REAL ? "" : " ",
             part == TD_SAMPLE_REAL ? "" : td_number_exact(x.im).text);
    return r;
}

/* What stands in the columns. */
static const char *columns_of(const td_sample_failure *f)
{
    if (f->width == 2) return "of the row, of the column";
    if (f->width == 4) return "of the row re, im, of the column re, im";
    return "of the row re, im, of the column re, im, and the same of the element that is mirrored";
}

/* One term of the sum a line. */
static void print_lines(FILE *out, const td_sample_failure *f, const double *lines,
                        const char *call)
{
    const char result = f->is_solve ? 'X' : 'C', old = f->is_solve ? 'B' : 'C';
    fprintf(out,
            "# %s\n# %s (%lld, %lld) of %c, counted from 0, of member %lld\n"
            "# alpha %s\n# beta %s\n# %c before %s\n# %c after %s\n"
            "# terms: %s; %lld of %lld terms\n",
            call, part_names[f->part], (long long)f->row, (long long)f->col, result,
            (long long)f->member, exact_parts(f->alpha, f->part).text,
            exact_parts(f->beta, f->part).text, old, exact_parts(f->before, f->part).text, result,
            td_number_exact(f->after).text, columns_of(f), (long long)f->kept, (long long)f->k);
    for (int64_t l = 0; l < f->kept; l++)
        for (int i = 0; i < f->width; i++)
            fprintf(out, "%s%c", td_number_exact(lines[l * f->width + i]).text,
                    i + 1 < f->width ? ' ' : '\n');
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

/* The file in a folder for what this process finds; false if the name is too long. */
static bool name_dump(const char *in, char path[TD_PATH_BYTES])
{
    const int length = snprintf(path, TD_PATH_BYTES, "%s/verify-%ld.txt", in, (long)getpid());
    if (length < TD_PATH_BYTES) return true;
    errno = ENAMETOOLONG;
    return false;
}

static void dump(const td_sample_failure *f, const double *lines, const char *call)
{
    char path[TD_PATH_BYTES];
    size_t length = 0;
    char *text = compose(f, lines, call, &length);
    if (text && name_dump(folder, path) &&
        td_file_replace(path, 0666, NULL, false, text, length, NULL))
        td_log(TD_LOG_ERROR, "its row and its column are in '%s'", path);
    else
        td_log(TD_LOG_ERROR, "cannot write '%s' (%s)", path, td_file_reason(text ? errno : ENOMEM));
    free(text);
}

/* An error that is a number, beside what it may be. */
static void say_error(const td_sample_failure *f, const char *call, const char *where)
{
    const td_number error = td_number_short(f->error),
                    relative = td_number_short(f->bound.relative);
    if (f->is_solve)
        td_log(TD_LOG_ERROR,
               "%s: the residual at %s of X is %s of |op(A)||X| + |alpha||B|; the mode promises %s "
               "(said once)",
               call, where, error.text, relative.text);
    else
        td_log(TD_LOG_ERROR,
               "%s: %s of C is off by %s of |A||B| and %s units in its last place; the mode "
               "promises %s and %s together (said once)",
               call, where, error.text, td_number_short(f->error_ulps).text, relative.text,
               td_number_short(f->bound.ulps).text);
}

static void say(const td_sample_failure *f, const char *call)
{
    char where[128];
    snprintf(where, sizeof where, "%s (%lld, %lld)%s", part_names[f->part], (long long)f->row,
             (long long)f->col, f->member ? " of a member of the batch" : "");
    if (isnan(f->error))
        td_log(TD_LOG_ERROR, "%s: %s of %c is %s, and %s is not (said once)", call, where,
               f->is_solve ? 'X' : 'C', td_number_short(f->after).text,
               f->is_solve ? "the solution" : "the product");
    else
        say_error(f, call, where);
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

void td_failures_look(void)
{
    for (int i = 0; i < TD_MAX_DEVICES && !atomic_load_explicit(&has_said, memory_order_relaxed);
         i++)
        if (atomic_load_explicit(&is_placed[i], memory_order_acquire)) say_first(&places[i]);
}

bool td_failures_open(const td_options *o)
{
    td_file_name name;
    char path[TD_PATH_BYTES];
    if (!o->verify_dump.text[0]) return true;
    if (td_file_name_set(&name, o->verify_dump.text) && td_file_name_path(&name, folder) &&
        name_dump(folder, path) && (!o->verify || td_file_can_replace(path, NULL)))
        return true;
    td_log(TD_LOG_ERROR, "TANDEM_VERIFY_DUMP is '%s' (%s); allowed: a folder for new files",
           o->verify_dump.text, td_file_reason(errno));
    folder[0] = '\0';
    return false;
}

/* Under the lock, once for each device. */
static void add_place(td_device *device)
{
    static bool is_watched;
    if (!is_watched) (void)atexit(td_failures_look);
    is_watched = true;
    const bool keeps = folder[0] && td_device_keep_lines(device);
    places[device->ordinal] = (place){device->failure, keeps ? device->lines : NULL};
    atomic_store_explicit(&is_placed[device->ordinal], true, memory_order_release);
}

pthread_mutex_t td_failures_lock = PTHREAD_MUTEX_INITIALIZER;

void td_failures_watch(td_device *device)
{
    if (atomic_load_explicit(&is_placed[device->ordinal], memory_order_acquire)) return;
    pthread_mutex_lock(&td_failures_lock);
    if (!atomic_load(&is_placed[device->ordinal])) add_place(device);
    pthread_mutex_unlock(&td_failures_lock);
}

bool td_failures_keep_lines(const td_device *device) { return places[device->ordinal].lines; }
