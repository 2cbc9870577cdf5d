/* range.h - NVTX ranges of calls, in the domain "Tandem", so that NVIDIA's profilers show which
 * product kernels belong to. Nothing is done unless such a profiler watches the process. */
#ifndef TD_RANGE_H
#define TD_RANGE_H

#include <stdbool.h>

/* True if somebody watches. */
bool td_range_is_watched(void);

/* Begins a range of the calling thread, with a text for it; td_range_end ends the last one. */
void td_range_begin(const char *text);
void td_range_end(void);

#endif
