#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/options/options.h"
#include "lib/report/report_internal.h"
#include "tools/bench_output.h"
#include "tools/bench_result.h"
#include "tools/launch.h"
#include "tools/tandem.h"

enum { MODES, REPEAT, CSV, JSON, HTML, KEEP, HOSTGPU };

static const char default_modes[] = "native,auto,ozaki2,faithful";

/* ---- arguments ---- */

static bool has_mode(const bench *b, const char *mode)
{
    for (int i = 0; i < b->mode_count; i++)
        if (strcmp(b->modes[i].mode, mode) == 0) return true;
    return false;
}

/* native is there already, as the first. */
static bool add_mode(bench *b, const char *mode)
{
    td_options o;
    td_options_set_defaults(&o);
    if (!td_options_set(&o, TD_OPTION_MODE, "--modes", mode, TD_ORIGIN_CALL)) return false;
    if (strcmp(mode, "native") == 0) return true;
    if (has_mode(b, mode) || b->mode_count == BENCH_MOST_MODES) {
        complain("--modes names '%s'%s; allowed: up to %d modes, each once", mode,
                 has_mode(b, mode) ? " twice" : "", BENCH_MOST_MODES);
        return false;
    }
    strcpy(b->modes[b->mode_count++].mode, mode);
    return true;
}

static bool parse_modes(bench *b, const char *list)
{
    char mode[2 * TD_MODE_BYTES];
    strcpy(b->modes[b->mode_count++].mode, "native");
    for (;; list++) {
        const size_t length = strcspn(list, ",");
        snprintf(mode, sizeof mode, "%.*s", (int)length, list);
        if (!add_mode(b, mode)) return false;
        list += length;
        if (*list == '\0') return true;
    }
}

static bool parse_repeat(bench *b, const char *text)
{
    char *end = NULL;
    const long value = text ? strtol(text, &end, 10) : 1;
    b->repeat = (int)value;
    if (!text || (end != text && *end == '\0' && value >= 1 && value <= BENCH_MOST_REPEATS))
        return true;
    complain("--repeat is '%s'; allowed: 1 to %d", text, BENCH_MOST_REPEATS);
    return false;
}

/* ---- where files go ---- */

static bool is_empty_folder(const char *path)
{
    DIR *folder = opendir(path);
    bool is_empty = folder != NULL;
    for (struct dirent *entry; is_empty && (entry = readdir(folder));)
        is_empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (folder) closedir(folder);
    return is_empty;
}

/* True if the library would put something else in place of a part of the name. */
static bool is_pattern(const char *path) { return strstr(path, "%p") || strstr(path, "%r"); }

/* The runs' files are kept in a folder that has no others, so that none is lost or taken for one of
 * them. */
static bool open_kept(const char *name, char folder[PATH_MAX])
{
    const bool is_made = mkdir(name, 0777) == 0;
    if ((!is_made && errno != EEXIST) || !realpath(name, folder)) {
        complain("--keep is '%s', which cannot be made (%s)", name, strerror(errno));
        return false;
    }
    const bool is_good = is_empty_folder(folder) && !is_pattern(folder);
    if (!is_good)
        complain("--keep is '%s'; allowed: a new or empty folder, without %%p and %%r in its path",
                 name);
    return is_good;
}

static bool open_temporary(char folder[PATH_MAX])
{
    const char *base = getenv("TMPDIR");
    if (!base || base[0] != '/' || is_pattern(base)) base = "/tmp";
    if (snprintf(folder, PATH_MAX, "%s/tandem-bench-XXXXXX", base) < PATH_MAX && mkdtemp(folder))
        return true;
    complain("cannot make a folder in '%s' (%s)", base, strerror(errno));
    return false;
}

static void remove_folder(const char *path)
{
    char name[PATH_MAX];
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (snprintf(name, sizeof name, "%s/%s", path, entry->d_name) < PATH_MAX) unlink(name);
    if (folder) closedir(folder);
    rmdir(path);
}

/* ---- result files ---- */

/* A file that is asked for, and what prints it. */
typedef struct {
    int option;
    bench_printer *print;
    const char *name; /* NULL: not asked for */
    td_report_file file;
} result_file;

enum { RESULT_FILES = 3 };

static bool open_results(const command_line *line, result_file files[RESULT_FILES])
{
    for (int i = 0; i < RESULT_FILES; i++) {
        td_file_name name;
        result_file *f = &files[i];
        f->name = line->values[f->option];
        if (!f->name || (td_file_name_set(&name, f->name) && td_report_file_open(&f->file, &name)))
            continue;
        complain("cannot write '%s' (%s)", f->name, td_file_reason(errno));
        return false;
    }
    return true;
}

static bool write_result(result_file *f, const bench *b, const char *notes)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (out) f->print(out, b, notes);
    const bool is_composed = out && fclose(out) == 0;
    const bool is_written = is_composed && td_report_file_write(&f->file, false, text, length);
    if (!is_written) complain("cannot write '%s' (%s)", f->name, td_file_reason(errno));
    free(text);
    return is_written;
}

static bool write_results(result_file files[RESULT_FILES], const bench *b)
{
    char *notes = bench_notes(b);
    bool are_written = notes != NULL;
    if (notes) bench_print_table(stdout, b, notes);
    if (fflush(stdout) != 0) are_written = false;
    for (int i = 0; notes && i < RESULT_FILES; i++)
        if (files[i].name && !write_result(&files[i], b, notes)) are_written = false;
    free(notes);
    return are_written;
}

/* ---- runs ---- */

static bool run_mode(bench *b, bench_mode *m, int number)
{
    char status[BENCH_STATUS_BYTES];
    bench_run *run = &m->runs[m->count];
    fprintf(stderr, "tandem: bench: %s, run %d of %d: ", m->mode, number, b->repeat);
    if (!bench_run_once(&b->program, m->mode, number, run)) {
        fprintf(stderr, "cannot be started (%s)\n", strerror(errno));
        return false;
    }
    bench_status_text(run->status, status);
    if (bench_run_is_stopped()) {
        fprintf(stderr, "interrupted\n");
        return false;
    }
    fprintf(stderr, "%.3f s, exit %s\n", run->wall_seconds, status);
    m->count++;
    return true;
}

/* Mode after mode, then all of them again: what changes with time, such as a device's temperature,
 * meets them alike. */
static void run_all(bench *b)
{
    for (int number = 1; number <= b->repeat; number++)
        for (int i = 0; i < b->mode_count; i++)
            if (bench_run_is_stopped() || !run_mode(b, &b->modes[i], number)) {
                b->is_interrupted = true;
                return;
            }
}

static bool allocate_runs(bench *b)
{
    for (int i = 0; i < b->mode_count; i++) {
        b->modes[i].runs = calloc((size_t)b->repeat, sizeof *b->modes[i].runs);
        if (!b->modes[i].runs) return false;
    }
    return true;
}

static void free_runs(bench *b)
{
    for (int i = 0; i < b->mode_count; i++) free(b->modes[i].runs);
}

/* The exit status. Nothing is printed if not even native's first run came to its end. */
static int measure(bench *b, result_file files[RESULT_FILES])
{
    int status = 1;
    if (allocate_runs(b)) {
        bench_run_open();
        run_all(b);
        if (b->modes[0].count > 0) {
            bench_sum_up(b);
            status = write_results(files, b) && bench_is_good(b) ? 0 : 1;
        }
    }
    free_runs(b);
    return status;
}

static int run(const command_line *line)
{
    static bench b;
    static result_file files[RESULT_FILES] = {{.option = CSV, .print = bench_print_csv},
                                              {.option = JSON, .print = bench_print_json},
                                              {.option = HTML, .print = bench_print_html}};
    const char *modes = line->values[MODES], *kept = line->values[KEEP];
    char folder[PATH_MAX];
    td_options o;
    launch l;
    if (line->count == 0) {
        complain("no program given; see tandem bench --help");
        return EXIT_USAGE;
    }
    if (!parse_modes(&b, modes ? modes : default_modes) ||
        !parse_repeat(&b, line->values[REPEAT]) || !td_options_parse(&o, environ) ||
        !open_results(line, files))
        return EXIT_USAGE;
    if (!(kept ? open_kept(kept, folder) : open_temporary(folder))) return EXIT_USAGE;
    int status = launch_prepare(&l, line->arguments[0], line->values[HOSTGPU]);
    if (status == 0) {
        b.program = (bench_program){l.path, line->arguments, folder};
        b.is_host_device = l.is_host_device;
        status = measure(&b, files);
    }
    if (!kept) remove_folder(folder);
    return status;
}

const command command_bench = {
    .name = "bench",
    .arguments = "[--] PROGRAM [ARGUMENT...]",
    .most = -1,
    .summary = "run a program in several modes, and compare times and printed numbers",
    .details =
        "Every run is one as `tandem run` makes it, native's first. The difference is the largest "
        "relative one between numbers that native's run and the mode's print on stdout; what "
        "native's own runs print differently, such as times, is not compared. Ends with 0 if all "
        "runs end as native's first, else with 1.",
    .options = {[MODES] = {"modes", "MODES",
                           "with commas between; native,auto,ozaki2,faithful if it is not given"},
                [REPEAT] = {"repeat", "COUNT",
                            "runs in each mode, of which the medians are shown; 1"},
                [CSV] = {"csv", "FILE", "leave the table there as CSV, too"},
                [JSON] = {"json", "FILE", "leave it there as JSON, with every run's time"},
                [HTML] = {"html", "FILE", "leave a page with the table and bars there"},
                [KEEP] = {"keep", "FOLDER",
                          "keep each run's output and report: MODE-N.out, .err and .json"},
                [HOSTGPU] = {"hostgpu", NULL, "use the host device even if there is a GPU"}},
    .run = run,
};
