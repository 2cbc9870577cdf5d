/* loader.h - which libraries the dynamic loader would find, without loading them (ld.so(8)). */
#ifndef TD_TOOLS_LOADER_H
#define TD_TOOLS_LOADER_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/elf_file.h"

/* A program and all libraries that it needs. */
typedef struct {
    char *name; /* as it was asked for */
    int parent; /* who first asked for it; -1 for the program */
    bool is_found;
    elf_file file; /* if it was found */
} loaded_object;

typedef struct {
    loaded_object *objects; /* the program first, then in the order of loading */
    int count;
} loaded_set;

/* Follows DT_NEEDED breadth first, as the loader does. Takes the open program over; false if memory runs out. */
bool loaded_set_open(loaded_set *set, const elf_file *program);
void loaded_set_close(loaded_set *set);

/* Where a library that no program asks for yet would be found: LD_LIBRARY_PATH, the cache, the usual folders.
 * like: a file of the wanted machine. */
bool loader_find(const char *name, const elf_file *like, char path[PATH_MAX]);

#endif
