#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/options/nearest.h"
#include "tools/report_describe.h"
#include "tools/report_page.h"
#include "tools/report_read.h"
#include "tools/result_file.h"
#include "tools/tandem.h"

enum { SORT, AGAINST, CSV, JSON, HTML, FIELDS, SCHEMA };

/* ---- arguments ---- */

static bool parse_order(const char *text, merged_order *order)
{
    char question[TD_QUESTION_BYTES];
    td_nearest search = {.name = text ? text : ""};
    *order = ORDER_TIME;
    if (!text) return true;
    for (int i = 0; i < ORDERS; i++) {
        if (strcmp(text, merged_orders[i]) == 0) {
            *order = (merged_order)i;
            return true;
        }
        td_nearest_offer(&search, merged_orders[i]);
    }
    return complain("--sort is '%s'; allowed: time, calls, gain, error%s", text,
                    td_nearest_ask(&search, question));
}

/* True if the file was read and counts; else that is said. */
static bool add_file(merged *m, const char *name)
{
    char why[REPORT_WHY_BYTES];
    if (merged_add(m, name, why)) return true;
    if (errno == EEXIST) return complain("'%s' is not counted (%s)", m->left_out, why);
    return complain("cannot read '%s' (%s)", name, why);
}

/* Regular files that were given. What is none, such as a pipe, has something new each time. */
typedef struct {
    struct stat *files;
    size_t count;
} file_set;

/* True if the name is of a file that is not in the set yet, which it then is; or of none that can
 * be told: whoever reads it says why. */
static bool is_new(file_set *set, const char *name)
{
    struct stat *const now = &set->files[set->count];
    if (stat(name, now) != 0 || !S_ISREG(now->st_mode)) return true;
    for (size_t i = 0; i < set->count; i++)
        if (set->files[i].st_dev == now->st_dev && set->files[i].st_ino == now->st_ino)
            return false;
    set->count++;
    return true;
}

/* False if one was not read or was given before, which would count its calls twice; that is
 * said. */
static bool add_files(merged *m, char **names, size_t count)
{
    bool are_read = true;
    file_set set = {.files = calloc(count, sizeof *set.files)};
    if (!set.files) complain("out of memory");
    for (size_t i = 0; i < count && set.files; i++) {
        const bool is_first = is_new(&set, names[i]);
        if (!is_first) complain("'%s' is given twice; it counts once", names[i]);
        are_read = is_first && add_file(m, names[i]) && are_read;
    }
    const bool has_memory = set.files;
    free(set.files);
    return are_read && has_memory;
}

/* ---- rows ---- */

typedef struct {
    report_row *rows;
    const void **pointers; /* to them, as tables have them */
    int count;
} row_list;

static void add_row(row_list *list, const merged_line *before, const merged_line *now)
{
    list->rows[list->count] = (report_row){before, now};
    list->pointers[list->count] = &list->rows[list->count];
    list->count++;
}

/* The lines of `now`, and those that `before` alone has. False without memory. */
static bool make_rows(row_list *list, const merged *before, const merged *now)
{
    const size_t most = (size_t)now->count + (size_t)before->count + 1;
    list->rows = calloc(most, sizeof *list->rows);
    list->pointers = calloc(most, sizeof *list->pointers);
    if (!list->rows || !list->pointers) return false;
    for (int i = 0; i < now->count; i++)
        add_row(list, merged_find(before, now->lines[i]), now->lines[i]);
    for (int i = 0; i < before->count; i++)
        if (!merged_find(now, before->lines[i])) add_row(list, before->lines[i], NULL);
    return true;
}

static void free_rows(row_list *list)
{
    free(list->rows);
    free(list->pointers);
}

/* ---- the command ---- */

enum { RESULTS = 3 };

/* False if something could not be written, which is said. */
static bool print_page(const report_page *page, result_file results[RESULTS])
{
    if (!result_files_have_stdout(results, RESULTS)) report_page_print_text(stdout, page);
    return result_files_write(results, RESULTS, page);
}

static bool show(merged *before, merged *now, result_file results[RESULTS], bool is_difference)
{
    row_list list = {.count = 0};
    sheet s = {0};
    bool is_good = make_rows(&list, before, now);
    const table t = {is_difference ? report_difference_columns : report_columns, list.pointers,
                     list.count};
    is_good = is_good && table_fill_sheet(&t, &s);
    if (!is_good) complain("out of memory");
    const report_page page = {now, is_difference ? before : NULL, &t, &s};
    is_good = is_good && print_page(&page, results);
    sheet_free(&s);
    free_rows(&list);
    return is_good;
}

/* True of a report, whose process will not write it again. What is no regular file is not read. */
static bool is_report(const char *path)
{
    char why[REPORT_WHY_BYTES];
    struct stat status;
    report r;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || !report_read(path, &r, why))
        return false;
    report_free(&r);
    return true;
}

/* False if a result would take a report's place, which is said: of `--json` with a report behind
 * it, that it takes a file is easily forgotten. */
static bool spare_reports(const result_file results[RESULTS], const command_line *line)
{
    for (int i = 0; i < RESULTS; i++) {
        if (!results[i].name || !is_report(results[i].name)) continue;
        return complain("--%s is '%s', which is a report; allowed: a file for the result",
                        line->command->options[results[i].option].name, results[i].name);
    }
    return true;
}

static int run(const command_line *line)
{
    const bool is_difference = line->values[AGAINST] != NULL;
    result_file results[RESULTS] = {{.option = CSV, .print = report_page_print_csv},
                                    {.option = JSON, .print = report_page_print_json},
                                    {.option = HTML, .print = report_page_print_html}};
    merged before = {.has_any_mode = is_difference}, now = before;
    merged_order order;
    if (line->values[FIELDS]) report_print_fields();
    if (line->values[SCHEMA]) report_print_schema();
    if (line->values[FIELDS] || line->values[SCHEMA]) return fflush(stdout) == 0 ? 0 : 1;
    if (line->count == 0) return usage_error("no report given; see tandem report --help");
    if (!parse_order(line->values[SORT], &order) || !result_files_open(results, RESULTS, line) ||
        !spare_reports(results, line))
        return EXIT_USAGE;
    const bool has_before = !is_difference || add_file(&before, line->values[AGAINST]);
    bool is_good = add_files(&now, line->arguments, (size_t)line->count) && has_before;
    const bool has_memory = merged_sum_up(&now) && merged_sum_up(&before);
    if (!has_memory) is_good = complain("out of memory");
    merged_sort(&now, order);
    merged_sort(&before, order);
    if (now.report_count > 0 && has_before && has_memory)
        is_good = show(&before, &now, results, is_difference) && is_good;
    merged_free(&now);
    merged_free(&before);
    return fflush(stdout) == 0 && is_good ? 0 : 1;
}

const command command_report = {
    .name = "report",
    .arguments = "FILE...",
    .most = INT_MAX,
    .summary = "merge reports, and show what took how long, and how exact it was",
    .details =
        "Reports of several processes, such as the ranks of a program (TANDEM_REPORT=r-%r.json), "
        "become one. A file that is no report, or not the latest of its process, is named, and the "
        "others are shown; the exit status is 1 then. `-` in the place of a file of a result is "
        "stdout, without the table.",
    .options = {[SORT] = {"sort", "ORDER",
                          "the largest first: time (if it is not given), calls, gain, error"},
                [AGAINST] = {"against", "FILE",
                             "show each kind of call beside what it was in that report"},
                [CSV] = {"csv", "FILE", "leave the table there as CSV, too"},
                [JSON] = {"json", "FILE", "leave it there as JSON, with what the reports are of"},
                [HTML] = {"html", "FILE", "leave the table and a drawing there as a page, too"},
                [FIELDS] = {"fields", NULL, "write docs/report-fields.md: what a report has"},
                [SCHEMA] = {"schema", NULL,
                            "write docs/report.schema.json: the same for programs"}},
    .alone = {{FIELDS, ""}, {SCHEMA, ""}},
    .run = run,
};
