#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/examine.h"
#include "tools/loader.h"
#include "tools/machine.h"
#include "tools/placement.h"
#include "tools/program.h"
#include "tools/tandem.h"

#define NO_GPU_SPEED "whose speed says nothing about a GPU"

static int conclude(preload_verdict verdict, const char *reason)
{
    static const char *const names[] = {[PRELOAD_WORKS] = "works",
                                        [PRELOAD_MAY_WORK] = "may work",
                                        [PRELOAD_FAILS] = "will not work"};
    printf("verdict:     %s: %s\n", names[verdict], reason);
    return verdict == PRELOAD_FAILS ? 1 : 0;
}

static void print_devices(const machine *m)
{
    if (m->driver_version)
        printf("driver:      CUDA %d.%d\n", m->driver_version / 1000,
               m->driver_version % 1000 / 10);
    if (m->device_count == 0) printf("device:      none (%s)\n", m->reason);
    for (int i = 0; i < m->device_count; i++) {
        const td_card *card = &m->devices[i].card;
        printf("device %d:    %s, compute capability %d.%d, %.1f GiB\n", i, card->name, card->major,
               card->minor, (double)m->devices[i].memory_bytes / (double)(1 << 30));
    }
}

/* The libraries that programs of each CUDA version would get, with the version that their file names carry. */
static void print_libraries(void)
{
    static const char names[] = "libcudart.so.11.0:libcudart.so.12:libcudart.so.13:"
                                "libcublas.so.11:libcublas.so.12:libcublas.so.13";
    loaded_set set;
    int found = 0;
    if (!loaded_set_find(&set, names)) return;
    for (int i = 0; i < set.count; i++) {
        const loaded_library *library = &set.libraries[i];
        if (!library->path || !strstr(names, library->name)) continue;
        char *real = realpath(library->path, NULL);
        printf("library:     %s is %s\n", library->name, real ? real : library->path);
        free(real);
        found++;
    }
    if (!found) printf("library:     the loader would find no libcudart and no libcublas\n");
    loaded_set_close(&set);
}

static bool print_placement(const char *label, const char *name)
{
    char path[PATH_MAX];
    const bool is_found = placement_find(name, path);
    printf("%-12s %s\n", label, is_found ? path : "not built");
    return is_found;
}

static int examine_machine(void)
{
    machine m;
    machine_query(&m);
    print_devices(&m);
    print_libraries();
    const bool has_cuda = print_placement("CUDA:", PLACEMENT_CUDA);
    print_placement("host device:", PLACEMENT_HOST);
    if (m.device_count > 0 && has_cuda) return conclude(PRELOAD_WORKS, "programs run on the GPU");
    if (placement_has_host_device())
        return conclude(PRELOAD_WORKS, "programs run on the host device, " NO_GPU_SPEED);
    return conclude(PRELOAD_FAILS, m.device_count > 0
                                       ? "this build has neither CUDA back end nor host device"
                                       : "there is neither a CUDA device nor the host device");
}

static int examine_named(const char *name)
{
    char path[PATH_MAX], reason[EXAMINE_REASON_BYTES], installed[PATH_MAX];
    const int error = program_find(name, path);
    /* A file of this folder, though `tandem run` would want it with its path. */
    if (error == ENOENT && !strchr(name, '/') && access(name, R_OK) == 0)
        snprintf(path, sizeof path, "./%s", name);
    if (error == EISDIR || !path[0]) {
        complain("cannot examine '%s': %s", name, strerror(error));
        return EXIT_USAGE;
    }
    machine m;
    machine_query(&m);
    const bool on_host_device = m.device_count == 0 || !placement_find(PLACEMENT_CUDA, installed);
    const preload_verdict verdict = examine_program(path, on_host_device, reason);
    return conclude(verdict, reason);
}

static int run(const command_line *line)
{
    return line->count > 0 ? examine_named(line->arguments[0]) : examine_machine();
}

const command command_doctor = {
    .name = "doctor",
    .arguments = "[PROGRAM [ARGUMENT...]]",
    .most = -1,
    .summary = "say what this machine has, or whether a program's products can be intercepted",
    .details = "Ends with 0 if it will work and with 1 if it will not.",
    .run = run,
};
