/* fiber_ucontext.h - a switch of stacks by the C library, for processors without a file of their
 * own: about 200 ns, as it asks the system for the signal mask; for fiber.h. */
#ifndef HOSTGPU_FIBER_UCONTEXT_H
#define HOSTGPU_FIBER_UCONTEXT_H

#include <stddef.h>
#include <ucontext.h>

/* A fiber that does not run. */
typedef ucontext_t hostgpu_resume_point;

/* The lowest address that is known of its frames. */
static inline const char *hostgpu_frames(const hostgpu_resume_point *fiber)
{
    return (const char *)fiber->uc_stack.ss_sp;
}

/* Keeps in *from where it is, and goes on where `to` was left. */
static inline void hostgpu_change_stack(hostgpu_resume_point *from, const hostgpu_resume_point *to)
{
    swapcontext(from, to);
}

/* Prepares a fiber that starts with a function, on a stack of so many bytes from `stack` on. */
static inline void hostgpu_prepare_stack(hostgpu_resume_point *fiber, void *stack, size_t bytes,
                                         void (*start)(void))
{
    getcontext(fiber);
    fiber->uc_stack.ss_sp = stack;
    fiber->uc_stack.ss_size = bytes;
    fiber->uc_link = NULL;
    makecontext(fiber, start, 0);
}

#endif
