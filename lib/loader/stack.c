#include "stack.h"

#include <stdint.h>
#include <unwind.h>

/* Where this object, or the program that it is part of, begins and ends in memory: from the
 * linker. */
extern const char object_start[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));
extern const char object_end[] __asm__("_end") __attribute__((visibility("hidden")));

typedef struct {
    bool has_left; /* a frame of other code has been seen */
    bool is_found; /* and after it one of Tandem's */
} walk;

static _Unwind_Reason_Code look(struct _Unwind_Context *frame, void *of)
{
    walk *const w = of;
    const uintptr_t at = (uintptr_t)_Unwind_GetIP(frame);
    const bool is_own = at >= (uintptr_t)object_start && at < (uintptr_t)object_end;
    w->is_found = w->has_left && is_own;
    w->has_left |= !is_own;
    return w->is_found ? _URC_END_OF_STACK : _URC_NO_REASON;
}

bool td_stack_has_tandem_above(void)
{
    walk w = {0};
    (void)_Unwind_Backtrace(look, &w);
    return w.is_found;
}
