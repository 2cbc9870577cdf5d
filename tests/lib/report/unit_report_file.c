/* Where a report is written: into files that others may have or want, as processes begin and end,
 * through links, pipes and descriptors, and to stderr. */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/support/capture.h"
#include "tests/support/test.h"
#include "report_case.h"

static const char *cublas_path; /* of a library that is called as cuBLAS is */

static void write_text(const char *file, const char *text)
{
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
}

TEST(no_calls_make_no_file_without_cublas)
{
    open_report(report_path);
    td_report_write();
    assert_int_not_equal(access(report_path, F_OK), 0);

    td_log_open(TD_LOG_INFO, NULL);
    capture_begin();
    td_report_write();
    const char *said = capture_of(1);
    td_log_open(TD_LOG_WARN, NULL);
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

TEST(no_calls_of_cublas_make_a_report)
{
    open_report(report_path);
    with_cublas(td_report_write);
    assert_true(holds("r[\"calls\"] == [] and r[\"totals\"][\"intercepted\"] == 0"));
    assert_true(
        holds("r[\"totals\"][\"seconds\"] is None and r[\"totals\"][\"repaired\"] is None"));
}

/* Neither one that was there nor one that came since; an empty file has nothing to lose. */
TEST(an_empty_report_replaces_nothing)
{
    write_text(report_path, "{\"old\": true}");
    open_report(report_path);
    with_cublas(td_report_write);
    assert_true(holds("r[\"old\"]"));
    write_text(report_path, "");
    with_cublas(td_report_write);
    assert_true(holds("r[\"calls\"] == []"));

    unlink(report_path);
    open_report(report_path);
    write_text(report_path, "{\"fresh\": true}");
    with_cublas(td_report_write);
    assert_true(holds("r[\"fresh\"]"));
    call(1, NULL);
    td_report_write();
    assert_true(holds("len(r[\"calls\"]) == 1"));
}

TEST(permissions_are_kept)
{
    struct stat info;
    const mode_t before = umask(022);
    write_text(report_path, "old");
    assert_int_equal(chmod(report_path, 0600), 0);
    open_report(report_path);
    call(1, NULL);
    td_report_write();
    assert_int_equal(stat(report_path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
    assert_true(holds("len(r[\"calls\"]) == 1"));

    unlink(report_path);
    td_report_write();
    umask(before);
    assert_int_equal(stat(report_path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0644);
}

/* The owner too: a new file would be this user's. */
TEST(another_users_file_stays_theirs)
{
    enum { SOMEBODY = 65534 };
    struct stat info;
    if (geteuid() != 0) skip();
    write_text(report_path, "old");
    assert_int_equal(chown(report_path, SOMEBODY, SOMEBODY), 0);
    open_report(report_path);
    call(1, NULL);
    td_report_write();
    assert_int_equal(stat(report_path, &info), 0);
    assert_int_equal(info.st_uid, SOMEBODY);
    assert_true(holds("len(r[\"calls\"]) == 1"));
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

TEST(a_forked_child_counts_for_itself)
{
    char pattern[128];
    snprintf(pattern, sizeof pattern, "%s/%%p.json", report_folder);
    open_report(pattern);
    td_record *record = call(1, NULL);
    static td_counters counters = {.repaired = 5};
    td_report_add_counters(record, &counters);

    int child = in_child(do_nothing);
    snprintf(report_path, sizeof report_path, "%s/%d.json", report_folder, child);
    assert_int_not_equal(access(report_path, F_OK), 0);

    child = in_child(call_once);
    snprintf(report_path, sizeof report_path, "%s/%d.json", report_folder, child);
    assert_true(holds("len(r[\"calls\"]) == 1 and r[\"calls\"][0][\"m\"] == 9 and "
                      "r[\"totals\"][\"repaired\"] is None"));

    td_report_write();
    snprintf(report_path, sizeof report_path, "%s/%d.json", report_folder, (int)getpid());
    assert_true(holds("len(r[\"calls\"]) == 1 and r[\"calls\"][0][\"m\"] == 1 and "
                      "r[\"totals\"][\"repaired\"] == 5"));
}

/* What a process leaves that is killed. */
TEST(the_file_is_kept_up_to_date)
{
    write_text(report_path, "{\"old\": true}");
    open_report(report_path);
    report_options.report_every = 0;
    for (int i = 1; i <= 3; i++) {
        char expression[128];
        call(1, NULL);
        assert_true(td_report_is_due());
        td_report_write_so_far();
        snprintf(expression, sizeof expression,
                 "r[\"calls\"][0][\"count\"] == %d and r[\"is_complete\"] is False", i);
        assert_true(holds(expression));
    }
    report_options.report_every = 1000;
    assert_true(td_report_is_due());
    assert_false(td_report_is_due());
    td_report_write();
    assert_true(holds("r[\"calls\"][0][\"count\"] == 3 and r[\"is_complete\"] is True"));
    call(1, NULL);
    td_report_write_so_far(); /* of a thread that still runs */
    assert_true(holds("r[\"is_complete\"] is True"));

    report_options.report_every = TD_NEVER;
    assert_false(td_report_is_due());
}

TEST(what_cannot_be_kept_up_is_said_once)
{
    char folder[sizeof report_path + 8], name[sizeof folder + 8];
    snprintf(folder, sizeof folder, "%s.folder", report_path);
    snprintf(name, sizeof name, "%s/r.json", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    open_report(name);
    assert_int_equal(rmdir(folder), 0);
    report_options.report_every = 0;
    call(1, NULL);
    capture_begin();
    for (int i = 0; i < 3; i++)
        if (td_report_is_due()) td_report_write_so_far();
    td_report_write();
    assert_non_null(strstr(capture_of(1), "No such file or directory"));
}

/* A stream has the report of the end, and nothing before it: what reads JSON takes one text. */
TEST(a_stream_gets_one_report)
{
    char name[32];
    FILE *out = fopen(report_path, "w");
    snprintf(name, sizeof name, "/dev/fd/%d", fileno(out));
    open_report(name);
    report_options.report_every = 0;
    for (int i = 0; i < 3; i++) {
        call(1, NULL);
        if (td_report_is_due()) td_report_write_so_far();
    }
    assert_string_equal(read_text(report_path), "");
    td_report_write();
    fclose(out);
    assert_true(holds("r[\"calls\"][0][\"count\"] == 3 and r[\"is_complete\"] is True"));
}

/* A long report takes a time to write that grows with its lines: where every product asked for it,
 * all of them would take the square. */
TEST(many_lines_are_not_written_at_each_product)
{
    enum { SHORT = 256, LONG = 3000 };
    int written = 0;
    open_report(report_path);
    report_options.report_every = 0;
    for (int i = 1; i <= LONG; i++) {
        call(i, NULL);
        if (!td_report_is_due()) continue;
        td_report_write_so_far();
        written++;
        assert_true(i > SHORT || written == i);
    }
    assert_in_range(written, SHORT, LONG / 2);
    td_report_write();
    assert_true(holds("len(r[\"calls\"]) == 3000"));
}

TEST(what_fails_at_the_end_again_is_said_once)
{
    open_report("/dev/full");
    report_options.report_every = 0;
    call(1, NULL);
    capture_begin();
    assert_true(td_report_is_due());
    td_report_write_so_far();
    td_report_write();
    td_report_write();
    assert_non_null(strstr(capture_of(1), "No space left on device"));
}

/* Another process of the same run, before or after, keeps what it has written. */
TEST(processes_of_a_run_have_files_of_their_own)
{
    char name[3][256];
    open_report(report_path);
    report_options.report_every = TD_NEVER;
    snprintf(name[0], sizeof name[0], "%s", report_path);
    const int first = in_child(call_once), second = in_child(call_once);
    call(1, NULL);
    capture_begin();
    td_report_write();
    const char *said = capture_of(1);
    snprintf(name[1], sizeof name[1], "%s.%d", report_path, second);
    snprintf(name[2], sizeof name[2], "%s.%d", report_path, (int)getpid());
    assert_non_null(strstr(said, "another process of this run"));
    assert_non_null(strstr(said, name[2]));
    const int pids[] = {first, second, (int)getpid()};
    for (int i = 0; i < 3; i++) {
        char expression[64];
        memcpy(report_path, name[i], sizeof report_path);
        snprintf(expression, sizeof expression, "r[\"pid\"] == %d", pids[i]);
        assert_true(holds(expression));
    }
    call(1, NULL);
    td_report_write(); /* its own is replaced */
    assert_true(holds("r[\"totals\"][\"intercepted\"] == 2"));
}

/* A report of an earlier run is replaced, one that was written meanwhile is not. */
TEST(reports_of_other_runs)
{
    static const char other[] = "{\n  \"run\": \"1-2\",\n  \"old\": true}";
    char own[256];
    write_text(report_path, other);
    usleep(20000); /* longer than the step of the clock that files have their times from */
    open_report(report_path);
    call(1, NULL);
    td_report_write();
    assert_true(holds("r[\"pid\"] > 0"));

    open_report(report_path);
    call(1, NULL);
    usleep(20000);
    write_text(report_path, other);
    td_report_write();
    assert_true(holds("r[\"old\"]"));
    snprintf(own, sizeof own, "%s.%d", report_path, (int)getpid());
    memcpy(report_path, own, sizeof report_path);
    assert_true(holds("r[\"pid\"] > 0"));
}

TEST(the_file_is_found_again_after_chdir)
{
    char old[512];
    assert_non_null(getcwd(old, sizeof old));
    assert_int_equal(chdir(report_folder), 0);
    open_report("report.json");
    assert_int_equal(chdir(old), 0);
    call(1, NULL);
    td_report_write();
    assert_true(holds("r[\"schema\"] == 1"));
}

TEST(links_are_followed)
{
    char link[128];
    struct stat info;
    snprintf(link, sizeof link, "%s/link", report_folder);
    FILE *target = fopen(report_path, "w");
    fclose(target);
    assert_int_equal(symlink(report_path, link), 0);
    open_report(link);
    call(1, NULL);
    td_report_write();
    assert_true(holds("r[\"schema\"] == 1"));
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
}

/* A link to no file, and one to itself: neither is a place for a report, nor replaced by one. */
TEST(bad_links_are_said)
{
    char nowhere[128];
    snprintf(nowhere, sizeof nowhere, "%s/nowhere", report_folder);
    static const char *const targets[] = {"missing", "nowhere"};
    static const char *const reasons[] = {"link to no file", "symbolic links"};
    for (int i = 0; i < 2; i++) {
        struct stat info;
        unlink(nowhere);
        assert_int_equal(symlink(targets[i], nowhere), 0);
        capture_begin();
        open_report(nowhere);
        const char *said = capture_of(1);
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
    capture_begin();
    td_report_write();
    const char *said = capture_of(1);
    assert_non_null(strstr(said, "cannot write the report file"));
    assert_non_null(strstr(said, reason));
}

TEST(a_pipe_without_a_reader_is_said)
{
    assert_int_equal(mkfifo(report_path, 0600), 0);
    open_report(report_path);
    call(1, NULL);
    assert_write_fails("nobody reads the pipe");
}

TEST(a_pipe_is_written_for_its_reader)
{
    char text[4] = "";
    assert_int_equal(mkfifo(report_path, 0600), 0);
    open_report(report_path);
    call(1, NULL);
    const int reader = open(report_path, O_RDONLY | O_NONBLOCK);
    td_report_write();
    assert_int_equal(read(reader, text, 2), 2);
    close(reader);
    assert_string_equal(text, "{\n");
}

/* As under ulimit -f: the signal that comes with the failure ends the process if nobody takes
 * it. */
TEST(a_limit_on_file_size_ends_nothing)
{
    enum { CALLS = 100, LIMIT = 4096 };
    struct rlimit before, little;
    write_text(report_path, "{\"old\": true}");
    open_report(report_path);
    for (int64_t m = 1; m <= CALLS; m++) call(m, NULL);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    little = before;
    little.rlim_cur = LIMIT;
    setrlimit(RLIMIT_FSIZE, &little);
    assert_write_fails("File too large");
    setrlimit(RLIMIT_FSIZE, &before);
    assert_true(holds("r[\"old\"]"));
}

TEST(a_device_is_written_in_place)
{
    struct stat info;
    open_report("/dev/null");
    call(1, NULL);
    td_report_write();
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
}

/* As /dev/stdout after "program > file": the file that somebody has open keeps its place and its
 * content. */
TEST(a_descriptor_is_appended_to)
{
    char name[32];
    struct stat before, after;
    FILE *out = fopen(report_path, "w");
    fputs("   \n", out);
    fflush(out);
    assert_int_equal(stat(report_path, &before), 0);
    snprintf(name, sizeof name, "/dev/fd/%d", fileno(out));
    open_report(name);
    call(1, NULL);
    td_report_write();
    fclose(out);
    assert_int_equal(stat(report_path, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_memory_equal(read_text(report_path), "   \n{", 5);
    assert_true(holds("len(r[\"calls\"]) == 1"));
}

TEST(an_unwritable_file_gets_one_line_at_the_start)
{
    static const char *const bad[] = {"/nonexistent/folder/report.json", "/tmp",
                                      "/proc/report.json"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        capture_begin();
        open_report(bad[i]);
        const char *text = capture_of(1);
        assert_non_null(strstr(text, bad[i]));
        assert_null(call(1, NULL));
        capture_begin();
        td_report_write();
        capture_of(0);
    }
}

TEST(opening_leaves_the_old_file_alone)
{
    FILE *old = fopen(report_path, "w");
    fputs("{\"old\": 1}", old);
    fclose(old);
    open_report(report_path);
    assert_true(holds("r[\"old\"] == 1"));
}

TEST(the_table_goes_to_stderr)
{
    capture_begin();
    open_report("-");
    td_report_write();
    assert_non_null(strstr(capture_of(1), "made no call"));

    capture_begin();
    open_report("-");
    td_report_add_time(call(1234, "too small"), 0.0125);
    td_report_set_host_device();
    td_report_write();
    const char *text = capture_of(4);
    assert_non_null(strstr(text, "1 calls, 0 emulated, 1 native"));
    assert_non_null(strstr(text, "nothing about a GPU"));
    assert_non_null(strstr(text, "1234"));
    assert_non_null(strstr(text, "12.500"));
    assert_non_null(strstr(text, "12.500  too small\n"));
    for (const char *at = text; *at; at = strchr(at, '\n') + 1)
        assert_memory_equal(at, "tandem: ", 8);
}

/* A program may close stderr, and open a file that then has its number. */
TEST(the_table_goes_where_stderr_led)
{
    int lines;
    write_text(report_path, "data");
    for (int is_reused = 0; is_reused < 2; is_reused++) {
        capture_begin();
        open_report("-");
        call(1234, NULL);
        close(STDERR_FILENO);
        if (is_reused) assert_int_equal(open(report_path, O_RDWR), STDERR_FILENO);
        td_report_write();
        const char *text = capture_end(&lines);
        assert_non_null(strstr(text, "1234"));
        assert_string_equal(read_text(report_path), "data");
    }
}

static void in_parent(void) { td_report_after_fork(false); }

static void in_child_too(void) { td_report_after_fork(true); }

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    cublas_path = argv[1];
    pthread_atfork(td_report_before_fork, in_parent, in_child_too);
    return test_run(.before = set_up, .after = tear_down);
}
