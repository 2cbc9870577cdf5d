/* faults.c - calls of the runtime that fail because a test wants them to. */
#include "cudart_internal.h"

/* How many calls of a kind there were since the test last asked, and which of them fail: `count`
 * from number `first` on. */
static struct {
    atomic_ullong calls, failed, first, count;
} faults[HOSTGPU_FAULT_KINDS];

void hostgpu_fail_at(hostgpu_fault_kind kind, unsigned long long first, unsigned long long count)
{
    atomic_store(&faults[kind].first, first);
    atomic_store(&faults[kind].count, count);
    atomic_store(&faults[kind].calls, 0);
    atomic_store(&faults[kind].failed, 0);
}

unsigned long long hostgpu_failures(hostgpu_fault_kind kind)
{
    return atomic_load(&faults[kind].failed);
}

bool hostgpu_fails(hostgpu_fault_kind kind)
{
    const unsigned long long count =
        atomic_load_explicit(&faults[kind].count, memory_order_relaxed);
    unsigned long long number;

    if (!count) return false;
    number = atomic_fetch_add(&faults[kind].calls, 1) + 1;
    if (number < atomic_load(&faults[kind].first) ||
        number - atomic_load(&faults[kind].first) >= count)
        return false;
    atomic_fetch_add(&faults[kind].failed, 1);
    return true;
}
