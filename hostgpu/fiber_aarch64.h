/* fiber_aarch64.h - a switch of stacks in assembly for 64-bit Arm; for fiber.h. */
#ifndef HOSTGPU_FIBER_AARCH64_H
#define HOSTGPU_FIBER_AARCH64_H

#include <stddef.h>
#include <stdint.h>

/* A fiber that does not run: its stack pointer. There lie a frame pointer and, after it, the
 * address to go on at. */
typedef struct {
    void *stack_pointer;
} hostgpu_resume_point;

/* The lowest address of the frames that it goes on in. */
static inline const char *hostgpu_frames(const hostgpu_resume_point *fiber)
{
    return (const char *)fiber->stack_pointer;
}

/* The predicate registers, where the compiler has instructions that use them. */
#ifdef __ARM_FEATURE_SVE
#define HOSTGPU_PREDICATES                                                                         \
    , "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12", "p13",      \
        "p14", "p15"
#else
#define HOSTGPU_PREDICATES
#endif

/* Keeps the running stack's pointer in *from, with the address to go on at on that stack, and goes
 * on where `to` was left. The compiler keeps what it needs of the registers, but for the frame
 * pointer, x29. A function that starts finds a return address of 0 in x30, which ends backtraces.
 * Processors that check branches (BTI) allow one through x17 to a function's start, and to hint 36
 * (bti j), which others pass over. */
static inline __attribute__((always_inline)) void
hostgpu_change_stack(hostgpu_resume_point *from, const hostgpu_resume_point *to)
{
    void **save = &from->stack_pointer, *load = to->stack_pointer;

    __asm__ volatile("adr x17, 1f\n"
                     "stp x29, x17, [sp, #-16]!\n"
                     "mov x16, sp\n"
                     "str x16, [%0]\n"
                     "mov sp, %1\n"
                     "ldp x29, x17, [sp], #16\n"
                     "mov x30, xzr\n"
                     "br x17\n"
                     "1:\n"
                     "hint #36\n"
                     : "+r"(save), "+r"(load)
                     :
                     : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
                       "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24",
                       "x25", "x26", "x27", "x28", "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6",
                       "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17",
                       "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28",
                       "v29", "v30", "v31", "cc", "memory" HOSTGPU_PREDICATES);
}

/* Prepares a fiber that starts with a function, on a stack of so many bytes from `stack` on. It is
 * laid out as a switch leaves it, with a frame pointer of 0 that ends the chain of frames. */
static inline void hostgpu_prepare_stack(hostgpu_resume_point *fiber, void *stack, size_t bytes,
                                         void (*start)(void))
{
    uintptr_t *slot = (uintptr_t *)(((uintptr_t)stack + bytes) & ~(uintptr_t)15);

    *--slot = (uintptr_t)start;
    *--slot = 0;
    fiber->stack_pointer = slot;
}

#endif
