/* step.h - what blocks count that do a step of a kernel together (work_queue.h). For host C and for kernels. */
#ifndef TD_STEP_H
#define TD_STEP_H

#include <stdint.h>

/* Units of the step that blocks have begun, and ended; zeros before the kernel. */
typedef struct {
    int32_t taken, done;
} td_step;

#endif
