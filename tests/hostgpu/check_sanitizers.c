/* check_sanitizers.c - what the host device is for: sanitizers see into kernels. Each mistake runs
 * in a child process, and its report must say what is wrong and, for AddressSanitizer, which CUDA
 * thread it was. Run with one worker. */
#include <sys/wait.h>

#include "executor_kernels.h"
#include "expect.h"

typedef struct {
    int is_killed_or_failed;
    char *said;
} outcome;

static void run_mistake(int is_race, int kind)
{
    int *out = NULL;

    if (cudaMalloc((void **)&out, 64 * sizeof *out)) _exit(0);
    if (is_race)
        launch_exchange(kind, out);
    else
        launch_overrun((overrun)kind, out);
    cudaFree(out);
    exit(0); /* not _exit: ThreadSanitizer sets the status at exit */
}

/* cmocka's own handlers must not see the child's end. */
static outcome run_child(int is_race, int kind)
{
    capture c = start_capture();
    const pid_t child = fork();
    int status = 0;

    if (!child) run_mistake(is_race, kind);
    assert_int_equal(waitpid(child, &status, 0), child);
    return (outcome){.is_killed_or_failed = status != 0, .said = end_capture(c)};
}

static void expect_report(outcome o, const char *const *texts)
{
    assert_true(o.is_killed_or_failed);
    for (; *texts; texts++)
        if (!strstr(o.said, *texts)) fail_msg("'%s' is not in:\n%s", *texts, o.said);
    free(o.said);
}

#ifdef CHECK_ADDRESS

static void check_overrun(overrun kind, const char *kernel)
{
    const char *const texts[] = {"heap-buffer-overflow", "0 bytes to the right of", kernel,
                                 "block (0,0,0), thread (63,0,0)", NULL};

    expect_report(run_child(0, kind), texts);
}

TEST(test_overruns)
{
    check_overrun(OVERRUN_GLOBAL, "kernel overrun_global");
    check_overrun(OVERRUN_STATIC, "kernel overrun_static");
    check_overrun(OVERRUN_DYNAMIC, "kernel overrun_dynamic");
}

/* UBSan does not look for null pointers in kernels. */
TEST(test_null_pointer)
{
    const char *const texts[] = {"SEGV", "kernel through_null", "block (0,0,0), thread (0,0,0)",
                                 NULL};

    expect_report(run_child(0, THROUGH_NULL), texts);
}

#endif
#ifdef CHECK_THREAD

TEST(test_races)
{
    static const char *const texts[] = {"data race", "exchange", NULL};

    expect_report(run_child(1, 0), texts);
    const outcome clean = run_child(1, 1);
    if (clean.is_killed_or_failed) fail_msg("a race that is none:\n%s", clean.said);
    free(clean.said);
}

#endif
