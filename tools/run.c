#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/options.h"
#include "tools/launch.h"
#include "tools/tandem.h"

static const char default_mode[] = "auto";

enum { MODE, ACCURACY, REPORT, HOSTGPU };

/* Checks one option and hands it on to the program. */
static bool pass_on(td_option_id id, const char *name, const char *text)
{
    td_options o;
    if (!text) return true;
    td_options_set_defaults(&o);
    return td_options_set(&o, id, name, text, TD_ORIGIN_CALL) &&
           setenv(td_option_table[id].name, text, 1) == 0;
}

/* Leaves the options in the environment, where the library reads them. The library also warns of unknown
 * variables, so that this is not done here. */
static bool set_options(const command_line *line)
{
    td_options o;
    if (!pass_on(TD_OPTION_MODE, "--mode", line->values[MODE])) return false;
    if (!pass_on(TD_OPTION_ACCURACY, "--accuracy", line->values[ACCURACY])) return false;
    if (!pass_on(TD_OPTION_REPORT, "--report", line->values[REPORT])) return false;
    if (!td_options_parse(&o, environ)) return false;
    return o.origins[TD_OPTION_MODE] != TD_ORIGIN_DEFAULT ||
           pass_on(TD_OPTION_MODE, "the default mode", default_mode);
}

static int run(const command_line *line)
{
    launch l;
    if (line->count == 0) {
        say("run: no program given; see tandem run --help");
        return EXIT_USAGE;
    }
    if (!set_options(line)) return EXIT_USAGE;
    const int status = launch_prepare(&l, line->arguments[0], line->values[HOSTGPU]);
    if (status) return status;
    execvp(l.path, line->arguments);
    return launch_refuse(line->arguments[0], errno);
}

const command command_run = {
    .name = "run",
    .arguments = "[--] PROGRAM [ARGUMENT...]",
    .most = -1,
    .summary = "run a program with its cuBLAS products emulated",
    .details = "",
    .options =
        {[MODE] = {"mode", "MODE",
                   "arithmetic (`tandem modes`); auto if neither this nor TANDEM_MODE is given"},
         [ACCURACY] =
             {"accuracy", "ACCURACY",
              "how good the products of mode auto are at least: fp64, faithful, or 10 to 52 bits"},
         [REPORT] = {"report", "FILE",
                     "leave counts there at exit: JSON, or a table on stderr for -"},
         [HOSTGPU] = {"hostgpu", NULL, "use the host device even if there is a GPU"}},
    .run = run,
};
