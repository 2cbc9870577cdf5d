/* doctor.h - what this machine has, for the commands that say so. */
#ifndef TD_TOOLS_DOCTOR_H
#define TD_TOOLS_DOCTOR_H

#include <stdbool.h>
#include <stdio.h>

/* Writes what `tandem doctor` writes of the machine. False if programs will not work on it. */
bool doctor_print(FILE *out);

#endif
