/* fiber.h - stacks that one OS thread switches between. Hand-written assembly on x86-64 (about 10
 * ns a switch), ucontext elsewhere (about 200 ns: a system call each). Floating-point control words
 * are not switched. */
#ifndef HOSTGPU_FIBER_H
#define HOSTGPU_FIBER_H

#include <stddef.h>

#include "sanitize.h"

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

/* Prepares a fiber that calls entry when first switched to; entry must not return. *fiber is all
 * zero, or a fiber that is given up. */
void hostgpu_fiber_create(hostgpu_fiber *fiber, void *stack, size_t stack_bytes,
                          void (*entry)(void));

/* Has AddressSanitizer forget the frames of a fiber that is given up within functions: another one
 * will be created on its stack. */
void hostgpu_fiber_forget_frames(const hostgpu_fiber *fiber);

/* The two sides of this OS thread's last switch, for sanitizers. */
extern __thread hostgpu_fiber *hostgpu_departed __attribute__((visibility("hidden")));
extern __thread hostgpu_fiber *hostgpu_arrived __attribute__((visibility("hidden")));

/* Sanitizers hear of a switch before it, on the stack that is left, and after it, on the other. */
void hostgpu_fiber_depart(void);
void hostgpu_fiber_arrive(void *fake_stack);

#ifdef HOSTGPU_FIBER_ASSEMBLY

/* Keeps the running stack's pointer in *from, with the address to go on at on that stack, and goes
 * on where `to` was left. The compiler keeps what it needs of the registers. Below the stack
 * pointer it may have 128 bytes of its own. */
static inline __attribute__((always_inline)) void hostgpu_change_stack(hostgpu_fiber *from,
                                                                       const hostgpu_fiber *to)
{
    void **save = &from->stack_pointer, *load = to->stack_pointer;

    __asm__ volatile("leaq -128(%%rsp), %%rsp\n"
                     "pushq %%rbp\n"
                     "leaq 1f(%%rip), %%rax\n"
                     "pushq %%rax\n"
                     "movq %%rsp, (%0)\n"
                     "movq %1, %%rsp\n"
                     "popq %%rax\n"
                     "jmpq *%%rax\n"
                     "1:\n"
                     "popq %%rbp\n"
                     "leaq 128(%%rsp), %%rsp\n"
                     : "+D"(save), "+S"(load)
                     :
                     : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
                       "r15", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
                       "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc",
                       "memory");
}

#else

static inline void hostgpu_change_stack(hostgpu_fiber *from, const hostgpu_fiber *to)
{
    swapcontext(&from->context, &to->context);
}

#endif

/* Leaves the running fiber `from` and goes on in `to`; returns when somebody switches back. */
static inline void hostgpu_fiber_switch(hostgpu_fiber *from, hostgpu_fiber *to)
{
    if (hostgpu_is_sanitized) {
        hostgpu_departed = from;
        hostgpu_arrived = to;
        hostgpu_fiber_depart();
    }
    hostgpu_change_stack(from, to);
    if (hostgpu_is_sanitized) hostgpu_fiber_arrive(from->fake_stack);
}

#endif
