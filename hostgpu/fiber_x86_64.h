/* fiber_x86_64.h - a switch of stacks in assembly for x86-64, about 10 ns; for fiber.h. */
#ifndef HOSTGPU_FIBER_X86_64_H
#define HOSTGPU_FIBER_X86_64_H

#include <stddef.h>
#include <stdint.h>

/* A fiber that does not run: its stack pointer. There lies the address to go on at. */
typedef struct {
    void *stack_pointer;
} hostgpu_resume_point;

/* The lowest address of the frames that it goes on in. */
static inline const char *hostgpu_frames(const hostgpu_resume_point *fiber)
{
    return (const char *)fiber->stack_pointer;
}

/* The registers that AVX-512 adds, where the compiler has instructions that use them. */
#ifdef __AVX512F__
#define HOSTGPU_MORE_REGISTERS                                                                     \
    , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",    \
        "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6",  \
        "k7"
#else
#define HOSTGPU_MORE_REGISTERS
#endif

/* Keeps the running stack's pointer in *from, with the address to go on at on that stack, and goes
 * on where `to` was left. The compiler keeps what it needs of the registers. Below the stack
 * pointer it may have 128 bytes of its own. */
static inline __attribute__((always_inline)) void
hostgpu_change_stack(hostgpu_resume_point *from, const hostgpu_resume_point *to)
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
                       "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "st",
                       "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)", "cc",
                       "memory" HOSTGPU_MORE_REGISTERS);
}

/* Prepares a fiber that starts with a function, on a stack of so many bytes from `stack` on. It is
 * laid out as a switch leaves it. Above the address to go on at, a return address of 0 ends
 * backtraces and aligns the stack as for a called function. */
static inline void hostgpu_prepare_stack(hostgpu_resume_point *fiber, void *stack, size_t bytes,
                                         void (*start)(void))
{
    uintptr_t *slot = (uintptr_t *)(((uintptr_t)stack + bytes) & ~(uintptr_t)15);

    *--slot = 0;
    *--slot = (uintptr_t)start;
    fiber->stack_pointer = slot;
}

#endif
