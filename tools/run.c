#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/options/options.h"
#include "tools/launch.h"
#include "tools/nvblas.h"
#include "tools/tandem.h"

static const char default_mode[] = "auto";

enum { MODE, ACCURACY, STRATEGY, WORKSPACE, VERIFY, RULES, REPORT, HOSTGPU, NVBLAS };

/* Options that are variables of the library. */
static const struct {
    int option;
    td_option_id id;
    const char *name;
} passed_on[] = {{MODE, TD_OPTION_MODE, "--mode"},
                 {ACCURACY, TD_OPTION_ACCURACY, "--accuracy"},
                 {STRATEGY, TD_OPTION_STRATEGY, "--strategy"},
                 {WORKSPACE, TD_OPTION_WORKSPACE, "--workspace"},
                 {VERIFY, TD_OPTION_VERIFY, "--verify"},
                 {RULES, TD_OPTION_RULES, "--rules"},
                 {REPORT, TD_OPTION_REPORT, "--report"}};

/* Checks one option and hands it on to the program. */
static bool pass_on(td_option_id id, const char *name, const char *text)
{
    td_options o;
    if (!text) return true;
    td_options_set_defaults(&o);
    return td_options_set(&o, id, name, text, TD_ORIGIN_CALL) &&
           setenv(td_option_table[id].name, text, 1) == 0;
}

/* Leaves the options in the environment, where the library reads them. The library also warns of
 * unknown variables, so that this is not done here. */
static bool set_options(const command_line *line)
{
    td_options o;
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
        if (!pass_on(passed_on[i].id, passed_on[i].name, line->values[passed_on[i].option]))
            return false;
    if (!launch_read_options(&o, true)) return false;
    if (o.origins[TD_OPTION_MODE] == TD_ORIGIN_DEFAULT)
        return pass_on(TD_OPTION_MODE, "the default mode", default_mode);
    if (!td_options_agree(&o, "")) return false;
    if (line->values[ACCURACY] && !o.mode.engine->is_choice)
        warn_of("--accuracy %s has no effect: it is for mode auto, and the mode is %s",
                line->values[ACCURACY], o.mode.text);
    return true;
}

static int run(const command_line *line)
{
    launch l;
    if (line->count == 0) return usage_error("no program given; see tandem run --help");
    if (!set_options(line)) return EXIT_USAGE;
    const int status = launch_prepare(&l, line->arguments[0], line->values[HOSTGPU]);
    if (status) return status;
    if (line->values[NVBLAS] && l.is_host_device)
        warn_of("--nvblas has no effect without a GPU: NVBLAS has a CUDA runtime of its own");
    if (line->values[NVBLAS] && !nvblas_prepare()) return 1;
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
         [STRATEGY] = {"strategy", "STRATEGY",
                       "whether to emulate all products (eager) or those that gain time: as "
                       "TANDEM_STRATEGY"},
         [WORKSPACE] = {"workspace", "BYTES",
                        "most device memory used at a time, e.g. 512M: as TANDEM_WORKSPACE"},
         [VERIFY] = {"verify", "ELEMENTS",
                     "compare elements of each product with exact ones: sample, sample:N or full"},
         [RULES] = {"rules", "FILE", "modes for some calls, by shape or caller: as TANDEM_RULES"},
         [REPORT] = {"report", "FILE",
                     "leave counts there at exit: JSON, or a table on stderr for -"},
         [HOSTGPU] = {"hostgpu", NULL, "use the host device even if there is a GPU"},
         [NVBLAS] = {"nvblas", NULL,
                     "preload NVBLAS, too: for programs that call the BLAS of the CPU"}},
    .run = run,
};
