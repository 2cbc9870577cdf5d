#include "host_device.h"

#ifdef TD_HOSTGPU

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "../../hostgpu/executor.h"

/* The library that has a function. */
#define HOLDER_OF(function, info) (dladdr((const void *)(uintptr_t)(function), (info)) != 0)

void td_host_device_folder(char folder[TD_HOST_DEVICE_PATH])
{
    Dl_info own;
    folder[0] = '\0';
    if (!HOLDER_OF(hostgpu_launch, &own)) return;
    const char *slash = strrchr(own.dli_fname, '/');
    if (slash)
        snprintf(folder, TD_HOST_DEVICE_PATH, "%.*s", (int)(slash + 1 - own.dli_fname),
                 own.dli_fname);
}

bool td_host_device_is_hidden(char runtime[TD_HOST_DEVICE_PATH])
{
    Dl_info own, found;
    if (!HOLDER_OF(hostgpu_launch, &own) || !HOLDER_OF(cudaMalloc, &found) ||
        own.dli_fbase == found.dli_fbase)
        return false;
    snprintf(runtime, TD_HOST_DEVICE_PATH, "%s", found.dli_fname);
    return true;
}

#else

void td_host_device_folder(char folder[TD_HOST_DEVICE_PATH]) { folder[0] = '\0'; }

bool td_host_device_is_hidden(char runtime[TD_HOST_DEVICE_PATH])
{
    (void)runtime;
    return false;
}

#endif
