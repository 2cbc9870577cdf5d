/* shim_dlsym.c - a library to preload that stands before dlsym, as some that watch CUDA programs do. Who asks it for a
 * function of cuBLAS gets one of its own, which is not what Tandem is looking for; built with FORWARDS, it only counts such
 * look-ups, and says at the end whether there were any. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FORWARDS
static int lookups;

static void *hook(void)
{
    lookups++;
    return NULL;
}

__attribute__((destructor)) static void say(void)
{
    if (lookups) fputs("shim_dlsym: dlsym was asked for functions of cuBLAS\n", stderr);
}
#else
static void refuse(void)
{
    fputs("shim_dlsym: somebody has asked dlsym for a function of cuBLAS\n", stderr);
    exit(1);
}

static void *hook(void)
{
    void (*const own)(void) = refuse;
    void *address;
    memcpy(&address, &own, sizeof address);
    return address;
}
#endif

void *dlsym(void *handle, const char *name)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    void *(*original)(void *, const char *) = NULL;
    void *address = strncmp(name, "cublas", 6) == 0 ? hook() : NULL;
    if (address) return address;
    for (int i = 0; i < 3 && !address; i++) address = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    if (!address) return NULL;
    memcpy(&original, &address, sizeof original);
    return original(handle, name);
}
