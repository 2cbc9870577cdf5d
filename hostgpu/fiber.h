/* fiber.h - stacks that one OS thread switches between. Hand-written assembly on x86-64 (about 10 ns a switch),
 * ucontext elsewhere (about 200 ns: a system call each). Floating-point control words are not switched. */
#ifndef HOSTGPU_FIBER_H
#define HOSTGPU_FIBER_H

#include <stddef.h>

#ifdef __x86_64__
#define HOSTGPU_FIBER_ASSEMBLY 1
#else
#include <ucontext.h>
#endif

/* All zero: stands for the OS thread's own stack, and may be switched from. */
typedef struct {
#ifdef HOSTGPU_FIBER_ASSEMBLY
    void *stack_pointer; /* while it does not run */
#else
    ucontext_t context;
#endif
    void (*entry)(void);
    const void *stack; /* lowest address */
    size_t stack_bytes;
    void *fake_stack; /* AddressSanitizer's */
    void *race_fiber; /* ThreadSanitizer's */
} hostgpu_fiber;

/* Prepares a fiber that calls entry when first switched to; entry must not return. *fiber is all zero, or a fiber
 * that is given up, wherever it stands. */
void hostgpu_fiber_create(hostgpu_fiber *fiber, void *stack, size_t stack_bytes,
                          void (*entry)(void));

/* Leaves the running fiber `from` and goes on in `to`; returns when somebody switches back. */
void hostgpu_fiber_switch(hostgpu_fiber *from, hostgpu_fiber *to);

#endif
