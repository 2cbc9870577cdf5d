#include "tools/launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/verify/failures.h"
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
    return complain(
        "%sthe host device (%s and its stand-ins) is not installed beside this launcher", why,
        PLACEMENT_HOST);
}

/* Writes a library's path, or nothing where a build may lack it; false, with a line, if there is
 * none that LD_PRELOAD could have. */
static bool print_library(FILE *list, const char *name)
{
    char path[PATH_MAX];
    if (!placement_find(name, path)) {
        if (placement_is_optional(name)) return true;
        return complain("cannot find %s beside this launcher", name);
    }
    if (!placement_is_nameable(path)) return complain(PLACEMENT_NOT_NAMEABLE, path);
    fprintf(list, "%s:", path);
    return true;
}

static bool print_list(FILE *list, bool is_host_device)
{
    const char *before = getenv("LD_PRELOAD");
    for (const char *const *name = placement_preloaded(is_host_device); *name; name++)
        if (!print_library(list, *name)) return false;
    fputs(before ? before : "", list);
    return true;
}

static bool set_preload(bool is_host_device)
{
    char *text = NULL;
    size_t length = 0;
    FILE *list = open_memstream(&text, &length);
    bool is_set = list && print_list(list, is_host_device);
    if (list) is_set &= fclose(list) == 0;
    if (is_set) text[length - (text[length - 1] == ':')] = '\0';
    is_set = is_set && setenv("LD_PRELOAD", text, 1) == 0;
    free(text);
    return is_set;
}

/* A file of this folder that a name without a slash does not mean, because the folder is not in
 * PATH. */
static bool is_in_this_folder(const char *name)
{
    struct stat info;
    return !strchr(name, '/') && stat(name, &info) == 0 && S_ISREG(info.st_mode);
}

int launch_refuse(const char *name, int error)
{
    char path[PATH_MAX];
    if (error == ENOENT && program_find(name, path) == 0)
        complain("cannot run '%s': the interpreter or the loader that it names is not there", name);
    else if (error != ENOENT || !is_in_this_folder(name))
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
    const loading verdict = examine_loading(l->path, l->is_host_device, reason);
    if (verdict != LOADING_WORKS) warn_of("emulating '%s' will not work: %s", name, reason);
    return verdict == LOADING_BREAKS || set_preload(l->is_host_device) ? 0 : 1;
}
