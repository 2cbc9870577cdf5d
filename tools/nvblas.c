#include "tools/nvblas.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/options/file.h"
#include "tools/placement.h"
#include "tools/tandem.h"

static const char *const nvblas_names[] = {"libnvblas.so.13", "libnvblas.so.12", "libnvblas.so.11",
                                           NULL};
/* Where Fortran's names are, of the BLAS that NVBLAS hands small calls to. */
static const char *const blas_names[] = {"libblas.so.3", "libopenblas.so.0", "libmkl_rt.so.2",
                                         "libflexiblas.so.3", NULL};

/* The path of the first of these libraries that the loader finds; false if it finds none. Looked
 * for in this process, whose search is the program's but for run paths of its own. */
static bool find_library(const char *const names[], char path[PATH_MAX])
{
    for (; *names; names++) {
        struct link_map *map = NULL;
        void *library = dlopen(*names, RTLD_LAZY | RTLD_LOCAL);
        if (!library) continue;
        const bool is_found = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 &&
                              map->l_name[0] == '/' && realpath(map->l_name, path);
        (void)dlclose(library);
        if (is_found) return true;
    }
    return false;
}

/* A new file takes the old one's place in one step: other programs may read it. */
static bool write_configuration(const char *path, const char *blas)
{
    char *text = NULL;
    const int length = asprintf(&text,
                                "NVBLAS_CPU_BLAS_LIB %s\n"
                                "NVBLAS_GPU_LIST ALL\n"
                                "NVBLAS_TILE_DIM 2048\n"
                                "NVBLAS_AUTOPIN_MEM_ENABLED\n",
                                blas);
    const bool is_written = length > 0 && td_file_make_folders(path) &&
                            td_file_replace(path, 0666, NULL, false, text, (size_t)length, NULL);
    const int error = errno;
    if (length > 0) free(text);
    errno = error;
    return is_written;
}

static bool configure(void)
{
    char path[TD_PATH_BYTES], blas[PATH_MAX];
    if (getenv("NVBLAS_CONFIG_FILE") || access("nvblas.conf", R_OK) == 0) return true;
    if (!find_library(blas_names, blas))
        return complain(
            "--nvblas: the loader finds no BLAS of the CPU (%s), which NVBLAS wants behind it",
            blas_names[0]);
    if (!td_file_cache_folder(path) || strlen(path) + strlen("/nvblas.conf") >= sizeof path ||
        !write_configuration(strcat(path, "/nvblas.conf"), blas))
        return complain(
            "--nvblas: cannot write NVBLAS's configuration into $XDG_CACHE_HOME/tandem or "
            "~/.cache/tandem: %s",
            td_file_reason(errno));
    return setenv("NVBLAS_CONFIG_FILE", path, 1) == 0;
}

bool nvblas_prepare(void)
{
    char path[PATH_MAX], *list = NULL;
    const char *before = getenv("LD_PRELOAD");
    if (!find_library(nvblas_names, path))
        return complain("--nvblas: the loader finds no libnvblas.so (11 to 13); name its folder in "
                        "LD_LIBRARY_PATH");
    if (!placement_is_nameable(path)) return complain(PLACEMENT_NOT_NAMEABLE, path);
    if (!configure()) return false;
    const bool is_set =
        asprintf(&list, "%s%s%s", before ? before : "", before ? ":" : "", path) > 0 &&
        setenv("LD_PRELOAD", list, 1) == 0;
    free(list);
    return is_set;
}
