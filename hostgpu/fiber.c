#include "fiber.h"

#include <stdint.h>
#include <string.h>

#include "sanitize.h"

/* The two sides of this OS thread's last switch. */
static __thread hostgpu_fiber *departed, *arrived;

/* ---- what sanitizers want to know ---- */

static void announce_departure(void)
{
#ifdef HOSTGPU_ASAN
    __sanitizer_start_switch_fiber(&departed->fake_stack, arrived->stack, arrived->stack_bytes);
#endif
#ifdef HOSTGPU_TSAN
    if (!departed->race_fiber) departed->race_fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(arrived->race_fiber, __tsan_switch_to_fiber_no_sync);
#endif
}

/* Also learns the bounds of an OS thread's own stack, when it is left for the first time. */
static void announce_arrival(void *fake_stack)
{
#ifdef HOSTGPU_ASAN
    __sanitizer_finish_switch_fiber(fake_stack, &departed->stack, &departed->stack_bytes);
#endif
    (void)fake_stack;
}

static void start(void)
{
    announce_arrival(NULL);
    arrived->entry();
}

/* ---- the two mechanisms ---- */

#ifdef HOSTGPU_FIBER_ASSEMBLY

/* Saves the callee-saved registers on the running stack and that stack's pointer in *save; restores the same
 * from `load`. */
void hostgpu_switch_stack(void **save, void *load) __attribute__((visibility("hidden")));

__asm__(".text\n"
        ".p2align 4\n"
        ".globl hostgpu_switch_stack\n"
        ".hidden hostgpu_switch_stack\n"
        ".type hostgpu_switch_stack, @function\n"
        "hostgpu_switch_stack:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size hostgpu_switch_stack, . - hostgpu_switch_stack\n");

/* Lays the stack out as hostgpu_switch_stack leaves it: six registers and the address to return to. Above them
 * a return address of 0 ends backtraces and aligns the stack as for a called function. */
static void prepare(hostgpu_fiber *fiber)
{
    enum { REGISTERS = 6 };
    uintptr_t top = (uintptr_t)fiber->stack + fiber->stack_bytes;
    uintptr_t *slot = (uintptr_t *)(top & ~(uintptr_t)15);

    *--slot = 0;
    *--slot = (uintptr_t)start;
    slot -= REGISTERS;
    memset(slot, 0, REGISTERS * sizeof *slot);
    fiber->stack_pointer = slot;
}

static void change_stack(hostgpu_fiber *from, const hostgpu_fiber *to)
{
    hostgpu_switch_stack(&from->stack_pointer, to->stack_pointer);
}

#else

static void prepare(hostgpu_fiber *fiber)
{
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = (void *)fiber->stack;
    fiber->context.uc_stack.ss_size = fiber->stack_bytes;
    fiber->context.uc_link = NULL;
    makecontext(&fiber->context, start, 0);
}

static void change_stack(hostgpu_fiber *from, const hostgpu_fiber *to)
{
    swapcontext(&from->context, &to->context);
}

#endif

/* ---- the interface ---- */

void hostgpu_fiber_create(hostgpu_fiber *fiber, void *stack, size_t stack_bytes,
                          void (*entry)(void))
{
    *fiber = (hostgpu_fiber){.entry = entry,
                             .stack = stack,
                             .stack_bytes = stack_bytes,
                             .race_fiber = fiber->race_fiber};
#ifdef HOSTGPU_ASAN
    __asan_unpoison_memory_region(stack, stack_bytes); /* frames that an abandoned fiber left */
#endif
#ifdef HOSTGPU_TSAN
    if (!fiber->race_fiber) fiber->race_fiber = __tsan_create_fiber(0); /* costs a millisecond */
#endif
    prepare(fiber);
}

void hostgpu_fiber_switch(hostgpu_fiber *from, hostgpu_fiber *to)
{
    departed = from;
    arrived = to;
    announce_departure();
    change_stack(from, to);
    announce_arrival(from->fake_stack);
}
