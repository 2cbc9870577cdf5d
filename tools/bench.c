#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/options/options.h"
#include "tools/bench_output.h"
#include "tools/bench_result.h"
#include "tools/launch.h"
#include "tools/result_file.h"
#include "tools/tandem.h"

enum { MODES, REPEAT, WARM_UP, TIMEOUT, CSV, JSON, HTML, KEEP, HOSTGPU };

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
    if (has_mode(b, mode) || b->mode_count == BENCH_MOST_MODES)
        return complain("--modes names '%s'%s; allowed: up to %d modes, each once", mode,
                        has_mode(b, mode) ? " twice" : "", BENCH_MOST_MODES);
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

static bool parse_counts(const command_line *line, bench *b)
{
    enum { MOST_SECONDS = 30 * 86400 };
    /* Options that are whole numbers, and what they are if they are not given. */
    const struct {
        int option, fallback;
        command_range range;
        int *value;
    } counts[] = {{REPEAT, 1, {1, BENCH_MOST_REPEATS, ""}, &b->repeat},
                  {WARM_UP, 1, {0, BENCH_MOST_REPEATS, ""}, &b->warm_ups},
                  {TIMEOUT, 0, {1, MOST_SECONDS, "seconds"}, &b->program.timeout}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const int option = counts[i].option;
        long value = counts[i].fallback;
        if (!command_number(line->command->options[option].name, line->values[option],
                            &counts[i].range, &value))
            return false;
        *counts[i].value = (int)value;
    }
    return true;
}

/* Variables that every run has its own value of. */
static void warn_of_variables(const td_options *o)
{
    if (o->origins[TD_OPTION_MODE] != TD_ORIGIN_DEFAULT)
        warn_of("TANDEM_MODE has no effect: bench takes the modes of --modes");
    if (o->origins[TD_OPTION_REPORT] != TD_ORIGIN_DEFAULT)
        warn_of("TANDEM_REPORT has no effect: every run has a report of its own (--keep)");
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
    if ((!is_made && errno != EEXIST) || !realpath(name, folder))
        return complain("--keep is '%s', which cannot be made (%s)", name, strerror(errno));
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
    return complain("cannot make a folder in '%s' (%s)", base, strerror(errno));
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

/* ---- results ---- */

enum { RESULT_FILES = 3 };

static bool write_results(result_file files[RESULT_FILES], const bench *b)
{
    char *notes = bench_notes(b);
    const bench_results results = {b, notes};
    bool are_written = notes != NULL;
    if (notes && !result_files_have_stdout(files, RESULT_FILES))
        bench_print_table(stdout, &results);
    if (notes) are_written = result_files_write(files, RESULT_FILES, &results);
    if (fflush(stdout) != 0) are_written = false; /* main says so */
    free(notes);
    return are_written;
}

/* ---- runs ---- */

static bool run_once(bench *b, bench_mode *m, int number)
{
    char ending[BENCH_STATUS_BYTES];
    const bool is_warm_up = m == &b->warm_up;
    const bench_label label = bench_label_of(b, m, number);
    bench_run *run = &m->runs[m->count];
    fprintf(stderr, "tandem: bench: %s, %s %d of %d: ", m->mode, is_warm_up ? "warm-up" : "run",
            number, is_warm_up ? b->warm_ups : b->repeat);
    const bool is_run = bench_run_once(&b->program, &label, run);
    if (bench_run_is_stopped()) {
        fprintf(stderr, "interrupted\n");
    } else if (!is_run) {
        fprintf(stderr, "cannot be started, or its files not be kept in '%s' (%s)\n",
                b->program.folder, strerror(errno));
    } else {
        bench_ending_text(run, ending);
        fprintf(stderr, "%.3f s, exit %s\n", run->wall_seconds, ending);
        m->count++;
        return true;
    }
    b->is_interrupted = true;
    return false;
}

/* The first run of all is native; there is nothing to compare if not even that is good. */
static bool is_first_good(const bench *b, const bench_run *first)
{
    char ending[BENCH_STATUS_BYTES];
    if (bench_is_good_run(first)) return true;
    bench_ending_text(first, ending);
    return complain(
        "'%s' fails without emulation (%s), %s%s; only runs that end with 0 are compared",
        b->program.command[0], ending, first->last_words[0] ? "and says: " : "and says nothing",
        first->last_words);
}

/* Mode after mode, then all of them again: what changes with time, such as a device's temperature,
 * meets them alike. False if nothing can be compared. */
static bool run_all(bench *b)
{
    for (int number = 1; number <= b->warm_ups; number++)
        if (!run_once(b, &b->warm_up, number) || !is_first_good(b, &b->warm_up.runs[0]))
            return false;
    for (int number = 1; number <= b->repeat; number++)
        for (int i = 0; i < b->mode_count; i++) {
            if (!run_once(b, &b->modes[i], number)) return b->modes[0].count > 0;
            if (!is_first_good(b, &b->modes[0].runs[0])) return false;
        }
    return true;
}

static bool allocate_runs(bench *b)
{
    strcpy(b->warm_up.mode, b->modes[0].mode);
    b->warm_up.runs = calloc((size_t)b->warm_ups + 1, sizeof *b->warm_up.runs);
    for (int i = 0; i < b->mode_count; i++) {
        b->modes[i].runs = calloc((size_t)b->repeat, sizeof *b->modes[i].runs);
        if (!b->modes[i].runs) return false;
    }
    return b->warm_up.runs;
}

static void free_runs(bench *b)
{
    free(b->warm_up.runs);
    for (int i = 0; i < b->mode_count; i++) free(b->modes[i].runs);
}

/* The exit status. Nothing is printed if not even native's first run came to its end, and well. */
static int measure(bench *b, result_file files[RESULT_FILES])
{
    int status = 1;
    b->drops_input = bench_run_drops_input();
    if (b->drops_input)
        warn_of(
            "standard input can be read only once, so that no run gets it; give a file: < FILE");
    if (allocate_runs(b) && run_all(b)) {
        bench_sum_up(b);
        status = write_results(files, b) && bench_is_good(b) ? 0 : 1;
    }
    free_runs(b);
    return status;
}

/* Prepares the runs and makes them; the exit status. */
static int measure_in(const char *folder, const command_line *line, bench *b,
                      result_file files[RESULT_FILES])
{
    launch l;
    b->program.folder = folder;
    b->program.command = line->arguments;
    if (!bench_run_has_room(&b->program))
        return usage_error("cannot keep what runs leave in '%s' (%s)", folder, strerror(errno));
    const int status = launch_prepare(&l, line->arguments[0], line->values[HOSTGPU]);
    if (status) return status;
    b->program.path = l.path;
    b->is_host_device = l.is_host_device;
    return measure(b, files);
}

static int run(const command_line *line)
{
    static bench b;
    static result_file files[RESULT_FILES] = {{.option = CSV, .print = bench_print_csv},
                                              {.option = JSON, .print = bench_print_json},
                                              {.option = HTML, .print = bench_print_html}};
    const char *modes = line->values[MODES], *kept = line->values[KEEP];
    static char folder[PATH_MAX];
    td_options o;
    if (line->count == 0) return usage_error("no program given; see tandem bench --help");
    if (!parse_modes(&b, modes ? modes : default_modes) || !parse_counts(line, &b) ||
        !launch_read_options(&o, false) || !result_files_open(files, RESULT_FILES, line))
        return EXIT_USAGE;
    bench_run_open();
    if (!(kept ? open_kept(kept, folder) : open_temporary(folder))) return EXIT_USAGE;
    warn_of_variables(&o);
    b.has_rules = o.rules.text[0];
    const int status = measure_in(folder, line, &b, files);
    if (!kept) remove_folder(folder);
    return status;
}

const command command_bench = {
    .name = "bench",
    .arguments = "[--] PROGRAM [ARGUMENT...]",
    .most = -1,
    .summary = "run a program in several modes, and compare times and printed numbers",
    .details =
        "Every run is one as `tandem run` makes it, native's first, which TANDEM_RULES does not "
        "change. The difference is the largest relative one between numbers that native's run and "
        "the mode's print on stdout; what native's own runs print differently, such as times, is "
        "not compared. Standard input is every run's if it is a file. Runs that do not end with 0 "
        "count as failed. Ends with 0 if all runs end with 0, else with 1. `-` in the place of a "
        "file of results is stdout, without the table.",
    .options = {[MODES] = {"modes", "MODES",
                           "with commas between; native,auto,ozaki2,faithful if it is not given"},
                [REPEAT] = {"repeat", "COUNT",
                            "runs in each mode, of which the medians are shown; 1"},
                [WARM_UP] = {"warmup", "COUNT",
                             "native runs before all others, whose times do not count; 1"},
                [TIMEOUT] = {"timeout", "SECONDS", "end a run that takes longer; it has failed"},
                [CSV] = {"csv", "FILE", "leave the table there as CSV, too"},
                [JSON] = {"json", "FILE", "leave it there as JSON, with every run's time"},
                [HTML] = {"html", "FILE", "leave a page with the table and bars there"},
                [KEEP] = {"keep", "FOLDER",
                          "keep each run's output and report: MODE-N.out, .err and .json"},
                [HOSTGPU] = {"hostgpu", NULL, "use the host device even if there is a GPU"}},
    .run = run,
};
