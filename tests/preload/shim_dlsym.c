/* shim_dlsym.c - a library to preload that stands before dlsym, as some that watch CUDA programs do: who asks it for a
 * function of cuBLAS gets one of its own, which is not what Tandem is looking for. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void hook(void)
{
    fputs("shim_dlsym: somebody has asked dlsym for a function of cuBLAS\n", stderr);
    exit(1);
}

void *dlsym(void *handle, const char *name)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    void *(*original)(void *, const char *) = NULL;
    void (*const own)(void) = hook;
    void *address = NULL;
    if (strncmp(name, "cublas", 6) == 0) {
        memcpy(&address, &own, sizeof address);
        return address;
    }
    for (int i = 0; i < 3 && !address; i++) address = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    if (!address) return NULL;
    memcpy(&original, &address, sizeof original);
    return original(handle, name);
}
