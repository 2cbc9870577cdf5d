/* tandem.h - the commands of the launcher, and what all of them use. */
#ifndef TD_TOOLS_TANDEM_H
#define TD_TOOLS_TANDEM_H

#include "tools/command.h"
#include "tools/say.h"

extern const command command_run, command_bench, command_modes, command_options, command_plan,
    command_calibrate, command_selftest, command_doctor, command_report, command_version;

#endif
