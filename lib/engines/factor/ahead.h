/* ahead.h - a stream beside the program's, in which a factorisation makes what its next step waits
 * for, before all other work. */
#ifndef TD_FACTOR_AHEAD_H
#define TD_FACTOR_AHEAD_H

#include "../../cuda/device.h"

typedef struct {
    cudaStream_t stream;
    cudaEvent_t step, panel, begun;
    bool is_taken;
} td_ahead;

/* One that nobody else has, of the device, which must be the current one; NULL: there is none. Not
 * during stream capture: whoever captures would have to end it. */
td_ahead *td_ahead_take(td_device *device);

/* After all of its work is joined by the program's stream. */
void td_ahead_give_back(td_ahead *ahead);

/* In a child of fork(), which makes streams of its own. */
void td_ahead_after_fork(void);

/* Has one stream wait for what the other one has been given so far. */
bool td_ahead_wait(cudaStream_t waiting, cudaEvent_t event, cudaStream_t other);

#endif
