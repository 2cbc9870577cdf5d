/* calibrate.h - the measurement of a device for mode auto. */
#ifndef TD_TOOLS_CALIBRATE_H
#define TD_TOOLS_CALIBRATE_H

#include <stdbool.h>
#include <stdio.h>

/* Measures the device with CUDA's number `device` in about so many seconds, writes a table of the
 * rows, and keeps the result for programs under mode auto. False, after a line on stderr, if it
 * cannot be measured, or the result cannot be kept. */
bool calibrate_device(FILE *out, int device, long seconds);

/* Measures the device in the same way, and keeps nothing. False if it cannot be measured. */
bool calibrate_measure(int device, long seconds);

#endif
