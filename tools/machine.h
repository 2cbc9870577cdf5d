/* machine.h - the CUDA driver and devices of this machine. */
#ifndef TD_TOOLS_MACHINE_H
#define TD_TOOLS_MACHINE_H

#include <stddef.h>

#include "lib/model/model.h"

enum { MACHINE_DEVICES = 64, MACHINE_TEXT_BYTES = 256 };

typedef struct {
    td_card card;
    size_t memory_bytes;
} machine_device;

typedef struct {
    int driver_version; /* CUDA version it supports, 1000 major + 10 minor; 0: no driver */
    int device_count;
    machine_device devices[MACHINE_DEVICES];
    char reason[MACHINE_TEXT_BYTES]; /* why there is no device that Tandem could use */
} machine;

/* Asks the driver itself (libcuda.so.1), so that the answer does not depend on the back ends that
 * were built. */
void machine_query(machine *m);

#endif
