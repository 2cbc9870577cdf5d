#include "settings.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static hostgpu_settings settings;

unsigned hostgpu_core_count(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set)) return 1;
    return (unsigned)CPU_COUNT(&set);
}

static uint64_t default_memory(void)
{
    return (uint64_t)sysconf(_SC_PHYS_PAGES) / 2 * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Power of 1024 that a suffix stands for; -1 if it is none. */
static int suffix_power(const char *suffix)
{
    static const char letters[] = "kMG";

    if (!*suffix) return 0;
    for (int i = 0; letters[i]; i++)
        if (suffix[0] == letters[i] && !suffix[1]) return i + 1;
    return -1;
}

/* The number that the variable holds, k, M or G as suffix allowed; `fallback`, with a line on
 * stderr, where it holds no number from low to high. */
static uint64_t read_number(const char *name, uint64_t low, uint64_t high, uint64_t fallback)
{
    const char *text = secure_getenv(name);
    char *end = NULL;
    uint64_t number = 0;
    int power = -1;

    if (!text || !*text) return fallback;
    errno = 0;
    if (*text >= '0' && *text <= '9') {
        number = strtoull(text, &end, 10);
        power = suffix_power(end);
    }
    for (; power > 0; power--) {
        if (number > UINT64_MAX >> 10) errno = ERANGE;
        number <<= 10;
    }
    if (power == 0 && !errno && number >= low && number <= high) return number;

    fprintf(stderr,
            "tandem: host device: %s='%s' is no number from %llu to %llu (k, M, G allowed); "
            "using %llu\n",
            name, text, (unsigned long long)low, (unsigned long long)high,
            (unsigned long long)fallback);
    return fallback;
}

/* Two on a machine with one core: a block may wait for another one of its kernel, as those of
 * Cholesky do. */
static unsigned usual_workers(void)
{
    const unsigned cores = hostgpu_core_count();
    return cores < 2 ? 2 : cores;
}

static void read_settings(void)
{
    settings.page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    settings.workers = (unsigned)read_number("HOSTGPU_WORKERS", 1, 1024, usual_workers());
    settings.stack_bytes = (size_t)read_number("HOSTGPU_STACK", 16 << 10, 64 << 20, 64 << 10);
    settings.stack_bytes &= ~(size_t)4095;
    settings.seed = read_number("HOSTGPU_SEED", 0, UINT64_MAX, 0);
    settings.unwritten = read_number("HOSTGPU_UNWRITTEN", 0, UINT64_MAX, 0);
    settings.devices = (unsigned)read_number("HOSTGPU_DEVICES", 0, HOSTGPU_MAX_DEVICES, 1);
    settings.are_peers = read_number("HOSTGPU_PEERS", 0, 1, 0) == 1;
    settings.memory_bytes =
        (size_t)read_number("HOSTGPU_MEMORY", 1 << 20, (uint64_t)1 << 46,
                            default_memory() / (settings.devices ? settings.devices : 1));
}

const hostgpu_settings *hostgpu_get_settings(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, read_settings);
    return &settings;
}
