/* selftest_speed.h - the speeds of `tandem selftest`: square products by cuBLAS, by cuBLAS's own
 * emulation of binary64, and by every mode. */
#ifndef TD_TOOLS_SELFTEST_SPEED_H
#define TD_TOOLS_SELFTEST_SPEED_H

#include <stdbool.h>
#include <stdio.h>

/* Writes a table of the current device's 10^12 operations a second, a column for each size. False,
 * after a line that says why, if nothing could be timed. is_host: the host device is, with one
 * small size, and no figure is written, as its times say nothing about a GPU. */
bool selftest_speed(FILE *out, bool is_host);

#endif
