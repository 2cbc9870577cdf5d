/* timer.h - device time of single calls, for the report, by CUDA events that nobody waits for. */
#ifndef TD_TIMER_H
#define TD_TIMER_H

#include <cuda_runtime_api.h>

#include "report.h"

typedef struct td_timer td_timer;

/* Marks the stream, which is not being captured. NULL if the call cannot be timed: all events are
 * under way. */
td_timer *td_timer_start(cudaStream_t stream);

/* Marks the end of the call; its time goes to the record when the device is found to have passed
 * the mark. Accepts a NULL timer. */
void td_timer_stop(td_timer *timer, cudaStream_t stream, td_record *record);

/* Gives back a timer whose call did not happen. Accepts NULL. */
void td_timer_drop(td_timer *timer);

/* Collects every call that has ended. What a context takes with it when it ends (cudaDeviceReset)
 * can only be collected before. */
void td_timer_collect(void);

/* Round a fork(). A child forgets all calls: their events are its parent's. */
void td_timer_before_fork(void);
void td_timer_after_fork(bool is_child);

#endif
