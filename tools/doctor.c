#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/elf_file.h"
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
    for (int i = 0; i < m->device_count; i++)
        printf("device %d:    %s, compute capability %d.%d, %.1f GiB\n", i, m->devices[i].name,
               m->devices[i].major, m->devices[i].minor,
               (double)m->devices[i].memory_bytes / (double)(1 << 30));
}

/* The libraries that programs of each CUDA version would get, with the version that their file names carry. */
static void print_libraries(void)
{
    static const char *const names[] = {"libcudart.so.11.0", "libcudart.so.12", "libcudart.so.13",
                                        "libcublas.so.11",   "libcublas.so.12", "libcublas.so.13"};
    elf_file self;
    int found = 0;
    if (!elf_file_open(&self, "/proc/self/exe")) return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[PATH_MAX];
        if (!loader_find(names[i], &self, path)) continue;
        char *real = realpath(path, NULL);
        printf("library:     %s is %s\n", names[i], real ? real : path);
        free(real);
        found++;
    }
    if (!found) printf("library:     the loader would find no libcudart and no libcublas\n");
    elf_file_close(&self);
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
    if (error == EISDIR || !path[0]) {
        say("doctor: cannot examine '%s': %s", name, strerror(error));
        return EXIT_USAGE;
    }
    machine m;
    machine_query(&m);
    const bool on_host_device = m.device_count == 0 || !placement_find(PLACEMENT_CUDA, installed);
    const preload_verdict verdict = examine_program(path, on_host_device, reason);
    return conclude(verdict, reason);
}

int command_doctor(int argc, char **argv)
{
    const int status = parse_help_only(argc, argv);
    if (status >= 0) return status;
    if (argc - optind > 1) {
        say("doctor: unexpected argument '%s'; it takes one program", argv[optind + 1]);
        return EXIT_USAGE;
    }
    return optind < argc ? examine_named(argv[optind]) : examine_machine();
}
