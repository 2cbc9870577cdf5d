/* placement.h - where Tandem's own libraries are: beside the launcher, in a build folder or
 * installed. */
#ifndef TD_TOOLS_PLACEMENT_H
#define TD_TOOLS_PLACEMENT_H

#include <limits.h>
#include <stdbool.h>

/* The library with this file name, which may begin with a folder, from the folder of this
 * executable. */
bool placement_find(const char *name, char path[PATH_MAX]);

/* The preload library of the CUDA back end and those of the host device. */
#define PLACEMENT_CUDA       "libtandem.so"
#define PLACEMENT_HOST       "libtandem-hostgpu.so"
#define PLACEMENT_HOSTDEVICE "libtandem-hostdevice.so"
#define PLACEMENT_CUDART     "libcudart.so.13"
#define PLACEMENT_CUBLAS     "libcublas.so.13"
#define PLACEMENT_CUBLAS_LT  "libcublasLt.so.13"
#define PLACEMENT_CUSOLVER   "libcusolver.so.12"

/* True for a library of the host device that a build may lack: the toolkit that it was built with
 * had no header of cuSOLVER. */
bool placement_is_optional(const char *name);

/* True if all libraries of the host device are there, but for optional ones. */
bool placement_has_host_device(void);

/* The file names of what is preloaded into a program, in that order; NULL is the last. */
const char *const *placement_preloaded(bool on_host_device);

/* False for paths that LD_PRELOAD cannot have: those with a space or a colon. */
#define PLACEMENT_NOT_NAMEABLE                                                                     \
    "cannot preload '%s': LD_PRELOAD allows no space and no colon in a path"
bool placement_is_nameable(const char *path);

#endif
