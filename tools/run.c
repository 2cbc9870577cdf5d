#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/options.h"
#include "tools/examine.h"
#include "tools/machine.h"
#include "tools/placement.h"
#include "tools/program.h"
#include "tools/tandem.h"

#define HOST_DEVICE "using the host device, whose speed says nothing about a GPU"

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

/* Decides where the program runs, and says so unless it is a GPU; false if there is nothing to run on. */
static bool choose_device(bool wants_host_device, bool *is_host_device)
{
    char path[PATH_MAX], why[MACHINE_TEXT_BYTES + 64] = "";
    machine m;
    *is_host_device = true;
    if (!wants_host_device && !placement_find(PLACEMENT_CUDA, path)) {
        snprintf(why, sizeof why, "no CUDA back end (%s) in this build; ", PLACEMENT_CUDA);
    } else if (!wants_host_device) {
        machine_query(&m);
        *is_host_device = m.device_count == 0;
        snprintf(why, sizeof why, "no CUDA device found (%s); ", m.reason);
    }
    if (!*is_host_device) return true;
    if (placement_has_host_device()) {
        say("%s" HOST_DEVICE, why);
        return true;
    }
    say("%sthe host device (%s and its stand-ins) is not installed beside this launcher", why,
        PLACEMENT_HOST);
    return false;
}

/* Puts a library at the end of a list for LD_PRELOAD; false, with a line, if the list cannot name it. */
static bool append_library(char *list, size_t bytes, const char *name)
{
    char path[PATH_MAX];
    const size_t used = strlen(list);
    if (!placement_find(name, path)) {
        say("cannot find %s beside this launcher", name);
        return false;
    }
    if (path[strcspn(path, ": ")]) {
        say("cannot preload '%s': LD_PRELOAD allows no space and no colon in a path", path);
        return false;
    }
    return snprintf(list + used, bytes - used, "%s%s", used ? ":" : "", path) < (int)(bytes - used);
}

static bool set_preload(bool is_host_device)
{
    static const char *const host_libraries[] = {PLACEMENT_HOST, PLACEMENT_CUDART, PLACEMENT_CUBLAS,
                                                 PLACEMENT_CUBLAS_LT};
    static const char *const cuda_libraries[] = {PLACEMENT_CUDA};
    const char *const *names = is_host_device ? host_libraries : cuda_libraries;
    const int count = is_host_device ? 4 : 1;
    const char *before = getenv("LD_PRELOAD");
    char own[4 * PATH_MAX] = "";
    for (int i = 0; i < count; i++)
        if (!append_library(own, sizeof own, names[i])) return false;

    char *list = NULL;
    const bool has_before = before && before[0];
    if (asprintf(&list, "%s%s%s", own, has_before ? ":" : "", has_before ? before : "") < 0)
        return false;
    const bool is_set = setenv("LD_PRELOAD", list, 1) == 0;
    free(list);
    return is_set;
}

static int cannot_run(const char *name, int error)
{
    say("cannot run '%s': %s", name, strerror(error));
    return error == ENOENT || error == ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

static int run(const command_line *line)
{
    char path[PATH_MAX], reason[EXAMINE_REASON_BYTES];
    bool is_host_device;
    if (line->count == 0) {
        say("run: no program given; see tandem run --help");
        return EXIT_USAGE;
    }
    if (!set_options(line)) return EXIT_USAGE;

    char **program = line->arguments;
    const int error = program_find(program[0], path);
    if (error) return cannot_run(program[0], error);
    if (!choose_device(line->values[HOSTGPU], &is_host_device)) return 1;
    if (!examine_loading(path, is_host_device, reason))
        say("warn: emulating '%s' will not work: %s", program[0], reason);
    if (!set_preload(is_host_device)) return 1;
    execvp(path, program);
    return cannot_run(program[0], errno);
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
