#include "tools/launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/call/failures.h"
#include "lib/call/rules.h"
#include "tools/examine.h"
#include "tools/machine.h"
#include "tools/placement.h"
#include "tools/program.h"
#include "tools/tandem.h"

#define HOST_DEVICE "using the host device, whose speed says nothing about a GPU"

static bool has_good_rules(const td_options *o, bool is_heard)
{
    td_rules *rules = o->rules.text[0] ? td_rules_read(o->rules.text, o) : NULL;
    if (rules && !is_heard) td_rules_warn_unused(rules, o->rules.text);
    td_rules_free(rules);
    return rules || !o->rules.text[0];
}

bool launch_read_options(td_options *o, bool is_heard)
{
    return td_options_parse(o, environ) && has_good_rules(o, is_heard) && td_failures_open(o);
}

/* Decides where the program runs, and says so unless it is a GPU; false if there is nothing to run
 * on. */
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
    complain("%sthe host device (%s and its stand-ins) is not installed beside this launcher", why,
             PLACEMENT_HOST);
    return false;
}

/* Puts a library at the end of a list for LD_PRELOAD; false, with a line, if the list cannot name
 * it. */
static bool append_library(char *list, size_t bytes, const char *name)
{
    char path[PATH_MAX];
    const size_t used = strlen(list);
    if (!placement_find(name, path)) {
        complain("cannot find %s beside this launcher", name);
        return false;
    }
    if (path[strcspn(path, ": ")]) {
        complain("cannot preload '%s': LD_PRELOAD allows no space and no colon in a path", path);
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

/* A file of this folder that a name without a slash does not mean, because the folder is not in
 * PATH. */
static bool is_in_this_folder(const char *name)
{
    return name[0] && !strchr(name, '/') && access(name, F_OK) == 0;
}

int launch_refuse(const char *name, int error)
{
    if (error != ENOENT || !is_in_this_folder(name))
        complain("cannot run '%s': %s", name, strerror(error));
    else if (access(name, X_OK) == 0)
        complain("cannot run '%s': it is not in PATH; write ./%s for the one in this folder", name,
                 name);
    else
        complain(
            "cannot run '%s': it is not in PATH, and the file in this folder is not executable",
            name);
    return error == ENOENT || error == ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

int launch_prepare(launch *l, const char *name, bool wants_host_device)
{
    char reason[EXAMINE_REASON_BYTES];
    const int error = program_find(name, l->path);
    if (error) return launch_refuse(name, error);
    if (!choose_device(wants_host_device, &l->is_host_device)) return 1;
    if (!examine_loading(l->path, l->is_host_device, reason))
        warn_of("emulating '%s' will not work: %s", name, reason);
    return set_preload(l->is_host_device) ? 0 : 1;
}
