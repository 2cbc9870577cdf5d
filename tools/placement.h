/* placement.h - where Tandem's own libraries are: beside the launcher, in a build folder or
 * installed. */
#ifndef TD_TOOLS_PLACEMENT_H
#define TD_TOOLS_PLACEMENT_H

#include <limits.h>
#include <stdbool.h>

/* The library with this file name, from the folder of this executable. */
bool placement_find(const char *name, char path[PATH_MAX]);

/* The preload library of the CUDA back end and those of the host device. */
#define PLACEMENT_CUDA      "libtandem.so"
#define PLACEMENT_HOST      "libtandem-hostgpu.so"
#define PLACEMENT_CUDART    "libcudart.so.13"
#define PLACEMENT_CUBLAS    "libcublas.so.13"
#define PLACEMENT_CUBLAS_LT "libcublasLt.so.13"

/* True if all libraries of the host device are there. */
bool placement_has_host_device(void);

#endif
