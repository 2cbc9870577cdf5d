/* images.h - the objects that the dynamic linker has loaded, and what they define and need, read
 * from memory: dlsym may be another preloaded library's, and knows nothing of who asks. */
#ifndef TD_IMAGES_H
#define TD_IMAGES_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One object, while it is loaded. */
typedef struct td_image {
    const char *path; /* "" for the program itself */
    const char *name; /* DT_SONAME, or else the last part of the path */
    uintptr_t base;
    const ElfW(Phdr) * segments;
    int segment_count;
    const ElfW(Dyn) * dynamic;

    /* Of td_images_bound. */
    struct td_image *next_in_search; /* the one that is looked at after this one */
    bool is_in_search;
} td_image;

/* All of them, in the order in which they were loaded: the program, what is preloaded, and what
 * these need. */
typedef struct {
    td_image *image;
    int count;
} td_images;

/* Calls body while nothing is loaded or unloaded; body must neither. Where there is no memory for a
 * list of more than 512 it sees the first 512. */
void td_images_visit(void (*body)(const td_images *images, void *context), void *context);

/* Calls is_last for one image after the other until it returns true, while nothing is loaded or
 * unloaded; is_last must not load or unload either. Needs no memory and, like td_image_holds and
 * td_image_symbol, calls no function that a sanitizer or an allocator could stand before, so that
 * these may call it as they start. */
void td_images_each(bool (*is_last)(const td_image *image, void *context), void *context);

/* How often something was loaded, and unloaded, since the process started. */
typedef struct {
    unsigned long long loads, unloads;
} td_images_history;
td_images_history td_images_now(void);

/* False in a forked child, whose parent may have had another thread with the dynamic linker's lock:
 * td_images_now would wait for ever. True again from td_images_opening on, which is told that a
 * library is opened: that takes the lock anyway. */
bool td_images_may_ask(void);
void td_images_opening(void);

/* How often something was unloaded, so that what was found out about an address is known to hold:
 * td_images_hold says if it does `now`, after so many unloads `then`. It always does where nobody
 * may ask. */
unsigned long long td_images_unloads(void);
bool td_images_hold(unsigned long long then, unsigned long long now);

/* For fork() alone (../call/process.c): in the child. */
void td_images_after_fork(void);

/* True if the address is in a segment of the image. */
bool td_image_holds(const td_image *image, const void *address);

/* The image that holds an address; NULL if none does. */
const td_image *td_images_find(const td_images *images, const void *address);

/* True for Tandem's own library, in whichever copy or version. */
bool td_image_is_tandem(const td_image *image);

/* The first image, of `from` and those that it needs, breadth first, that defines name and is
 * neither `except` nor a Tandem; NULL if there is none. So the dynamic linker binds an object that
 * needs its own version of a symbol. */
const td_image *td_images_bound(const td_images *images, const td_image *from, const char *name,
                                const td_image *except);

/* True if an image loaded earlier asks for this one by name. */
bool td_image_is_needed(const td_images *images, const td_image *image);

/* True if the image asks for one whose name starts so. */
bool td_image_needs(const td_image *image, const char *start);

/* The address of a function that the image itself defines; NULL if it does not. */
void *td_image_symbol(const td_image *image, const char *name);

/* An entry of the image's dynamic section, as an address or as a number; NULL or 0 if there is
 * none. tag: DT_something. */
const void *td_image_table(const td_image *image, int64_t tag);
size_t td_image_number(const td_image *image, int64_t tag);

#endif
