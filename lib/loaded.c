#include "loaded.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char cublas[] = "libcublas.so";

static bool is_cublas(const char *name) { return strncmp(name, cublas, strlen(cublas)) == 0; }

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The dynamic section of a loaded object; NULL if it has none. */
static const ElfW(Dyn) * dynamic_of(const struct dl_phdr_info *object)
{
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
            return (const ElfW(Dyn) *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
    return NULL;
}

/* The strings of a dynamic section, whose address glibc relocates in place for most objects. */
static const char *strings_of(const struct dl_phdr_info *object, const ElfW(Dyn) * entry)
{
    for (; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_STRTAB)
            return (const char *)(entry->d_un.d_ptr < object->dlpi_addr
                                      ? object->dlpi_addr + entry->d_un.d_ptr
                                      : entry->d_un.d_ptr);
    return NULL;
}

static bool needs_cublas(const struct dl_phdr_info *object)
{
    const ElfW(Dyn) *entry = dynamic_of(object);
    const char *strings = entry ? strings_of(object, entry) : NULL;
    for (; strings && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_NEEDED && is_cublas(strings + entry->d_un.d_val)) return true;
    return false;
}

static int look_at(struct dl_phdr_info *object, size_t bytes, void *found)
{
    td_loaded *loaded = found;
    const char *name = base_name(object->dlpi_name);
    (void)bytes;
    if (is_cublas(name))
        snprintf(loaded->name, sizeof loaded->name, "%s", name);
    else if (needs_cublas(object))
        snprintf(loaded->linked, sizeof loaded->linked, "%s", name[0] ? name : "the program");
    return 0;
}

td_loaded td_loaded_cublas(void)
{
    td_loaded loaded = {0};
    dl_iterate_phdr(look_at, &loaded);
    return loaded;
}

const char *td_loaded_explain(const td_loaded *loaded, bool is_host_device,
                              char text[TD_LOADED_TEXT])
{
    static const char unseen[] = "functions looked up with dlsym (as ctypes does) are not seen";
    if (loaded->linked[0])
        snprintf(text, TD_LOADED_TEXT, "%s is linked to cuBLAS, but called none of its products",
                 loaded->linked);
    else if (loaded->name[0] && !is_host_device)
        snprintf(text, TD_LOADED_TEXT, "%s is loaded, but nothing is linked to it: %s",
                 loaded->name, unseen);
    else
        snprintf(text, TD_LOADED_TEXT, "nothing that it loaded is linked to cuBLAS, and %s",
                 unseen);
    return text;
}

/* A driver that is found stays loaded, as the CUDA runtime would have it. */
bool td_loaded_lacks_driver(void)
{
    return td_loaded_cublas().name[0] && access("/dev/nvidiactl", F_OK) != 0 &&
           !dlopen("libcuda.so.1", RTLD_LAZY);
}
