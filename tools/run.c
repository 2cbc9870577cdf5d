#include <errno.h>
#include <getopt.h>
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

static const char default_mode[] = "df";

typedef struct {
    const char *mode, *report; /* NULL: not given */
    bool wants_host_device;
} arguments;

/* Returns -1 to go on, else an exit status. */
static int parse(int argc, char **argv, arguments *a)
{
    static const struct option long_options[] = {{"help", no_argument, NULL, 'h'},
                                                 {"mode", required_argument, NULL, 'm'},
                                                 {"report", required_argument, NULL, 'r'},
                                                 {"hostgpu", no_argument, NULL, 'g'},
                                                 {0}};
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, "+:h", long_options, NULL)) != -1;) {
        switch (c) {
        case 'h':
            return print_help(argv[0]);
        case 'm':
            a->mode = optarg;
            break;
        case 'r':
            a->report = optarg;
            break;
        case 'g':
            a->wants_host_device = true;
            break;
        default:
            return refuse_option(argv);
        }
    }
    if (optind < argc) return -1;
    say("run: no program given; see tandem run --help");
    return EXIT_USAGE;
}

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
static bool set_options(const arguments *a)
{
    td_options o;
    if (!pass_on(TD_OPTION_MODE, "--mode", a->mode)) return false;
    if (!pass_on(TD_OPTION_REPORT, "--report", a->report)) return false;
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

int command_run(int argc, char **argv)
{
    arguments a = {0};
    char path[PATH_MAX], reason[EXAMINE_REASON_BYTES];
    bool is_host_device;
    const int status = parse(argc, argv, &a);
    if (status >= 0) return status;
    if (!set_options(&a)) return EXIT_USAGE;

    char **program = argv + optind;
    const int error = program_find(program[0], path);
    if (error) return cannot_run(program[0], error);
    if (!choose_device(a.wants_host_device, &is_host_device)) return 1;
    if (!examine_loading(path, is_host_device, reason))
        say("warn: emulating '%s' will not work: %s", program[0], reason);
    if (!set_preload(is_host_device)) return 1;
    execvp(path, program);
    return cannot_run(program[0], errno);
}
