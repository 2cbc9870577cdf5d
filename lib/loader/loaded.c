#include "loaded.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "images.h"

static const char cublas[] = "libcublas.so";

static void look_at(const td_images *images, void *found)
{
    td_loaded *loaded = found;
    for (int i = 0; i < images->count; i++) {
        const td_image *image = &images->image[i];
        if (strncmp(image->name, cublas, strlen(cublas)) == 0)
            snprintf(loaded->name, sizeof loaded->name, "%s", image->name);
        else if (td_image_needs(image, cublas))
            snprintf(loaded->linked, sizeof loaded->linked, "%s",
                     image->name[0] ? image->name : "the program");
    }
}

static bool look_for_tandem(const td_image *image, void *path)
{
    if (!td_image_is_tandem(image)) return false;
    if (!td_image_holds(image, cublas)) snprintf(path, TD_LOADED_PATH, "%s", image->path);
    return true;
}

/* include/tandem.h's: that of the copy that comes first. Tests that link parts of the library have
 * none. */
extern __attribute__((weak, visibility("default"))) const char *tandem_version(void);

/* A copy that dlopen keeps local, as ctypes does, finds its own functions first: nothing is called
 * in it but by whoever opened it, and another copy is none of its business. */
static bool finds_itself(void)
{
    Dl_info first, own;
    return dladdr((const void *)(uintptr_t)tandem_version, &first) && dladdr(cublas, &own) &&
           first.dli_fbase == own.dli_fbase;
}

bool td_loaded_other_first(char path[TD_LOADED_PATH])
{
    path[0] = '\0';
    if (!finds_itself()) td_images_each(look_for_tandem, path);
    return path[0];
}

td_loaded td_loaded_cublas(void)
{
    td_loaded loaded = {0};
    td_images_visit(look_at, &loaded);
    return loaded;
}

bool td_loaded_is_used(const td_loaded *loaded, bool is_host_device)
{
    return loaded->linked[0] || (loaded->name[0] && !is_host_device);
}

const char *td_loaded_explain(const td_loaded *loaded, bool is_host_device, bool sees_dlsym,
                              char text[TD_LOADED_TEXT])
{
    const char *looked_up = sees_dlsym
                                ? "it called no product that it had looked up with dlsym"
                                : "functions looked up with dlsym (as ctypes does) are not seen";
    if (loaded->linked[0])
        snprintf(text, TD_LOADED_TEXT, "%s is linked to cuBLAS, but called none of its products",
                 loaded->linked);
    else if (loaded->name[0] && !is_host_device)
        snprintf(text, TD_LOADED_TEXT, "%s is loaded, but nothing is linked to it, and %s",
                 loaded->name, looked_up);
    else
        snprintf(text, TD_LOADED_TEXT, "nothing that it loaded is linked to cuBLAS, and %s",
                 looked_up);
    return text;
}

/* A driver that is found stays loaded, as the CUDA runtime would have it. */
bool td_loaded_lacks_driver(void)
{
    return td_loaded_cublas().name[0] && access("/dev/nvidiactl", F_OK) != 0 &&
           !dlopen("libcuda.so.1", RTLD_LAZY);
}
