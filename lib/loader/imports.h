/* imports.h - the places of an image in which the dynamic linker keeps the addresses of functions
 * that the image takes from others: slots of its GOT and PLT, and pointers in its data. */
#ifndef TD_IMPORTS_H
#define TD_IMPORTS_H

#include <stdbool.h>

#include "images.h"

/* One such place, 8 bytes and aligned to them. */
typedef struct {
    const char *name; /* of the function, which the image does not define itself */
    void **slot;
} td_import;

/* Calls body for every import of the image, in the order of its relocations. The image must be
 * relocated already, or only be looked at, and must stay loaded. */
void td_imports_each(const td_image *image, void (*body)(const td_import *import, void *context),
                     void *context);

/* What a slot holds now, as any thread may change it meanwhile. */
void *td_import_value(void *const *slot);

/* Writes a slot of the image in one step, so that a thread that calls through it at that moment has
 * the old function or the new one. A page that is read-only after relocation (RELRO) is writable
 * for the moment. False, with nothing changed, where that is refused. */
bool td_import_write(const td_image *image, void **slot, void *value);

#endif
