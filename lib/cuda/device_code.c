#include "device_code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../options/environment.h"

#ifdef TD_HOSTGPU
const char td_device_code_built[] = TD_DEVICE_CODE_MARK;
#else
const char td_device_code_built[] = TD_DEVICE_CODE_MARK TD_BUILT_ARCHS;
#endif

/* Processors of a board with its own memory controller (Jetson Orin and Thor): CUDA promises that
 * they run no binaries of other devices, though the major number is the same (CUDA C++ Programming
 * Guide, "Binary compatibility"). */
static bool is_of_board(int capability) { return capability == 87 || capability == 110; }

/* A binary runs on later devices of its major number; one of an architecture's own instructions,
 * whose name ends with a letter, on that architecture alone. */
static bool runs_binary(int binary, bool is_own, int capability)
{
    if (is_own || is_of_board(capability) || is_of_board(binary)) return binary == capability;
    return binary / 10 == capability / 10 && binary <= capability;
}

/* One name of the list; false for what is not one. */
static bool read_name(const char *name, size_t length, int *capability, bool *is_ptx, bool *is_own)
{
    static const char ptx[] = "ptx";
    char *end;
    *is_ptx = strncmp(name, ptx, sizeof ptx - 1) == 0;
    if (*is_ptx) name += sizeof ptx - 1, length -= sizeof ptx - 1;
    *capability = (int)strtol(name, &end, 10);
    *is_own = (size_t)(end - name) < length;
    return end != name;
}

td_device_code td_device_code_for(const char *archs, int capability, bool ptx_only)
{
    td_device_code binary = {0}, ptx = {.is_ptx = true};
    for (size_t length; *archs; archs += length + (archs[length] == ',')) {
        int of = 0;
        bool is_ptx = false, is_own = false;
        length = strcspn(archs, ",");
        if (!read_name(archs, length, &of, &is_ptx, &is_own)) continue;
        if (is_ptx && of <= capability && of > ptx.capability) ptx.capability = of;
        if (!is_ptx && !ptx_only && runs_binary(of, is_own, capability) && of > binary.capability)
            binary.capability = of;
    }
    if (binary.capability) return binary;
    return ptx.capability ? ptx : (td_device_code){0};
}

static bool is_set(const char *variable)
{
    const char *value = td_environment_value(variable);
    return value && *value && strcmp(value, "0") != 0;
}

bool td_device_code_is_forced(void) { return is_set("CUDA_FORCE_PTX_JIT"); }

/* Where the driver keeps what it has compiled. */
static void print_cache(char *text, size_t bytes)
{
    const char *path = td_environment_value("CUDA_CACHE_PATH"),
               *home = td_environment_value("HOME");
    if (is_set("CUDA_CACHE_DISABLE"))
        snprintf(text, bytes, "each time, since CUDA_CACHE_DISABLE is set");
    else if (path && *path)
        snprintf(text, bytes, "once, and keeps it in %s (CUDA_CACHE_PATH)", path);
    else
        snprintf(text, bytes, "once, and keeps it in %s/.nv/ComputeCache", home ? home : "~");
}

const char *td_device_code_print(td_device_code code, char text[TD_DEVICE_CODE_TEXT])
{
    const int major = code.capability / 10, minor = code.capability % 10;
    char cache[TD_DEVICE_CODE_TEXT - 200];
    if (!code.capability)
        return strcpy(text, "neither a binary nor PTX of this build runs on it: -Darchs says what "
                            "is built");
    if (!code.is_ptx) {
        snprintf(text, TD_DEVICE_CODE_TEXT, "a binary for compute capability %d.%d", major, minor);
        return text;
    }
    print_cache(cache, sizeof cache);
    snprintf(text, TD_DEVICE_CODE_TEXT,
             "no binary: the driver compiles PTX for compute capability %d.%d, for a minute or so "
             "before the first product, %s",
             major, minor, cache);
    return text;
}
