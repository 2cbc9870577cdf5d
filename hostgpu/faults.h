/* faults.h - where the host device asks whether a call is to fail, as a test wants it
 * (hostgpu_fail_at). */
#ifndef HOSTGPU_FAULTS_H
#define HOSTGPU_FAULTS_H

#include <stdbool.h>

#include "executor.h"

/* Counts a call of the kind; true if a test wants it to fail. A handle of cuBLAS counts as an
 * allocation: cuBLAS has memory of the device for each. */
bool hostgpu_fails(hostgpu_fault_kind kind);

#endif
