/* failures.h - elements that TANDEM_VERIFY has found beyond their bounds: the first one of the
 * process is said, and left in TANDEM_VERIFY_DUMP. Kernels write what they find into host memory,
 * which is looked at with each call and at the end. */
#ifndef TD_FAILURES_H
#define TD_FAILURES_H

#include "../cuda/device.h"
#include "../options/options.h"

/* Finds the folder of TANDEM_VERIFY_DUMP; before the others. False, after a line that says why, if
 * no file can be made there, which is tried if anything is verified from the start. */
bool td_failures_open(const td_options *o);

/* From now on the device's failure is looked at; once a device, more often does nothing. */
void td_failures_watch(td_device *device);

/* True if a failure's lines are to be kept. */
bool td_failures_keep_lines(const td_device *device);

void td_failures_look(void);

/* For fork() alone (../call/process.c). */
extern pthread_mutex_t td_failures_lock;

#endif
