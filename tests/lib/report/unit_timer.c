/* Timers on several devices, round a reset and a fork, and while everything is under way. What
 * lib/report/timer.c calls of CUDA and of the report is below: events that belong to a device and
 * pass when they are told to. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/test.h"
#include "lib/cuda/device.h"
#include "lib/report/timer.h"

enum { EVENTS = 8192, MANY = 300, CONTEXTS = 8 };

struct CUevent_st {
    int device;
    unsigned life; /* of the device's context */
};

static struct CUevent_st events[EVENTS];
static int event_count, device, misuses;
static bool all_passed;
static int timed; /* calls whose time has reached the report */

bool td_cuda_ok(cudaError_t error) { return error == cudaSuccess; }

void td_report_add_time(td_record *record, double seconds)
{
    (void)record;
    timed += seconds == 0.5;
}

static td_context contexts[CONTEXTS]; /* one of each device */

td_context *td_context_current(void)
{
    if (device < 0) return NULL;
    if (contexts[device].life == 0) contexts[device].life = 1;
    return &contexts[device];
}

bool td_context_is_alive(const td_context *context, unsigned life) { return context->life == life; }

td_capture_mode td_capture_allow(void) { return cudaStreamCaptureModeGlobal; }
void td_capture_restore(td_capture_mode mode) { (void)mode; }

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    if (event_count == EVENTS) return cudaErrorMemoryAllocation;
    *event = &events[event_count++];
    (*event)->device = device;
    (*event)->life = contexts[device].life;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    (void)event;
    return cudaSuccess;
}

/* As CUDA: an event is recorded on streams of its own device. */
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    (void)stream;
    if (event->device == device && event->life == contexts[device].life) return cudaSuccess;
    misuses++;
    return cudaErrorInvalidResourceHandle;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    misuses += event->life != contexts[event->device].life;
    return all_passed ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t stop)
{
    (void)start, (void)stop;
    *milliseconds = 500;
    return cudaSuccess;
}

/* One call on a device; true if it is timed. */
static bool call_on(int ordinal)
{
    device = ordinal;
    td_timer *timer = td_timer_start(NULL);
    td_timer_stop(timer, NULL, NULL);
    return timer != NULL;
}

static int set_up(void **state)
{
    (void)state;
    all_passed = true;
    td_timer_collect();
    timed = misuses = 0;
    return 0;
}

TEST(each_device_has_timers_of_its_own)
{
    for (int i = 0; i < MANY; i++) assert_true(call_on(0));
    for (int i = 0; i < MANY; i++) assert_true(call_on(1 + i % 7));
    td_timer_collect();
    assert_int_equal(timed, 2 * MANY);
    assert_int_equal(misuses, 0);
}

TEST(a_device_that_is_behind_leaves_others_their_timers)
{
    int on_0 = 0;
    all_passed = false;
    for (int i = 0; i < MANY; i++) on_0 += call_on(0);
    assert_in_range(on_0, 1, MANY - 1);
    assert_true(call_on(1));
    all_passed = true;
    td_timer_collect();
    assert_int_equal(timed, on_0 + 1);
    assert_true(call_on(0));
}

TEST(a_dropped_timer_counts_nothing)
{
    for (int i = 0; i < MANY; i++) {
        td_timer *timer = td_timer_start(NULL);
        assert_non_null(timer);
        td_timer_drop(timer);
    }
    td_timer_drop(NULL);
    td_timer_collect();
    assert_int_equal(timed, 0);
}

TEST(a_thread_without_a_context_has_none) { assert_false(call_on(-1)); }

/* Events that went with a context are not touched any more; the calls that they timed are lost. */
TEST(a_reset_leaves_no_timer_behind)
{
    all_passed = false;
    for (int i = 0; i < 3; i++) assert_true(call_on(0));
    all_passed = true;
    contexts[0].life++;
    td_timer_collect();
    for (int i = 0; i < MANY; i++) assert_true(call_on(0));
    td_timer_collect();
    assert_int_equal(timed, MANY);
    assert_int_equal(misuses, 0);
}

/* Nobody asks for them before the context goes: those that had ended when another call began are
 * known all the same. */
TEST(calls_are_collected_as_others_begin)
{
    for (int i = 0; i < 40; i++) assert_true(call_on(0));
    assert_int_equal(timed, 39);
    all_passed = false;
    for (int i = 0; i < 40; i++) assert_true(call_on(0));
    assert_int_equal(timed, 39);
    all_passed = true;
    assert_true(call_on(0));
    assert_int_equal(timed, 80);
    contexts[0].life++;
    td_timer_collect();
    assert_int_equal(timed, 80);
    assert_int_equal(misuses, 0);
}

/* The parent's calls are not the child's, and the child's own are timed with events of its own. */
TEST(a_child_forgets)
{
    int status = -1;
    assert_true(call_on(0));
    td_timer_before_fork();
    const pid_t child = fork();
    td_timer_after_fork(child == 0);
    if (child == 0) {
        const int events_before = event_count;
        td_timer_collect();
        const bool is_good = timed == 0 && call_on(0) && event_count == events_before + 2;
        td_timer_collect();
        _exit(is_good && timed == 1 ? 0 : 1);
    }
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    td_timer_collect();
    assert_int_equal(timed, 1);
}

int main(void) { return test_run(.before = set_up); }
