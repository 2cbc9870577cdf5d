/* Timers on several devices, round a fork, and while everything is under way. What timer.c calls of CUDA and of the report
 * is below: events that belong to a device and pass when they are told to. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "device.h"
#include "timer.h"

enum { EVENTS = 4096, MANY = 300 };

struct CUevent_st {
    int device;
};

static struct CUevent_st events[EVENTS];
static int event_count, device, misuses;
static bool all_passed;
static int timed; /* calls whose time has reached the report */

bool td_cuda_ok(cudaError_t error) { return error == cudaSuccess; }

bool td_stream_is_capturing(cudaStream_t stream)
{
    (void)stream;
    return false;
}

void td_report_add_time(td_record *record, double seconds)
{
    (void)record;
    timed += seconds == 0.5;
}

cudaError_t cudaGetDevice(int *ordinal)
{
    *ordinal = device;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    if (event_count == EVENTS) return cudaErrorMemoryAllocation;
    *event = &events[event_count++];
    (*event)->device = device;
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
    if (event->device == device) return cudaSuccess;
    misuses++;
    return cudaErrorInvalidResourceHandle;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    (void)event;
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

static void each_device_has_timers_of_its_own(void **state)
{
    (void)state;
    for (int i = 0; i < MANY; i++) assert_true(call_on(0));
    for (int i = 0; i < MANY; i++) assert_true(call_on(1 + i % 7));
    td_timer_collect();
    assert_int_equal(timed, 2 * MANY);
    assert_int_equal(misuses, 0);
}

static void a_device_that_is_behind_leaves_others_their_timers(void **state)
{
    int on_0 = 0;
    (void)state;
    all_passed = false;
    for (int i = 0; i < MANY; i++) on_0 += call_on(0);
    assert_in_range(on_0, 1, MANY - 1);
    assert_true(call_on(1));
    all_passed = true;
    td_timer_collect();
    assert_int_equal(timed, on_0 + 1);
    assert_true(call_on(0));
}

static void a_dropped_timer_counts_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < MANY; i++) {
        td_timer *timer = td_timer_start(NULL);
        assert_non_null(timer);
        td_timer_drop(timer);
    }
    td_timer_drop(NULL);
    td_timer_collect();
    assert_int_equal(timed, 0);
}

static void devices_without_a_number_have_none(void **state)
{
    (void)state;
    assert_false(call_on(-1));
    assert_false(call_on(TD_MAX_DEVICES));
}

/* The parent's calls are not the child's, and the child's own are timed with events of its own. */
static void a_child_forgets(void **state)
{
    int status = -1;
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_device_has_timers_of_its_own, set_up),
        cmocka_unit_test_setup(a_device_that_is_behind_leaves_others_their_timers, set_up),
        cmocka_unit_test_setup(a_dropped_timer_counts_nothing, set_up),
        cmocka_unit_test_setup(devices_without_a_number_have_none, set_up),
        cmocka_unit_test_setup(a_child_forgets, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
