#include "tools/placement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* From the folder of the launcher; an absolute one stands for itself. TD_LIBDIR comes from the
 * build. */
static const char *const folders[] = {"../interpose", "../hostgpu", TD_LIBDIR,
                                      TD_LIBDIR "/tandem/hostgpu"};

static const char *const cuda[] = {PLACEMENT_CUDA, NULL};

#define UNVERSIONED_CUSOLVER "unversioned/libcusolver.so"

/* Libraries without a version are what a program opens that names none. */
static const char *const host_device[] = {PLACEMENT_HOST,
                                          PLACEMENT_HOSTDEVICE,
                                          PLACEMENT_CUDART,
                                          PLACEMENT_CUBLAS,
                                          PLACEMENT_CUBLAS_LT,
                                          PLACEMENT_CUSOLVER,
                                          "unversioned/libcudart.so",
                                          "unversioned/libcublas.so",
                                          "unversioned/libcublasLt.so",
                                          UNVERSIONED_CUSOLVER,
                                          NULL};

static bool own_folder(char folder[PATH_MAX])
{
    const ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    if (length <= 0) return false;
    folder[length] = '\0';
    *strrchr(folder, '/') = '\0';
    return true;
}

bool placement_find(const char *name, char path[PATH_MAX])
{
    const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
    char own[PATH_MAX];
    if (!own_folder(own)) return false;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char joined[PATH_MAX];
        const int length = folders[i][0] == '/'
                               ? snprintf(joined, PATH_MAX, "%s/%s", folders[i], name)
                               : snprintf(joined, PATH_MAX, "%s/%s/%s", own, folders[i], name);
        char *real = length < PATH_MAX ? realpath(joined, NULL) : NULL;
        if (!real) continue;
        free(real);
        /* The folder is made plain, but the name stays: it is what the loader compares. */
        *strrchr(joined, '/') = '\0';
        real = realpath(joined, NULL);
        const bool fits = real && snprintf(path, PATH_MAX, "%s/%s", real, last) < PATH_MAX;
        free(real);
        if (fits) return true;
    }
    return false;
}

bool placement_is_optional(const char *name)
{
    return strcmp(name, PLACEMENT_CUSOLVER) == 0 || strcmp(name, UNVERSIONED_CUSOLVER) == 0;
}

bool placement_has_host_device(void)
{
    char path[PATH_MAX];
    for (int i = 0; host_device[i]; i++)
        if (!placement_find(host_device[i], path) && !placement_is_optional(host_device[i]))
            return false;
    return true;
}

const char *const *placement_preloaded(bool on_host_device)
{
    return on_host_device ? host_device : cuda;
}

bool placement_is_nameable(const char *path) { return !path[strcspn(path, ": ")]; }
