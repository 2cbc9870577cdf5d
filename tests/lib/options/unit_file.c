/* Files that the library writes: their names, writing that neither ends nor hangs the process, and
 * replacing in one step. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/support/capture.h"
#include "tests/support/test.h"
#include "lib/options/file.h"

static char folder[64], path[128];

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, make_folder());
    snprintf(path, sizeof path, "%s/file", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    remove_folder(folder);
    return 0;
}

/* ---- names ---- */

static void assert_path(const td_file_name *name, const char *expected)
{
    char got[TD_PATH_BYTES];
    assert_true(td_file_name_path(name, got));
    assert_string_equal(got, expected);
}

TEST(names_take_the_process_id)
{
    td_file_name name;
    char expected[128];
    assert_true(td_file_name_set(&name, "/a-%p/%d%%p.log%"));
    snprintf(expected, sizeof expected, "/a-%ld/%%d%%%ld.log%%", (long)getpid(), (long)getpid());
    assert_path(&name, expected);
    const pid_t child = fork();
    if (child == 0) {
        snprintf(expected, sizeof expected, "/a-%ld/", (long)getpid());
        char got[TD_PATH_BYTES];
        _exit(!td_file_name_path(&name, got) || strncmp(got, expected, strlen(expected)) != 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

/* The launcher's word when the name was given counts, whatever becomes of the variables. */
TEST(names_take_the_rank)
{
    td_file_name name;
    char expected[128];
    setenv("OMPI_COMM_WORLD_RANK", "12", 1);
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "4", 1);
    assert_true(td_file_name_set(&name, "/%r-%p-%r.json"));
    unsetenv("OMPI_COMM_WORLD_RANK");
    unsetenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    snprintf(expected, sizeof expected, "/12-%ld-12.json", (long)getpid());
    assert_path(&name, expected);
    assert_true(td_file_name_set(&name, "/%r.json"));
    assert_path(&name, "/0.json");
}

/* A folder's own %p is none of the user's. */
TEST(names_are_of_the_folder_where_they_were_given)
{
    td_file_name name;
    char inner[128], expected[256], old[512];
    snprintf(inner, sizeof inner, "%s/%%p", folder);
    assert_int_equal(mkdir(inner, 0700), 0);
    assert_non_null(getcwd(old, sizeof old));
    assert_int_equal(chdir(inner), 0);
    assert_true(td_file_name_set(&name, "x"));
    assert_int_equal(chdir(old), 0);
    snprintf(expected, sizeof expected, "%s/x", inner);
    assert_path(&name, expected);
    assert_int_equal(rmdir(inner), 0);
}

TEST(long_names_are_refused)
{
    static char pattern[TD_PATH_BYTES + 1];
    td_file_name name;
    char got[TD_PATH_BYTES];
    memset(pattern, 'x', TD_PATH_BYTES);
    assert_false(td_file_name_set(&name, pattern));
    assert_int_equal(errno, ENAMETOOLONG);
    pattern[TD_PATH_BYTES - 1] = '\0';
    assert_true(td_file_name_set(&name, pattern));
    assert_false(td_file_name_path(&name, got)); /* with its folder */
    assert_int_equal(errno, ENAMETOOLONG);
    pattern[0] = '/';
    assert_true(td_file_name_set(&name, pattern));
    assert_path(&name, pattern);
}

/* ---- writing ---- */

static bool is_pending(int signal)
{
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, signal) == 1;
}

/* A pipe whose reader has gone; the caller closes it. */
static int broken_pipe(void)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    return ends[1];
}

TEST(a_reader_that_has_gone_ends_nothing)
{
    const int descriptor = broken_pipe();
    assert_false(td_file_write(descriptor, "x", 1));
    assert_int_equal(errno, EPIPE);
    assert_false(is_pending(SIGPIPE));
    close(descriptor);
}

/* It waits until the application lets it through. */
TEST(a_pending_signal_of_the_application_stays)
{
    sigset_t one, before;
    const struct timespec no_time = {0};
    sigemptyset(&one);
    sigaddset(&one, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &one, &before);
    raise(SIGPIPE);
    const int descriptor = broken_pipe();
    assert_false(td_file_write(descriptor, "x", 1));
    close(descriptor);
    assert_true(is_pending(SIGPIPE));
    assert_int_equal(sigtimedwait(&one, NULL, &no_time), SIGPIPE);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

TEST(a_limit_on_file_size_ends_nothing)
{
    struct rlimit before, little;
    struct stat info;
    const int descriptor = td_file_open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(descriptor >= 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    little = before;
    little.rlim_cur = 3;
    setrlimit(RLIMIT_FSIZE, &little);
    const bool is_written = td_file_write(descriptor, "12345", 5);
    const int error = errno;
    setrlimit(RLIMIT_FSIZE, &before);
    assert_false(is_written);
    assert_int_equal(error, EFBIG);
    assert_false(is_pending(SIGXFSZ));
    assert_int_equal(fstat(descriptor, &info), 0);
    assert_int_equal(info.st_size, 3);
    close(descriptor);
}

TEST(a_pipe_that_nobody_reads_is_not_opened)
{
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(td_file_open(path, O_WRONLY, 0), -1);
    assert_int_equal(errno, ENXIO);
    assert_string_equal(td_file_reason(errno), "nobody reads the pipe, or there is no such device");
}

/* More than the pipe holds: the first reader takes all of it, the second nothing. */
/* A program that is started without stdout and stderr prints to whatever has their numbers. */
TEST(a_file_is_none_of_the_standard_ones)
{
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i <= STDERR_FILENO; i++) close(i);
        const int opened = td_file_open(path, O_WRONLY | O_CREAT, 0600);
        const bool is_above = opened > STDERR_FILENO,
                   is_closed_on_exec = fcntl(opened, F_GETFD) & FD_CLOEXEC;
        _exit(is_above && is_closed_on_exec && write(STDOUT_FILENO, "text", 4) < 0 ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

TEST(a_reader_is_waited_for_but_not_for_ever)
{
    static char text[1 << 18];
    memset(text, 'x', sizeof text);
    assert_int_equal(mkfifo(path, 0600), 0);
    const int reader = open(path, O_RDONLY | O_NONBLOCK);
    const int descriptor = td_file_open(path, O_WRONLY, 0);
    assert_true(reader >= 0 && descriptor >= 0);
    const pid_t child = fork();
    if (child == 0) {
        fcntl(reader, F_SETFL, 0);
        close(descriptor);
        size_t taken = 0;
        for (ssize_t got; (got = read(reader, text, sizeof text)) > 0;) taken += (size_t)got;
        _exit(taken != sizeof text);
    }
    assert_true(td_file_write(descriptor, text, sizeof text));
    close(descriptor);
    int status = -1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);

    const int again = td_file_open(path, O_WRONLY, 0);
    assert_false(td_file_write(again, text, sizeof text));
    assert_int_equal(errno, ETIMEDOUT);
    close(again);
    close(reader);
}

/* ---- replacing ---- */

static bool replace(const struct stat *old, bool is_first, const char *text)
{
    return td_file_replace(path, 0640, old, is_first, text, strlen(text), NULL);
}

static mode_t permissions(void)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return info.st_mode & 07777;
}

TEST(a_file_that_is_replaced_keeps_its_permissions)
{
    struct stat old;
    assert_true(replace(NULL, false, "new"));
    assert_int_equal(permissions(), 0640);
    assert_int_equal(chmod(path, 0604), 0);
    assert_int_equal(stat(path, &old), 0);
    assert_true(td_file_can_replace(path, &old));
    assert_true(replace(&old, false, "newer"));
    assert_int_equal(permissions(), 0604);
    assert_string_equal(read_text(path), "newer");
}

TEST(the_first_file_stays)
{
    assert_true(replace(NULL, true, "first"));
    assert_false(replace(NULL, true, "second"));
    assert_int_equal(errno, EEXIST);
    assert_string_equal(read_text(path), "first");
}

/* The temporary file is gone, whether it took the place or not. */
TEST(nothing_is_left_beside_it)
{
    char name[256];
    assert_true(td_file_can_replace(path, NULL));
    assert_int_not_equal(access(path, F_OK), 0);
    assert_true(replace(NULL, true, "first"));
    assert_false(replace(NULL, true, "second"));
    snprintf(name, sizeof name, "%s.%ld.tmp", path, (long)getpid());
    assert_int_not_equal(access(name, F_OK), 0);
}

int main(void) { return test_run(.before = set_up, .after = tear_down); }
