/* fiber.h - stacks that one OS thread switches between. Floating-point control words are not
 * switched. How a switch is made is in a file for each processor: hostgpu_resume_point is where a
 * fiber goes on, hostgpu_change_stack goes from one to another, hostgpu_prepare_stack makes the
 * first of a fiber. */
#ifndef HOSTGPU_FIBER_H
#define HOSTGPU_FIBER_H

#include <stddef.h>

#include "executor.h"
#include "sanitize.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__x86_64__)
#include "fiber_x86_64.h"
#elif defined(__aarch64__)
#include "fiber_aarch64.h"
#else
#include "fiber_ucontext.h"
#endif

/* All zero: stands for the OS thread's own stack, and may be switched from. */
typedef struct hostgpu_fiber {
    hostgpu_resume_point resume; /* while it does not run */
    void (*entry)(void);
    const void *stack; /* lowest address */
    size_t stack_bytes;
    void *fake_stack; /* AddressSanitizer's */
    void *race_fiber; /* ThreadSanitizer's, ... */
    char *awaited;    /* ... and what the thread that waits here acquires */
} hostgpu_fiber;

/* Prepares a fiber that calls entry when first switched to; entry must not return. *fiber is all
 * zero, or a fiber that is given up. */
void hostgpu_fiber_create(hostgpu_fiber *fiber, void *stack, size_t stack_bytes,
                          void (*entry)(void));

/* Has AddressSanitizer forget the frames of a fiber that is given up within functions: another one
 * will be created on its stack. */
void hostgpu_fiber_forget_frames(const hostgpu_fiber *fiber);

/* Sanitizers hear of a switch before it, on the stack that is left, and after it, on the other. */
void hostgpu_fiber_depart(hostgpu_fiber *from, hostgpu_fiber *to);
void hostgpu_fiber_arrive(void *fake_stack);

/* Leaves the running fiber `from` and goes on in `to`; returns when somebody switches back. */
static inline __attribute__((always_inline)) void hostgpu_fiber_switch(hostgpu_fiber *from,
                                                                       hostgpu_fiber *to)
{
    if (hostgpu_is_sanitized) hostgpu_fiber_depart(from, to);
    hostgpu_change_stack(&from->resume, &to->resume);
    if (hostgpu_is_sanitized) hostgpu_fiber_arrive(from->fake_stack);
}

/* Waits until the thread can go on. A kernel's own code does so: processors expect of a function
 * that it returns to where the last one was called, which it would not on another stack, and a
 * wrong expectation takes as long as the rest of a switch. */
static inline __attribute__((always_inline)) void hostgpu_take_turn(hostgpu_turn turn)
{
    if (turn.from != turn.to) hostgpu_fiber_switch(turn.from, turn.to);
    if (hostgpu_is_race_check && turn.from->awaited) HOSTGPU_ACQUIRE(turn.from->awaited);
}

/* Has the processor fetch the first of the frames that the fiber goes on in: those of a switch and
 * of what a kernel has at hand. */
static inline void hostgpu_fiber_prefetch(const hostgpu_fiber *fiber)
{
    enum { LINE = 64, LINES = 5 };
    const char *frames = hostgpu_frames(&fiber->resume);

    for (int at = 0; at < LINES * LINE; at += LINE) __builtin_prefetch(frames + at);
}

#ifdef __cplusplus
}
#endif

#endif
