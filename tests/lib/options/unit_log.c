/* The log: levels, one line per call whatever its text, the cap, the file, and several threads at
 * once. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/support/capture.h"
#include "tests/support/test.h"
#include "lib/options/log.h"

enum { THREADS = 4, LINES_PER_THREAD = 200 };

TEST(levels_above_the_threshold_are_dropped)
{
    for (int threshold = 0; threshold < TD_LOG_LEVEL_COUNT; threshold++) {
        td_log_open((td_log_level)threshold, NULL);
        capture_begin();
        for (int level = 0; level < TD_LOG_LEVEL_COUNT; level++)
            td_log((td_log_level)level, "text");
        capture_of(threshold + 1);
    }
}

TEST(lines_name_program_and_level)
{
    td_log_open(TD_LOG_DEBUG, NULL);
    capture_begin();
    td_log(TD_LOG_ERROR, "%d of %s", 7, "m");
    td_log(TD_LOG_DEBUG, "last");
    assert_string_equal(capture_end(NULL), "tandem: error: 7 of m\ntandem: debug: last\n");
}

TEST(a_text_stays_one_line)
{
    char longer[5000];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    td_log_open(TD_LOG_WARN, NULL);
    capture_begin();
    td_log(TD_LOG_WARN, "a\nb\033c");
    td_log(TD_LOG_WARN, "%s", longer);
    const char *text = capture_of(2);
    assert_memory_equal(text, "tandem: warn: a?b?c\n", 20);
    assert_true(strlen(text) < 2000);
    assert_string_equal(text + strlen(text) - 5, "x...\n");
}

TEST(errno_is_kept_when_the_file_goes_away)
{
    char path[128];
    const char *folder = make_folder();
    snprintf(path, sizeof path, "%s/log", folder);
    td_log_open(TD_LOG_WARN, path);
    remove_folder(folder);
    capture_begin();
    errno = EDOM;
    td_log(TD_LOG_WARN, "text");
    const int kept = errno;
    assert_string_equal(capture_end(NULL), "tandem: warn: text\n");
    assert_int_equal(kept, EDOM);
}

TEST(repeats_are_capped)
{
    atomic_uint seen = 0;
    td_log_open(TD_LOG_WARN, NULL);
    capture_begin();
    for (int i = 0; i < 10; i++) td_log_capped(&seen, 3, TD_LOG_WARN, "again %d", i);
    const char *text = capture_of(3);
    assert_non_null(strstr(text, "again 2 (not said again)\n"));
    assert_null(strstr(text, "again 3"));

    capture_begin();
    for (int i = 0; i < 10; i++) TD_LOG_ONCE(TD_LOG_WARN, "once %d", i);
    assert_string_equal(capture_end(NULL), "tandem: warn: once 0\n");
}

/* Cuts what stands before each line of a file off, which must be the time now, this process or a
 * child of it, and the thread. */
static const char *read_lines(const char *path, pid_t process)
{
    static char lines[1024];
    const char *text = read_text(path);
    lines[0] = '\0';
    while (*text) {
        struct tm then = {0};
        long pid = 0, tid = 0;
        int length = 0, micro = 0;
        sscanf(text, "%d-%d-%dT%d:%d:%d.%6dZ %ld %ld %n", &then.tm_year, &then.tm_mon,
               &then.tm_mday, &then.tm_hour, &then.tm_min, &then.tm_sec, &micro, &pid, &tid,
               &length);
        assert_true(length > 0);
        then.tm_year -= 1900;
        then.tm_mon -= 1;
        struct timespec clock; /* time() may be a tick behind the clock that lines are dated by */
        clock_gettime(CLOCK_REALTIME, &clock);
        const time_t written = timegm(&then), now = clock.tv_sec;
        assert_true(written <= now && written > now - 600);
        assert_int_equal(pid, process);
        assert_int_equal(tid, process); /* of a process's first thread */
        const size_t rest = strcspn(text + length, "\n") + 1;
        strncat(lines, text + length, rest);
        text += (size_t)length + rest;
    }
    return lines;
}

TEST(the_file_is_appended_to)
{
    char path[128];
    const char *folder = make_folder();
    snprintf(path, sizeof path, "%s/log", folder);
    capture_begin();
    td_log_open(TD_LOG_INFO, path);
    td_log(TD_LOG_INFO, "first");
    td_log_open(TD_LOG_INFO, path);
    td_log(TD_LOG_INFO, "second");
    capture_of(0);
    assert_string_equal(read_lines(path, getpid()), "tandem: info: first\ntandem: info: second\n");
    remove_folder(folder);
}

TEST(a_relative_file_survives_chdir)
{
    char path[128], old[512];
    const char *folder = make_folder();
    assert_non_null(getcwd(old, sizeof old));
    assert_int_equal(chdir(folder), 0);
    td_log_open(TD_LOG_WARN, "log");
    assert_int_equal(chdir(old), 0);
    td_log(TD_LOG_WARN, "moved");
    snprintf(path, sizeof path, "%s/log", folder);
    assert_string_equal(read_lines(path, getpid()), "tandem: warn: moved\n");
    remove_folder(folder);
}

TEST(an_unwritable_file_gets_one_line)
{
    capture_begin();
    td_log_open(TD_LOG_WARN, "/nonexistent/folder/log");
    td_log(TD_LOG_WARN, "to stderr");
    const char *text = capture_of(2);
    assert_non_null(strstr(text, "'/nonexistent/folder/log' (No such file or directory)"));
    assert_non_null(strstr(text, "tandem: warn: to stderr\n"));
}

TEST(a_file_is_named_by_the_process)
{
    char path[128];
    const char *folder = make_folder();
    snprintf(path, sizeof path, "%s/%%p.log", folder);
    td_log_open(TD_LOG_WARN, path);
    const pid_t child = fork();
    if (child == 0) {
        td_log(TD_LOG_WARN, "child");
        _exit(0);
    }
    waitpid(child, NULL, 0);
    td_log(TD_LOG_WARN, "parent");
    snprintf(path, sizeof path, "%s/%ld.log", folder, (long)child);
    assert_string_equal(read_lines(path, child), "tandem: warn: child\n");
    snprintf(path, sizeof path, "%s/%ld.log", folder, (long)getpid());
    assert_string_equal(read_lines(path, getpid()), "tandem: warn: parent\n");
    remove_folder(folder);
}

TEST(a_pipe_that_nobody_reads_gets_one_line)
{
    char path[128];
    const char *folder = make_folder();
    snprintf(path, sizeof path, "%s/log", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    capture_begin();
    td_log_open(TD_LOG_WARN, path);
    td_log(TD_LOG_WARN, "to stderr");
    const char *text = capture_of(2);
    assert_non_null(strstr(text, "or there is no such device); the log goes to stderr"));
    remove_folder(folder);
}

/* As under ulimit -f: the signal that comes with the failure ends the process if nobody takes
 * it. */
TEST(a_full_file_gets_one_line)
{
    enum { LIMIT = 4096 };
    char path[128];
    struct rlimit before, little;
    const char *folder = make_folder();
    snprintf(path, sizeof path, "%s/log", folder);
    FILE *file = fopen(path, "w");
    assert_int_equal(ftruncate(fileno(file), LIMIT), 0);
    fclose(file);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    little = before;
    little.rlim_cur = LIMIT;
    capture_begin();
    setrlimit(RLIMIT_FSIZE, &little);
    td_log_open(TD_LOG_WARN, path);
    for (int i = 0; i < 3; i++) td_log(TD_LOG_WARN, "line %d", i);
    setrlimit(RLIMIT_FSIZE, &before);
    const char *text = capture_of(4);
    assert_non_null(strstr(text, "(File too large); the log goes to stderr\ntandem: warn: line 0"));
    assert_non_null(strstr(text, "line 2\n"));
    remove_folder(folder);
}

static void *write_lines(void *argument)
{
    for (int i = 0; i < LINES_PER_THREAD; i++)
        td_log(TD_LOG_WARN, "thread %c says something of middling length", *(const char *)argument);
    return NULL;
}

TEST(threads_do_not_mix_lines)
{
    pthread_t threads[THREADS];
    static const char names[THREADS] = "abcd";
    td_log_open(TD_LOG_WARN, NULL);
    capture_begin();
    for (int t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, write_lines, (void *)(uintptr_t)&names[t]);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    const char *text = capture_of(THREADS * LINES_PER_THREAD);
    for (const char *at = text; *at; at = strchr(at, '\n') + 1) {
        char name;
        int end = 0;
        sscanf(at, "tandem: warn: thread %c says something of middling length%n", &name, &end);
        assert_true(end > 0 && at[end] == '\n');
    }
}
