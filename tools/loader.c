#include "tools/loader.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ld.so.cache as glibc 2.2 and later write it: this header, entries, strings; offsets from the header's start. */
#define CACHE_MAGIC "glibc-ld.so.cache1.1"

typedef struct {
    char magic[sizeof CACHE_MAGIC - 1];
    uint32_t entry_count;
    uint32_t string_bytes;
    uint32_t unused[5];
} cache_header;

typedef struct {
    int32_t flags;
    uint32_t name, path; /* offsets of strings */
    uint32_t system_version;
    uint64_t capabilities;
} cache_entry;

static bool is_usable(const char *path, const elf_file *like)
{
    elf_file file;
    if (!elf_file_open(&file, path)) return false;
    const bool matches = elf_file_matches(&file, like);
    elf_file_close(&file);
    return matches;
}

/* The folder of a file, without the slash. */
static void folder_of(const char *path, char folder[PATH_MAX])
{
    char *real = realpath(path, NULL);
    snprintf(folder, PATH_MAX, "%s", real ? real : path);
    free(real);
    char *slash = strrchr(folder, '/');
    if (slash) *slash = '\0';
}

/* Writes the folder at text (up to a colon) with $ORIGIN replaced; false if it does not fit. */
static bool expand_folder(const char *text, size_t length, const char *origin, char out[PATH_MAX])
{
    static const char *const names[] = {"$ORIGIN", "${ORIGIN}"};
    size_t used = 0;
    for (size_t i = 0; i < length;) {
        const char *piece = text + i;
        size_t bytes = 1, skip = 1;
        for (int n = 0; n < 2; n++) {
            if (length - i < strlen(names[n]) || strncmp(piece, names[n], strlen(names[n])) != 0)
                continue;
            skip = strlen(names[n]);
            piece = origin;
            bytes = strlen(origin);
            break;
        }
        if (used + bytes >= PATH_MAX) return false;
        memcpy(out + used, piece, bytes);
        used += bytes;
        i += skip;
    }
    out[used] = '\0';
    return true;
}

/* Looks in a list of folders with colons between; origin stands for $ORIGIN. */
static bool find_in_list(const char *list, const char *name, const char *origin,
                         const elf_file *like, char path[PATH_MAX])
{
    while (list && *list) {
        char folder[PATH_MAX];
        const size_t length = strcspn(list, ":");
        if (length > 0 && expand_folder(list, length, origin, folder) &&
            snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX && is_usable(path, like))
            return true;
        list += length + (list[length] == ':');
    }
    return false;
}

static const void *map_file(const char *path, size_t *bytes)
{
    struct stat info;
    void *map = MAP_FAILED;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return NULL;
    if (fstat(descriptor, &info) == 0 && info.st_size > 0) {
        *bytes = (size_t)info.st_size;
        map = mmap(NULL, *bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
    }
    close(descriptor);
    return map == MAP_FAILED ? NULL : map;
}

/* The string at an offset, or "" if it does not end within the map. */
static const char *string_at(const char *map, size_t bytes, uint32_t offset)
{
    return offset < bytes && memchr(map + offset, '\0', bytes - offset) ? map + offset : "";
}

static bool find_in_cache(const char *name, const elf_file *like, char path[PATH_MAX])
{
    size_t bytes = 0;
    const char *map = map_file("/etc/ld.so.cache", &bytes);
    const cache_header *header = (const cache_header *)(const void *)map;
    bool is_found = false;
    if (!map) return false;
    if (bytes < sizeof *header || memcmp(header->magic, CACHE_MAGIC, sizeof header->magic) != 0 ||
        header->entry_count > (bytes - sizeof *header) / sizeof(cache_entry))
        goto out;
    const cache_entry *entries = (const cache_entry *)(const void *)(map + sizeof *header);
    for (uint32_t i = 0; i < header->entry_count && !is_found; i++) {
        if (strcmp(string_at(map, bytes, entries[i].name), name) != 0) continue;
        snprintf(path, PATH_MAX, "%s", string_at(map, bytes, entries[i].path));
        is_found = is_usable(path, like);
    }
out:
    munmap((void *)(uintptr_t)map, bytes);
    return is_found;
}

static bool find_in_usual_places(const char *name, const elf_file *like, char path[PATH_MAX])
{
    return find_in_cache(name, like, path) ||
           find_in_list("/lib64:/usr/lib64:/lib:/usr/lib", name, "", like, path);
}

bool loader_find(const char *name, const elf_file *like, char path[PATH_MAX])
{
    return find_in_list(getenv("LD_LIBRARY_PATH"), name, ".", like, path) ||
           find_in_usual_places(name, like, path);
}

/* DT_RPATH of the object and of those that asked for it; none of them counts where DT_RUNPATH is given. */
static bool find_in_rpaths(const loaded_set *set, int asker, const char *name, char path[PATH_MAX])
{
    if (elf_file_dynamic(&set->objects[asker].file, DT_RUNPATH, 0)) return false;
    for (int i = asker; i >= 0; i = set->objects[i].parent) {
        char origin[PATH_MAX];
        const elf_file *file = &set->objects[i].file;
        if (elf_file_dynamic(file, DT_RUNPATH, 0)) continue;
        folder_of(file->path, origin);
        if (find_in_list(elf_file_dynamic(file, DT_RPATH, 0), name, origin, file, path))
            return true;
    }
    return false;
}

static bool find_needed(const loaded_set *set, int asker, const char *name, char path[PATH_MAX])
{
    const elf_file *file = &set->objects[asker].file;
    char origin[PATH_MAX];
    folder_of(file->path, origin);
    if (strchr(name, '/')) {
        snprintf(path, PATH_MAX, "%s", name);
        return is_usable(path, file);
    }
    return find_in_rpaths(set, asker, name, path) ||
           find_in_list(getenv("LD_LIBRARY_PATH"), name, origin, file, path) ||
           find_in_list(elf_file_dynamic(file, DT_RUNPATH, 0), name, origin, file, path) ||
           find_in_usual_places(name, file, path);
}

static bool is_known(const loaded_set *set, const char *name)
{
    for (int i = 0; i < set->count; i++)
        if (strcmp(set->objects[i].name, name) == 0) return true;
    return false;
}

/* Adds an object without its file. */
static loaded_object *add(loaded_set *set, const char *name, int parent)
{
    loaded_object *grown = realloc(set->objects, (size_t)(set->count + 1) * sizeof *set->objects);
    if (!grown) return NULL;
    set->objects = grown;
    loaded_object *object = &grown[set->count];
    *object = (loaded_object){.name = strdup(name), .parent = parent};
    if (!object->name) return NULL;
    set->count++;
    return object;
}

static bool add_needed(loaded_set *set, int asker)
{
    for (int i = 0;; i++) {
        char path[PATH_MAX];
        const char *name = elf_file_dynamic(&set->objects[asker].file, DT_NEEDED, i);
        if (!name) return true;
        if (is_known(set, name)) continue;
        const bool is_found = find_needed(set, asker, name, path);
        loaded_object *object = add(set, name, asker);
        if (!object) return false;
        object->is_found = is_found && elf_file_open(&object->file, path);
    }
}

bool loaded_set_open(loaded_set *set, const elf_file *program)
{
    *set = (loaded_set){0};
    loaded_object *object = add(set, program->path, -1);
    if (!object) return false;
    object->file = *program;
    object->is_found = true;
    for (int i = 0; i < set->count; i++)
        if (set->objects[i].is_found && !add_needed(set, i)) {
            loaded_set_close(set);
            return false;
        }
    return true;
}

void loaded_set_close(loaded_set *set)
{
    for (int i = 0; i < set->count; i++) {
        if (set->objects[i].is_found) elf_file_close(&set->objects[i].file);
        free(set->objects[i].name);
    }
    free(set->objects);
    *set = (loaded_set){0};
}
