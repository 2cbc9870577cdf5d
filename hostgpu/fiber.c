#include "fiber.h"

#include "sanitize.h"

/* The two sides of this OS thread's last switch, for sanitizers. */
static __thread hostgpu_fiber *departed, *arrived;

/* ---- what sanitizers want to know ---- */

void hostgpu_fiber_depart(hostgpu_fiber *from, hostgpu_fiber *to)
{
    departed = from;
    arrived = to;
#ifdef HOSTGPU_ASAN
    __sanitizer_start_switch_fiber(&departed->fake_stack, arrived->stack, arrived->stack_bytes);
#endif
#ifdef HOSTGPU_TSAN
    if (!departed->race_fiber) departed->race_fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(arrived->race_fiber, __tsan_switch_to_fiber_no_sync);
#endif
}

/* Also learns the bounds of an OS thread's own stack, when it is left for the first time. */
void hostgpu_fiber_arrive(void *fake_stack)
{
#ifdef HOSTGPU_ASAN
    __sanitizer_finish_switch_fiber(fake_stack, &departed->stack, &departed->stack_bytes);
#endif
    (void)fake_stack;
}

static void start_sanitized(void)
{
    hostgpu_fiber_arrive(NULL);
    arrived->entry();
}

/* What a fiber begins with. */
static void (*start_of(const hostgpu_fiber *fiber))(void)
{
    return hostgpu_is_sanitized ? start_sanitized : fiber->entry;
}

/* ---- the interface ---- */

void hostgpu_fiber_create(hostgpu_fiber *fiber, void *stack, size_t stack_bytes,
                          void (*entry)(void))
{
    *fiber = (hostgpu_fiber){.entry = entry,
                             .stack = stack,
                             .stack_bytes = stack_bytes,
                             .race_fiber = fiber->race_fiber};
#ifdef HOSTGPU_TSAN
    if (!fiber->race_fiber) fiber->race_fiber = __tsan_create_fiber(0); /* costs a millisecond */
#endif
    hostgpu_prepare_stack(&fiber->resume, stack, stack_bytes, start_of(fiber));
}

void hostgpu_fiber_forget_frames(const hostgpu_fiber *fiber)
{
#ifdef HOSTGPU_ASAN
    __asan_unpoison_memory_region(fiber->stack, fiber->stack_bytes);
#endif
    (void)fiber;
}
