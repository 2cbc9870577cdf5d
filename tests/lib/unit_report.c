/* The report: what is counted under which key, from several threads and after fork; where it is
 * written; and that a JSON parser reads it back. */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture.h"
#include "cmocka_all.h"
#include "lib/report/report.h"

enum { THREADS = 4, SHAPES = 20000, ROUNDS = 3 };

static td_options options;
static char folder[64], path[192];
static const char *cublas_path; /* of a library that is called as cuBLAS is */

static void open_report(const char *file)
{
    td_options_set_defaults(&options);
    assert_true(td_options_set(&options, TD_OPTION_REPORT, "file", file, TD_ORIGIN_ENVIRONMENT));
    td_report_open(&options, "1.2.3");
}

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, make_folder());
    snprintf(path, sizeof path, "%s/report.json", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    td_report_close();
    remove_folder(folder);
    return 0;
}

static td_report_key key_of(int64_t m, const char *reason)
{
    return (td_report_key){.entry = TD_ENTRY_cublasDgemm_v2,
                           .mode = "df",
                           .reason = reason,
                           .op_b = TD_OP_T,
                           .m = m,
                           .n = 2,
                           .k = 3,
                           .batch = 1};
}

static void write_text(const char *file, const char *text)
{
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
}

/* Counts one call and returns its record. */
static td_record *call(int64_t m, const char *reason)
{
    const td_report_key key = key_of(m, reason);
    td_record *record = td_report_find(&key);
    td_report_count(record);
    return record;
}

/* True if python's parser reads the file and the expression over its content r holds. */
static bool holds(const char *expression)
{
    char command[1024];
    snprintf(command, sizeof command,
             "python3 -c 'import json, sys; r = json.load(open(\"%s\", encoding=\"utf-8\")); "
             "sys.exit(not (%s))'",
             path, expression);
    return system(command) == 0;
}

static void nothing_is_kept_while_off(void **state)
{
    (void)state;
    td_options_set_defaults(&options);
    td_report_open(&options, "1.2.3");
    assert_null(call(1, NULL));
    td_report_add_time(NULL, 1);
    td_report_add_counters(NULL, NULL);
    td_report_write();
}

static void equal_keys_share_a_record(void **state)
{
    char mode[] = "df", reason[] = "small";
    (void)state;
    open_report(path);
    td_report_key key = key_of(1, "small");
    td_record *record = td_report_find(&key);
    key.mode = mode; /* the same text elsewhere */
    key.reason = reason;
    assert_ptr_equal(td_report_find(&key), record);

    const td_report_key base = key_of(1, "small");
    td_report_key others[11];
    for (int i = 0; i < 11; i++) others[i] = base;
    others[0].entry = TD_ENTRY_cublasGemmEx;
    others[1].mode = "ts";
    others[2].reason = NULL;
    others[3].reason = "large";
    others[4].op_a = TD_OP_C;
    others[5].op_b = TD_OP_N;
    others[6].m = 2;
    others[7].n = 1;
    others[8].k = 2;
    others[9].batch = 2;
    others[10].device = 1;
    for (int i = 0; i < 11; i++) {
        assert_ptr_not_equal(td_report_find(&others[i]), record);
        assert_int_equal(td_record_number(td_report_find(&others[i])), i + 1);
        for (int j = 0; j < i; j++)
            assert_ptr_not_equal(td_report_find(&others[i]), td_report_find(&others[j]));
    }
}

static void json_holds_what_was_counted(void **state)
{
    static td_counters counters = {.repaired = 5, .planes = 15},
                       newer = {.repaired = 2, .planes = 14};
    (void)state;
    open_report(path);
    td_report_set_device(1, "a \"GPU\" \\ \x01 \xc3\xa9 \xff \xed\xa0\x80");
    td_report_set_device(1, "another");
    td_record *record = call(7, NULL);
    call(7, NULL);
    td_report_add_time(record, 1.5);
    td_report_add_time(record, 0.25e-9 + 2e-9);
    td_report_add_time(record, -1);
    td_report_add_time(record, (double)NAN);
    td_report_add_time(record, (double)INFINITY);
    td_report_add_counters(record, &counters);
    counters.repaired = 40;
    td_report_add_counters(record, &newer); /* of another context */
    td_report_add_counters(record, &counters);
    newer.repaired = 2;
    call(8, "mode is native");
    td_report_write();

    assert_true(
        holds("r[\"schema\"] == 1 and r[\"tandem\"] == \"1.2.3\" and r[\"mode\"] == \"native\""));
    assert_true(holds(
        "r[\"host_device\"] is False and \"note\" not in r and \"unit_report\" in r[\"program\"]"));
    assert_true(
        holds("r[\"devices\"] == [{\"number\": 1, \"name\": \"a \\\"GPU\\\" \\\\ \\x01 \\xe9 \\xff "
              "\\xed\\xa0\\x80\", \"figures\": None}]"));
    assert_true(holds(
        "r[\"options\"][\"TANDEM_REPORT\"][\"origin\"] == \"environment\" and "
        "r[\"options\"][\"TANDEM_MODE\"] == {\"value\": \"native\", \"origin\": \"default\"}"));
    assert_true(holds(
        "r[\"totals\"] == {\"intercepted\": 3, \"emulated\": 2, \"native\": 1, \"unlisted\": 0, "
        "\"timed\": 2, \"seconds\": 1.500000002, \"repaired\": 42, \"verified\": None, "
        "\"outside\": None}"));
    assert_true(holds(
        "r[\"calls\"][0] == {\"function\": \"cublasDgemm_v2\", \"type\": \"binary64\", \"op_a\": "
        "\"N\", \"op_b\": \"T\", "
        "\"m\": 7, \"n\": 2, \"k\": 3, \"batch\": 1, \"device\": 0, \"mode\": \"df\", \"count\": "
        "2, \"timed\": 2, "
        "\"seconds\": 1.500000002, \"repaired\": 42, \"planes\": 15, \"native_reason\": None, "
        "\"choice\": None, "
        "\"predicted\": None, \"native_seconds\": None, \"site\": None, \"verified\": None}"));
    assert_true(holds(
        "r[\"calls\"][1][\"native_reason\"] == \"mode is native\" and len(r[\"calls\"]) == 2"));
    assert_true(holds(
        "all(r[\"calls\"][1][name] is None for name in (\"seconds\", \"repaired\", \"planes\"))"));
}

/* Decisions by prediction. */
static void predictions_are_explained(void **state)
{
    const td_problem p = {.kind = TD_PRODUCT, .m = 4, .n = 5, .k = 6, .batch = 1};
    const td_decision taken = {.text = "df", .choice = "fast", .forecast = {"df", 0.0025, 0.001}};
    const td_decision kept = {
        .text = "native", .reason = "slow", .forecast = {"ts", 0.0005, 0.002}};
    (void)state;
    open_report(path);
    td_report_set_device(0, "a GPU");
    td_report_set_figures(0, "of our own");
    td_report_set_figures(0, "of others");
    const td_report_key keys[] = {td_report_key_of(TD_ENTRY_cublasDgemm_v2, &p, &taken, 0),
                                  td_report_key_of(TD_ENTRY_cublasDgemm_v2, &p, &kept, 0)};
    for (int i = 0; i < 2; i++) td_report_count(td_report_find(&keys[i]));
    td_report_write();
    assert_true(holds("r[\"devices\"][0][\"figures\"] == \"of our own\""));
    assert_true(holds("r[\"calls\"][0][\"choice\"] == \"fast\" and "
                      "r[\"calls\"][0][\"native_reason\"] is None and "
                      "r[\"calls\"][0][\"predicted\"] == {\"mode\": \"df\", \"seconds\": 0.001, "
                      "\"native_seconds\": 0.0025}"));
    assert_true(holds("r[\"calls\"][1][\"choice\"] is None and "
                      "r[\"calls\"][1][\"native_reason\"] == \"slow\" and "
                      "r[\"calls\"][1][\"predicted\"][\"mode\"] == \"ts\""));
}

static void host_device_is_named(void **state)
{
    (void)state;
    open_report(path);
    td_report_set_host_device();
    call(1, NULL);
    td_report_write();
    assert_true(holds("r[\"host_device\"] is True and \"nothing about a GPU\" in r[\"note\"]"));
}

static void no_calls_make_no_file_without_cublas(void **state)
{
    int lines;
    (void)state;
    open_report(path);
    td_report_write();
    assert_int_not_equal(access(path, F_OK), 0);

    td_log_open(TD_LOG_INFO, NULL);
    capture_begin();
    td_report_write();
    const char *said = capture_end(&lines);
    td_log_open(TD_LOG_WARN, NULL);
    assert_int_equal(lines, 1);
    assert_non_null(strstr(said, "no report in '/tmp/"));
    assert_non_null(strstr(said, "nothing that it loaded is linked to cuBLAS"));
}

/* Runs body while a library with cuBLAS's name is loaded. */
static void with_cublas(void (*body)(void))
{
    void *library = dlopen(cublas_path, RTLD_NOW);
    assert_non_null(library);
    body();
    dlclose(library);
}

static void no_calls_of_cublas_make_a_report(void **state)
{
    (void)state;
    open_report(path);
    with_cublas(td_report_write);
    assert_true(holds("r[\"calls\"] == [] and r[\"totals\"][\"intercepted\"] == 0"));
    assert_true(
        holds("r[\"totals\"][\"seconds\"] is None and r[\"totals\"][\"repaired\"] is None"));
}

/* What a mode counts may be none at all. */
static void nothing_counted_is_not_zero(void **state)
{
    static td_counters none;
    (void)state;
    open_report(path);
    td_record *record = call(1, NULL);
    td_report_add_counters(record, &none);
    td_report_add_time(record, 0);
    td_report_write();
    assert_true(
        holds("r[\"calls\"][0][\"seconds\"] == 0 and r[\"calls\"][0][\"repaired\"] == 0 and "
              "r[\"calls\"][0][\"planes\"] is None"));
    assert_true(holds("r[\"totals\"][\"seconds\"] == 0 and r[\"totals\"][\"repaired\"] == 0"));
}

static void a_key_takes_any_problem(void **state)
{
    const td_problem p = {.kind = TD_TRIANGULAR_SOLVE,
                          .type = TD_COMPLEX_BINARY64,
                          .op_a = TD_OP_C,
                          .side = TD_RIGHT,
                          .triangle = TD_UPPER,
                          .diagonal = TD_UNIT_DIAGONAL,
                          .m = 4,
                          .n = 5,
                          .batch = 6};
    td_problem other = p;
    (void)state;
    open_report(path);
    const td_decision df = {.text = "df"};
    const td_report_key key = td_report_key_of(TD_ENTRY_cublasDgemm_v2, &p, &df, 0);
    td_record *record = td_report_find(&key);
    td_report_count(record);
    other.side = TD_LEFT;
    const td_report_key another = td_report_key_of(TD_ENTRY_cublasDgemm_v2, &other, &df, 0);
    assert_ptr_not_equal(td_report_find(&another), record);
    td_report_write();
    assert_true(holds(
        "r[\"calls\"][0] == {\"function\": \"cublasDgemm_v2\", \"type\": "
        "\"complex binary64\", \"op_a\": \"C\", \"op_b\": \"N\", \"side\": \"R\", \"uplo\": "
        "\"U\", \"diag\": \"U\", \"m\": 4, \"n\": 5, \"k\": 0, \"batch\": 6, \"device\": 0, "
        "\"mode\": \"df\", \"count\": 1, \"timed\": 0, \"seconds\": None, \"repaired\": None, "
        "\"planes\": None, \"native_reason\": None, \"choice\": None, "
        "\"predicted\": None, \"native_seconds\": None, \"site\": None, \"verified\": None}"));
}

/* Neither one that was there nor one that came since; an empty file has nothing to lose. */
static void an_empty_report_replaces_nothing(void **state)
{
    (void)state;
    write_text(path, "{\"old\": true}");
    open_report(path);
    with_cublas(td_report_write);
    assert_true(holds("r[\"old\"]"));
    write_text(path, "");
    with_cublas(td_report_write);
    assert_true(holds("r[\"calls\"] == []"));
    td_report_close();

    unlink(path);
    open_report(path);
    write_text(path, "{\"fresh\": true}");
    with_cublas(td_report_write);
    assert_true(holds("r[\"fresh\"]"));
    call(1, NULL);
    td_report_write();
    assert_true(holds("len(r[\"calls\"]) == 1"));
}

static void permissions_are_kept(void **state)
{
    struct stat info;
    const mode_t before = umask(022);
    (void)state;
    write_text(path, "old");
    assert_int_equal(chmod(path, 0600), 0);
    open_report(path);
    call(1, NULL);
    td_report_write();
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
    assert_true(holds("len(r[\"calls\"]) == 1"));

    unlink(path);
    td_report_write();
    umask(before);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0644);
}

/* The owner too: a new file would be this user's. */
static void another_users_file_stays_theirs(void **state)
{
    enum { SOMEBODY = 65534 };
    struct stat info;
    (void)state;
    if (geteuid() != 0) skip();
    write_text(path, "old");
    assert_int_equal(chown(path, SOMEBODY, SOMEBODY), 0);
    open_report(path);
    call(1, NULL);
    td_report_write();
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_uid, SOMEBODY);
    assert_true(holds("len(r[\"calls\"]) == 1"));
}

static void *count_shapes(void *barrier)
{
    pthread_barrier_wait(barrier);
    for (int round = 0; round < ROUNDS; round++)
        for (int64_t m = 0; m < SHAPES; m++) td_report_add_time(call(m, NULL), 1e-9);
    return NULL;
}

static void threads_lose_no_count(void **state)
{
    char expression[256];
    pthread_t threads[THREADS];
    pthread_barrier_t start;
    (void)state;
    open_report(path);
    pthread_barrier_init(&start, NULL, THREADS);
    for (int t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, count_shapes, &start);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    pthread_barrier_destroy(&start);
    td_report_write();
    snprintf(
        expression, sizeof expression,
        "len(r[\"calls\"]) == %d and all(c[\"count\"] == %d == c[\"timed\"] for c in r[\"calls\"])",
        SHAPES, THREADS * ROUNDS);
    assert_true(holds(expression));
}

/* Runs body in a forked child and waits for it. */
static int in_child(void (*body)(void))
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        body();
        td_report_write();
        _exit(0);
    }
    waitpid(child, &status, 0);
    return (int)child;
}

static void do_nothing(void) {}

static void call_once(void) { call(9, NULL); }

static void a_forked_child_counts_for_itself(void **state)
{
    char pattern[128];
    (void)state;
    snprintf(pattern, sizeof pattern, "%s/%%p.json", folder);
    open_report(pattern);
    td_record *record = call(1, NULL);
    static td_counters counters = {.repaired = 5};
    td_report_add_counters(record, &counters);

    int child = in_child(do_nothing);
    snprintf(path, sizeof path, "%s/%d.json", folder, child);
    assert_int_not_equal(access(path, F_OK), 0);

    child = in_child(call_once);
    snprintf(path, sizeof path, "%s/%d.json", folder, child);
    assert_true(holds("len(r[\"calls\"]) == 1 and r[\"calls\"][0][\"m\"] == 9 and "
                      "r[\"totals\"][\"repaired\"] is None"));

    td_report_write();
    snprintf(path, sizeof path, "%s/%d.json", folder, (int)getpid());
    assert_true(holds("len(r[\"calls\"]) == 1 and r[\"calls\"][0][\"m\"] == 1 and "
                      "r[\"totals\"][\"repaired\"] == 5"));
}

/* What a process leaves that is killed. */
static void the_file_is_kept_up_to_date(void **state)
{
    (void)state;
    write_text(path, "{\"old\": true}");
    open_report(path);
    options.report_every = 0;
    for (int i = 1; i <= 3; i++) {
        char expression[128];
        call(1, NULL);
        assert_true(td_report_is_due());
        td_report_write_so_far();
        snprintf(expression, sizeof expression,
                 "r[\"calls\"][0][\"count\"] == %d and r[\"is_complete\"] is False", i);
        assert_true(holds(expression));
    }
    options.report_every = 1000;
    assert_true(td_report_is_due());
    assert_false(td_report_is_due());
    td_report_write();
    assert_true(holds("r[\"calls\"][0][\"count\"] == 3 and r[\"is_complete\"] is True"));
    call(1, NULL);
    td_report_write_so_far(); /* of a thread that still runs */
    assert_true(holds("r[\"is_complete\"] is True"));

    options.report_every = TD_NEVER;
    assert_false(td_report_is_due());
}

static void what_cannot_be_kept_up_is_said_once(void **state)
{
    int lines;
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    open_report(path);
    options.report_every = 0;
    call(1, NULL);
    capture_begin();
    for (int i = 0; i < 3; i++)
        if (td_report_is_due()) td_report_write_so_far();
    assert_non_null(strstr(capture_end(&lines), "nobody reads the pipe"));
    assert_int_equal(lines, 1);
}

/* Another process of the same run, before or after, keeps what it has written. */
static void processes_of_a_run_have_files_of_their_own(void **state)
{
    char name[3][256];
    int lines;
    (void)state;
    open_report(path);
    options.report_every = TD_NEVER;
    snprintf(name[0], sizeof name[0], "%s", path);
    const int first = in_child(call_once), second = in_child(call_once);
    call(1, NULL);
    capture_begin();
    td_report_write();
    const char *said = capture_end(&lines);
    snprintf(name[1], sizeof name[1], "%s.%d", path, second);
    snprintf(name[2], sizeof name[2], "%s.%d", path, (int)getpid());
    assert_int_equal(lines, 1);
    assert_non_null(strstr(said, "another process of this run"));
    assert_non_null(strstr(said, name[2]));
    const int pids[] = {first, second, (int)getpid()};
    for (int i = 0; i < 3; i++) {
        char expression[64];
        memcpy(path, name[i], sizeof path);
        snprintf(expression, sizeof expression, "r[\"pid\"] == %d", pids[i]);
        assert_true(holds(expression));
    }
    call(1, NULL);
    td_report_write(); /* its own is replaced */
    assert_true(holds("r[\"totals\"][\"intercepted\"] == 2"));
}

/* A report of an earlier run is replaced, one that was written meanwhile is not. */
static void reports_of_other_runs(void **state)
{
    static const char other[] = "{\n  \"run\": \"1-2\",\n  \"old\": true}";
    char own[256];
    (void)state;
    write_text(path, other);
    usleep(20000); /* longer than the step of the clock that files have their times from */
    open_report(path);
    call(1, NULL);
    td_report_write();
    assert_true(holds("r[\"pid\"] > 0"));
    td_report_close();

    open_report(path);
    call(1, NULL);
    usleep(20000);
    write_text(path, other);
    td_report_write();
    assert_true(holds("r[\"old\"]"));
    snprintf(own, sizeof own, "%s.%d", path, (int)getpid());
    memcpy(path, own, sizeof path);
    assert_true(holds("r[\"pid\"] > 0"));
}

static void the_file_is_found_again_after_chdir(void **state)
{
    char old[512];
    (void)state;
    assert_non_null(getcwd(old, sizeof old));
    assert_int_equal(chdir(folder), 0);
    open_report("report.json");
    assert_int_equal(chdir(old), 0);
    call(1, NULL);
    td_report_write();
    assert_true(holds("r[\"schema\"] == 1"));
}

static void links_are_followed(void **state)
{
    char link[128];
    struct stat info;
    (void)state;
    snprintf(link, sizeof link, "%s/link", folder);
    FILE *target = fopen(path, "w");
    fclose(target);
    assert_int_equal(symlink(path, link), 0);
    open_report(link);
    call(1, NULL);
    td_report_write();
    assert_true(holds("r[\"schema\"] == 1"));
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
}

/* A link to no file, and one to itself: neither is a place for a report, nor replaced by one. */
static void bad_links_are_said(void **state)
{
    char nowhere[128];
    (void)state;
    snprintf(nowhere, sizeof nowhere, "%s/nowhere", folder);
    static const char *const targets[] = {"missing", "nowhere"};
    static const char *const reasons[] = {"link to no file", "symbolic links"};
    for (int i = 0; i < 2; i++) {
        struct stat info;
        int lines;
        unlink(nowhere);
        assert_int_equal(symlink(targets[i], nowhere), 0);
        capture_begin();
        open_report(nowhere);
        const char *said = capture_end(&lines);
        assert_int_equal(lines, 1);
        assert_non_null(strstr(said, nowhere));
        assert_non_null(strstr(said, reasons[i]));
        td_report_write();
        assert_int_equal(lstat(nowhere, &info), 0);
        assert_true(S_ISLNK(info.st_mode));
    }
}

/* What td_report_write says, in one line. */
static void assert_write_fails(const char *reason)
{
    int lines;
    capture_begin();
    td_report_write();
    const char *said = capture_end(&lines);
    assert_int_equal(lines, 1);
    assert_non_null(strstr(said, "cannot write the report file"));
    assert_non_null(strstr(said, reason));
}

static void a_pipe_without_a_reader_is_said(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    open_report(path);
    call(1, NULL);
    assert_write_fails("nobody reads the pipe");
}

static void a_pipe_is_written_for_its_reader(void **state)
{
    char text[4] = "";
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    open_report(path);
    call(1, NULL);
    const int reader = open(path, O_RDONLY | O_NONBLOCK);
    td_report_write();
    assert_int_equal(read(reader, text, 2), 2);
    close(reader);
    assert_string_equal(text, "{\n");
}

/* As under ulimit -f: the signal that comes with the failure ends the process if nobody takes
 * it. */
static void a_limit_on_file_size_ends_nothing(void **state)
{
    enum { CALLS = 100, LIMIT = 4096 };
    struct rlimit before, little;
    (void)state;
    write_text(path, "{\"old\": true}");
    open_report(path);
    for (int64_t m = 1; m <= CALLS; m++) call(m, NULL);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    little = before;
    little.rlim_cur = LIMIT;
    setrlimit(RLIMIT_FSIZE, &little);
    assert_write_fails("File too large");
    setrlimit(RLIMIT_FSIZE, &before);
    assert_true(holds("r[\"old\"]"));
}

static void a_device_is_written_in_place(void **state)
{
    struct stat info;
    (void)state;
    open_report("/dev/null");
    call(1, NULL);
    td_report_write();
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
}

/* As /dev/stdout after "program > file": the file that somebody has open keeps its place and its
 * content. */
static void a_descriptor_is_appended_to(void **state)
{
    char name[32];
    struct stat before, after;
    (void)state;
    FILE *out = fopen(path, "w");
    fputs("   \n", out);
    fflush(out);
    assert_int_equal(stat(path, &before), 0);
    snprintf(name, sizeof name, "/dev/fd/%d", fileno(out));
    open_report(name);
    call(1, NULL);
    td_report_write();
    fclose(out);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_memory_equal(read_text(path), "   \n{", 5);
    assert_true(holds("len(r[\"calls\"]) == 1"));
}

static void an_unwritable_file_gets_one_line_at_the_start(void **state)
{
    static const char *const bad[] = {"/nonexistent/folder/report.json", "/tmp",
                                      "/proc/report.json"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int lines;
        capture_begin();
        open_report(bad[i]);
        const char *text = capture_end(&lines);
        assert_int_equal(lines, 1);
        assert_non_null(strstr(text, bad[i]));
        assert_null(call(1, NULL));
        capture_begin();
        td_report_write();
        capture_end(&lines);
        assert_int_equal(lines, 0);
    }
}

static void opening_leaves_the_old_file_alone(void **state)
{
    (void)state;
    FILE *old = fopen(path, "w");
    fputs("{\"old\": 1}", old);
    fclose(old);
    open_report(path);
    assert_true(holds("r[\"old\"] == 1"));
}

static void the_table_goes_to_stderr(void **state)
{
    int lines;
    (void)state;
    capture_begin();
    open_report("-");
    td_report_write();
    assert_non_null(strstr(capture_end(&lines), "made no call"));
    assert_int_equal(lines, 1);
    td_report_close();

    capture_begin();
    open_report("-");
    td_report_add_time(call(1234, "too small"), 0.0125);
    td_report_set_host_device();
    td_report_write();
    const char *text = capture_end(&lines);
    assert_int_equal(lines, 4);
    assert_non_null(strstr(text, "1 calls, 0 emulated, 1 native"));
    assert_non_null(strstr(text, "nothing about a GPU"));
    assert_non_null(strstr(text, "1234"));
    assert_non_null(strstr(text, "12.500"));
    assert_non_null(strstr(text, "12.500  too small\n"));
    for (const char *at = text; *at; at = strchr(at, '\n') + 1)
        assert_memory_equal(at, "tandem: ", 8);
}

/* A program may close stderr, and open a file that then has its number. */
static void the_table_goes_where_stderr_led(void **state)
{
    int lines;
    (void)state;
    write_text(path, "data");
    for (int is_reused = 0; is_reused < 2; is_reused++) {
        capture_begin();
        open_report("-");
        call(1234, NULL);
        close(STDERR_FILENO);
        if (is_reused) assert_int_equal(open(path, O_RDWR), STDERR_FILENO);
        td_report_write();
        const char *text = capture_end(&lines);
        assert_non_null(strstr(text, "1234"));
        assert_string_equal(read_text(path), "data");
        td_report_close();
    }
}

/* The longest line of a text. */
static size_t longest_line(const char *text)
{
    size_t longest = 0;
    while (*text) {
        const size_t length = strcspn(text, "\n");
        if (length > longest) longest = length;
        text += length + (text[length] == '\n');
    }
    return longest;
}

/* Its ms are of all calls, not of the timed ones alone; columns that say nothing are not there. */
static void the_table_says_all_calls(void **state)
{
    int lines;
    (void)state;
    capture_begin();
    open_report("-");
    for (int i = 0; i < 10; i++) call(7, NULL);
    td_report_add_time(call(7, NULL), 0.5);
    td_report_add_time(call(7, NULL), 0.25);
    td_report_write();
    const char *text = capture_end(&lines);
    assert_non_null(strstr(text, "ms, all calls"));
    assert_non_null(strstr(text, "4500.000"));
    assert_null(strstr(text, "batch"));
    assert_null(strstr(text, "planes"));
    assert_null(strstr(text, "repaired"));
}

static void the_table_is_no_wider_than_a_terminal(void **state)
{
    static td_counters counters = {.repaired = 1234567890, .planes = 15};
    const char reason[] = "C is not memory of the current device";
    int lines;
    (void)state;
    capture_begin();
    open_report("-");
    td_report_key key = key_of(100000, NULL);
    key.entry = TD_ENTRY_cublasDgemmStridedBatched_64;
    key.n = key.k = key.batch = 100000;
    key.mode = "faithful:fp64";
    key.choice = "predicted fastest";
    key.forecast = (td_forecast){.mode = "faithful:fp64", .native = 0.5, .emulated = 0.25};
    td_record *record = td_report_find(&key);
    td_report_count(record);
    td_report_add_time(record, 12345.678);
    td_report_add_counters(record, &counters);
    call(100000, reason);
    td_report_write();
    const char *text = capture_end(&lines);
    assert_non_null(
        strstr(text, "predicted fastest: faithful:fp64 250.000 ms, native 500.000 ms\n"));
    assert_non_null(strstr(text, reason));
    assert_non_null(strstr(text, "\ntandem: DgemmStridedBatched_64  "));
    assert_true(longest_line(text) <= 120);
}

#define REPORT_TEST(body) cmocka_unit_test_setup_teardown(body, set_up, tear_down)

static void in_parent(void) { td_report_after_fork(false); }

static void in_child_too(void) { td_report_after_fork(true); }

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    cublas_path = argv[1];
    pthread_atfork(td_report_before_fork, in_parent, in_child_too);
    const struct CMUnitTest tests[] = {
        REPORT_TEST(nothing_is_kept_while_off),
        REPORT_TEST(equal_keys_share_a_record),
        REPORT_TEST(json_holds_what_was_counted),
        REPORT_TEST(predictions_are_explained),
        REPORT_TEST(host_device_is_named),
        REPORT_TEST(no_calls_make_no_file_without_cublas),
        REPORT_TEST(no_calls_of_cublas_make_a_report),
        REPORT_TEST(nothing_counted_is_not_zero),
        REPORT_TEST(a_key_takes_any_problem),
        REPORT_TEST(an_empty_report_replaces_nothing),
        REPORT_TEST(permissions_are_kept),
        REPORT_TEST(another_users_file_stays_theirs),
        REPORT_TEST(threads_lose_no_count),
        REPORT_TEST(a_forked_child_counts_for_itself),
        REPORT_TEST(the_file_is_kept_up_to_date),
        REPORT_TEST(what_cannot_be_kept_up_is_said_once),
        REPORT_TEST(processes_of_a_run_have_files_of_their_own),
        REPORT_TEST(reports_of_other_runs),
        REPORT_TEST(the_file_is_found_again_after_chdir),
        REPORT_TEST(links_are_followed),
        REPORT_TEST(bad_links_are_said),
        REPORT_TEST(a_pipe_without_a_reader_is_said),
        REPORT_TEST(a_pipe_is_written_for_its_reader),
        REPORT_TEST(a_limit_on_file_size_ends_nothing),
        REPORT_TEST(a_device_is_written_in_place),
        REPORT_TEST(a_descriptor_is_appended_to),
        REPORT_TEST(an_unwritable_file_gets_one_line_at_the_start),
        REPORT_TEST(opening_leaves_the_old_file_alone),
        REPORT_TEST(the_table_goes_to_stderr),
        REPORT_TEST(the_table_goes_where_stderr_led),
        REPORT_TEST(the_table_says_all_calls),
        REPORT_TEST(the_table_is_no_wider_than_a_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
