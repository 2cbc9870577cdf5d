#define _GNU_SOURCE 1
#include "images.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- one image ---- */

/* Texts are compared here, not by libc: a sanitizer's strcmp cannot be called before that
 * sanitizer has started, and it asks dlsym, which reads images, while it starts. */
static bool is_same(const char *a, const char *b)
{
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}

static const char *last_part(const char *path)
{
    const char *part = path;
    for (const char *at = path; *at; at++)
        if (*at == '/') part = at + 1;
    return part;
}

/* The dynamic linker turns offsets of the dynamic section into addresses in most images, not in
 * all. */
static const void *address_of(const td_image *image, ElfW(Addr) value)
{
    return (const void *)(value < image->base ? image->base + value : value);
}

static const ElfW(Dyn) * entry_of(const td_image *image, ElfW(Sxword) tag)
{
    for (const ElfW(Dyn) *entry = image->dynamic; entry && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == tag) return entry;
    return NULL;
}

static const void *table_of(const td_image *image, ElfW(Sxword) tag)
{
    const ElfW(Dyn) *entry = entry_of(image, tag);
    return entry ? address_of(image, entry->d_un.d_ptr) : NULL;
}

const void *td_image_table(const td_image *image, int64_t tag) { return table_of(image, tag); }

size_t td_image_number(const td_image *image, int64_t tag)
{
    const ElfW(Dyn) *entry = entry_of(image, tag);
    return entry ? entry->d_un.d_val : 0;
}

static const char *name_of(const td_image *image)
{
    const ElfW(Dyn) *entry = entry_of(image, DT_SONAME);
    const char *strings = table_of(image, DT_STRTAB);
    return entry && strings ? strings + entry->d_un.d_val : last_part(image->path);
}

static bool is_function(const ElfW(Sym) * symbol)
{
    const int type = symbol->st_info & 0xf;
    return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 &&
           (type == STT_FUNC || type == STT_NOTYPE);
}

/* True if symbol i is a function of this name that is defined here. */
static bool is_called(const td_image *image, uint32_t i, const char *name)
{
    const ElfW(Sym) *symbols = table_of(image, DT_SYMTAB);
    const char *strings = table_of(image, DT_STRTAB);
    return symbols && strings && is_function(&symbols[i]) &&
           is_same(strings + symbols[i].st_name, name);
}

/* The number of a symbol by DT_GNU_HASH, 0 if it is not there: buckets of chains whose last element
 * has bit 0 set; a filter before them is passed over. */
static uint32_t find_by_gnu_hash(const td_image *image, const uint32_t *table, const char *name)
{
    const uint32_t bucket_count = table[0], first = table[1], filter_words = table[2];
    const uint32_t *buckets = table + 4 + filter_words * (sizeof(ElfW(Addr)) / sizeof *table);
    const uint32_t *chains = buckets + bucket_count;
    uint32_t hash = 5381;
    for (const char *at = name; *at; at++) hash = hash * 33 + (unsigned char)*at;
    uint32_t i = bucket_count ? buckets[hash % bucket_count] : 0;
    if (i < first) return 0;
    for (;; i++) {
        const uint32_t link = chains[i - first];
        if ((link | 1) == (hash | 1) && is_called(image, i, name)) return i;
        if (link & 1) return 0;
    }
}

/* By DT_HASH, whose second word counts the symbols. */
static uint32_t find_one_by_one(const td_image *image, const uint32_t *table, const char *name)
{
    for (uint32_t i = 1; i < table[1]; i++)
        if (is_called(image, i, name)) return i;
    return 0;
}

void *td_image_symbol(const td_image *image, const char *name)
{
    const uint32_t *gnu = table_of(image, DT_GNU_HASH), *old = table_of(image, DT_HASH);
    uint32_t i = 0;
    if (gnu)
        i = find_by_gnu_hash(image, gnu, name);
    else if (old)
        i = find_one_by_one(image, old, name);
    if (i == 0) return NULL;
    const ElfW(Sym) *symbols = table_of(image, DT_SYMTAB);
    return (void *)(image->base + symbols[i].st_value);
}

bool td_image_is_tandem(const td_image *image) { return td_image_symbol(image, "tandem_version"); }

bool td_image_needs(const td_image *image, const char *start)
{
    const char *strings = table_of(image, DT_STRTAB);
    for (const ElfW(Dyn) *e = image->dynamic; strings && e && e->d_tag != DT_NULL; e++)
        if (e->d_tag == DT_NEEDED && strncmp(strings + e->d_un.d_val, start, strlen(start)) == 0)
            return true;
    return false;
}

bool td_image_holds(const td_image *image, const void *address)
{
    for (int s = 0; s < image->segment_count; s++) {
        const ElfW(Phdr) *segment = &image->segments[s];
        const uintptr_t start = image->base + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && (uintptr_t)address - start < segment->p_memsz)
            return true;
    }
    return false;
}

static td_image image_of(const struct dl_phdr_info *info)
{
    td_image image = {.path = info->dlpi_name ? info->dlpi_name : "",
                      .base = info->dlpi_addr,
                      .segments = info->dlpi_phdr,
                      .segment_count = info->dlpi_phnum};
    for (int i = 0; i < image.segment_count; i++)
        if (image.segments[i].p_type == PT_DYNAMIC)
            image.dynamic = (const ElfW(Dyn) *)(image.base + image.segments[i].p_vaddr);
    image.name = name_of(&image);
    return image;
}

/* ---- the C library's walk through them ---- */

typedef int callback(struct dl_phdr_info *info, size_t size, void *context);
typedef int iterate(callback *body, void *context);

/* The C library's dl_iterate_phdr, found in the dynamic linker's own list; if that has none, the
 * one that this file is bound to. Only while nothing else loads or unloads: the list is not
 * locked. */
static iterate *find_iterate(void)
{
    static const char c_library[] = "libc.so.6";
    iterate *function = &dl_iterate_phdr;
    Dl_info own;
    void *map = NULL;
    if (!dladdr1(c_library, &own, &map, RTLD_DL_LINKMAP) || !map) return function;
    const struct link_map *at = map;
    while (at->l_prev) at = at->l_prev;
    for (; at; at = at->l_next) {
        td_image image = {.path = at->l_name, .base = at->l_addr, .dynamic = at->l_ld};
        image.name = name_of(&image);
        if (!is_same(image.name, c_library)) continue;
        void *const address = td_image_symbol(&image, "dl_iterate_phdr");
        if (address) memcpy(&function, &address, sizeof function);
        return function;
    }
    return function;
}

/* As dl_iterate_phdr, but past ThreadSanitizer's, which calls NULL until that has started: it asks
 * dlsym, which reads images, while it starts. So the first walk is one of the program's start, or
 * of the dlopen that loads Tandem. */
static void walk_all(callback *body, void *context)
{
    static _Atomic(iterate *) found;
    iterate *function = atomic_load_explicit(&found, memory_order_relaxed);
    if (!function) {
        function = find_iterate();
        atomic_store_explicit(&found, function, memory_order_relaxed);
    }
    (void)function(body, context);
}

static int read_history(struct dl_phdr_info *info, size_t size, void *of)
{
    (void)size;
    *(td_images_history *)of = (td_images_history){info->dlpi_adds, info->dlpi_subs};
    return 1;
}

td_images_history td_images_now(void)
{
    td_images_history now = {0};
    walk_all(read_history, &now);
    return now;
}

static atomic_bool is_forked; /* in a child of a fork() that has opened nothing itself */

void td_images_after_fork(void) { atomic_store(&is_forked, true); }

void td_images_opening(void) { atomic_store_explicit(&is_forked, false, memory_order_relaxed); }

bool td_images_may_ask(void) { return !atomic_load_explicit(&is_forked, memory_order_relaxed); }

unsigned long long td_images_unloads(void)
{
    return td_images_may_ask() ? td_images_now().unloads : 0;
}

bool td_images_hold(unsigned long long then, unsigned long long now)
{
    return then == now || !td_images_may_ask();
}

/* ---- one after the other ---- */

typedef struct {
    bool (*is_last)(const td_image *image, void *context);
    void *context;
} walk;

static int walk_one(struct dl_phdr_info *info, size_t size, void *of)
{
    const walk *w = of;
    const td_image image = image_of(info);
    (void)size;
    return w->is_last(&image, w->context);
}

void td_images_each(bool (*is_last)(const td_image *image, void *context), void *context)
{
    walk w = {is_last, context};
    walk_all(walk_one, &w);
}

/* ---- all of them ---- */

typedef struct {
    void (*body)(const td_images *images, void *context);
    void *context;
    td_images images;
    int room;
} visit;

static int count_one(struct dl_phdr_info *info, size_t size, void *count)
{
    (void)info, (void)size;
    ++*(int *)count;
    return 0;
}

static int add_one(struct dl_phdr_info *info, size_t size, void *of)
{
    visit *v = of;
    (void)size;
    if (v->images.count == v->room) return 1;
    v->images.image[v->images.count++] = image_of(info);
    return 0;
}

/* The list of most programs needs no memory: a product or a handle must not fail for want of it.
 * Used in visit_all alone, under the dynamic linker's lock. */
enum { ORDINARY_IMAGES = 512 };
static td_image ordinary[ORDINARY_IMAGES];

/* ThreadSanitizer does not see the dynamic linker's lock, under which threads have the list in
 * turn: it is told where that is taken and left. */
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#define LOCK_IS_TAKEN() __tsan_acquire(ordinary)
#define LOCK_IS_LEFT()  __tsan_release(ordinary)
#else
#define LOCK_IS_TAKEN() ((void)0)
#define LOCK_IS_LEFT()  ((void)0)
#endif

/* The dynamic linker keeps its lock, which a thread may take again, round the first call of a
 * callback, and that does it all. */
static int visit_all(struct dl_phdr_info *info, size_t size, void *of)
{
    visit *v = of;
    (void)info, (void)size;
    LOCK_IS_TAKEN();
    walk_all(add_one, v);
    v->body(&v->images, v->context);
    LOCK_IS_LEFT();
    return 1;
}

void td_images_visit(void (*body)(const td_images *images, void *context), void *context)
{
    enum { LOADED_MEANWHILE = 64 };
    td_image *list = NULL;
    visit v = {.body = body, .context = context};
    walk_all(count_one, &v.room);
    v.room += LOADED_MEANWHILE;
    if (v.room > ORDINARY_IMAGES) list = malloc((size_t)v.room * sizeof *list);
    if (!list) v.room = ORDINARY_IMAGES;
    v.images.image = list ? list : ordinary;
    walk_all(visit_all, &v);
    free(list);
}

const td_image *td_images_find(const td_images *images, const void *address)
{
    for (int i = 0; i < images->count; i++)
        if (td_image_holds(&images->image[i], address)) return &images->image[i];
    return NULL;
}

/* Which image stands for a name that another one needs. */
static td_image *find_name(const td_images *images, const char *name)
{
    for (int i = 0; i < images->count; i++)
        if (strcmp(images->image[i].name, name) == 0 || strcmp(images->image[i].path, name) == 0)
            return &images->image[i];
    return NULL;
}

/* Appends an image to the search that ends with `last`, unless it is in it; returns the last one
 * now. */
static td_image *search_later(td_image *last, td_image *image)
{
    if (!image || image->is_in_search) return last;
    image->is_in_search = true;
    image->next_in_search = NULL;
    last->next_in_search = image;
    return image;
}

const td_image *td_images_bound(const td_images *images, const td_image *from, const char *name,
                                const td_image *except)
{
    if (!from) return NULL;
    for (int i = 0; i < images->count; i++) images->image[i].is_in_search = false;
    td_image *first = &images->image[from - images->image], *last = first;
    first->is_in_search = true;
    first->next_in_search = NULL;
    for (td_image *at = first; at; at = at->next_in_search) {
        const char *strings = table_of(at, DT_STRTAB);
        if (at != except && td_image_symbol(at, name) && !td_image_is_tandem(at)) return at;
        for (const ElfW(Dyn) *e = at->dynamic; e && e->d_tag != DT_NULL; e++)
            if (e->d_tag == DT_NEEDED && strings)
                last = search_later(last, find_name(images, strings + e->d_un.d_val));
    }
    return NULL;
}

bool td_image_is_needed(const td_images *images, const td_image *image)
{
    for (const td_image *other = images->image; other < image; other++) {
        const char *strings = table_of(other, DT_STRTAB);
        for (const ElfW(Dyn) *e = other->dynamic; strings && e && e->d_tag != DT_NULL; e++)
            if (e->d_tag == DT_NEEDED && find_name(images, strings + e->d_un.d_val) == image)
                return true;
    }
    return false;
}
