/* attach.c - tandem_attach and tandem_detach. A pass has two halves: the dynamic linker's list is
 * walked for libraries that import what Tandem wraps; then each of these is referred to, which
 * waits for a dlopen of another thread to relocate it and keeps it loaded, and its slots are
 * written. */
#define _GNU_SOURCE 1
#include "attach.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../include/tandem.h"
#include "../lib/api/message.h"
#include "../lib/call/process.h"
#include "../lib/loader/imports.h"
#include "../lib/loader/originals.h"
#include "../lib/report/json_text.h"
#include "lookups.h"
#include "unseen.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all that follows */
static atomic_bool is_attached, is_off;

bool td_attach_is_off(void) { return atomic_load_explicit(&is_off, memory_order_relaxed); }

/* ---- what stands for an imported function ---- */

static td_image own_image;

static bool is_own(const td_image *image, void *unused)
{
    (void)unused;
    if (!td_image_holds(image, &own_image)) return false;
    own_image = *image;
    return true;
}

/* A function of cuBLAS or cuSOLVER, by its name. */
static bool is_of_libraries(const char *name)
{
    return strncmp(name, "cublas", strlen("cublas")) == 0 ||
           strncmp(name, "cusolver", strlen("cusolver")) == 0;
}

/* NULL: nothing; the import stays as it is. */
static void *stand_in_for(const char *name)
{
    if (is_of_libraries(name)) return td_image_symbol(&own_image, name);
    return td_lookup_stand_in && td_options_in_force()->dlsym ? td_lookup_stand_in(name) : NULL;
}

/* ---- changed slots ---- */

typedef struct {
    void **slot;
    void *before, *after;
    const void *dynamic;  /* tells the image that it is in */
    bool is_of_libraries; /* else it is the dynamic linker's */
} change;

static change *changes;
static size_t change_count, change_room;

/* Where the change of a slot is, or is to be noted; NULL: no memory. A slot of a library that was
 * unloaded meanwhile is taken over by the one that is there now. */
static change *place_of(void **slot)
{
    for (size_t i = 0; i < change_count; i++)
        if (changes[i].slot == slot) return &changes[i];
    if (change_count == change_room) {
        const size_t room = change_room ? 2 * change_room : 256;
        change *grown = realloc(changes, room * sizeof *grown);
        if (!grown) return NULL;
        changes = grown;
        change_room = room;
    }
    return &changes[change_count++];
}

typedef struct {
    const td_image *image;
    int failed;
    int unseen; /* functions of cuBLAS and cuSOLVER that the image may have called before */
} pass;

static void redirect(const td_import *import, void *of)
{
    pass *p = of;
    void *after = stand_in_for(import->name), *before = td_import_value(import->slot);
    if (!after || before == after) return;
    change *noted = place_of(import->slot);
    if (noted)
        *noted =
            (change){import->slot, before, after, p->image->dynamic, is_of_libraries(import->name)};
    if (!noted || !td_import_write(p->image, import->slot, after)) {
        if (noted) *noted = changes[--change_count];
        p->failed++;
        return;
    }
    /* What was never called leads to the image's own code, which looks it up. */
    if (is_of_libraries(import->name) && !td_image_holds(p->image, before)) p->unseen++;
}

static void put_back(const td_image *image, change *c)
{
    if (td_import_value(c->slot) == c->after) (void)td_import_write(image, c->slot, c->before);
}

/* ---- the loaded libraries ---- */

/* One that imports something that Tandem stands for. */
typedef struct {
    td_image image;
    char *path;
    int imports;   /* functions of cuBLAS and cuSOLVER */
    bool looks_up; /* it imports dlsym or dlvsym */
} client;

typedef struct {
    client *client;
    size_t count, room;
    bool is_short;   /* of memory */
    bool is_of_news; /* libraries of earlier passes are left out */
} clients;

/* Libraries that passes have seen, by their dynamic sections: until one is unloaded, whose place
 * another may take. A library that is missing here is looked at again. */
static const void **seen;
static size_t seen_count, seen_room;

static bool is_seen(const td_image *image)
{
    for (size_t i = 0; i < seen_count; i++)
        if (seen[i] == image->dynamic) return true;
    return false;
}

static void see(const td_image *image)
{
    if (seen_count == seen_room) {
        const size_t room = seen_room ? 2 * seen_room : 256;
        const void **grown = realloc(seen, room * sizeof *grown);
        if (!grown) return;
        seen = grown;
        seen_room = room;
    }
    seen[seen_count++] = image->dynamic;
}

static void count_import(const td_import *import, void *of)
{
    client *c = of;
    if (!stand_in_for(import->name)) return;
    if (is_of_libraries(import->name)) c->imports++;
    if (strcmp(import->name, "dlsym") == 0 || strcmp(import->name, "dlvsym") == 0)
        c->looks_up = true;
}

static bool add(clients *all, const client *c)
{
    if (all->count == all->room) {
        const size_t room = all->room ? 2 * all->room : 64;
        client *grown = realloc(all->client, room * sizeof *grown);
        if (!grown) return false;
        all->client = grown;
        all->room = room;
    }
    all->client[all->count] = *c;
    return (all->client[all->count].path = strdup(c->image.path)) && ++all->count;
}

static bool look_at(const td_image *image, void *of)
{
    clients *all = of;
    client c = {.image = *image};
    if (all->is_of_news && is_seen(image)) return false;
    if (all->is_of_news) see(image);
    if (td_image_is_tandem(image) || td_original_is_cublas(image)) return false;
    td_imports_each(image, count_import, &c);
    if ((c.imports || c.looks_up) && !add(all, &c)) all->is_short = true;
    return false;
}

static clients find_clients(bool is_of_news)
{
    clients all = {.is_of_news = is_of_news};
    if (!own_image.dynamic) td_images_each(is_own, NULL);
    td_images_each(look_at, &all);
    return all;
}

static void free_clients(clients *all)
{
    for (size_t i = 0; i < all->count; i++) free(all->client[i].path);
    free(all->client);
    *all = (clients){0};
}

/* A reference to the image, which is relocated then; NULL if it is not loaded any more. */
static void *refer_to(const td_image *image, const char *path)
{
    const struct link_map *map = NULL;
    void *reference = dlopen(path[0] ? path : NULL, RTLD_LAZY | RTLD_NOLOAD);
    if (!reference) {
        (void)dlerror();
        return NULL;
    }
    if (dlinfo(reference, RTLD_DI_LINKMAP, &map) == 0 && map->l_ld == image->dynamic)
        return reference;
    (void)dlclose(reference);
    return NULL;
}

/* ---- passes ---- */

static void redirect_client(const client *c, pass *sum)
{
    pass p = {.image = &c->image};
    void *reference = refer_to(&c->image, c->path);
    if (!reference) return;
    td_imports_each(&c->image, redirect, &p);
    (void)dlclose(reference);
    sum->unseen += p.unseen;
    sum->failed += p.failed;
}

/* Under the lock; false if some imports could not be redirected. Adds to *unseen how many functions
 * may have been called before. */
static bool redirect_all(int *unseen)
{
    pass sum = {0};
    clients all = find_clients(true);
    for (size_t i = 0; i < all.count; i++) redirect_client(&all.client[i], &sum);
    const bool is_whole = !all.is_short && sum.failed == 0;
    if (!is_whole) seen_count = 0;
    free_clients(&all);
    *unseen += sum.unseen;
    return is_whole;
}

static void put_back_client(const client *c)
{
    void *reference = refer_to(&c->image, c->path);
    if (!reference) return;
    for (size_t i = 0; i < change_count; i++)
        if (changes[i].dynamic == c->image.dynamic && td_image_holds(&c->image, changes[i].slot))
            put_back(&c->image, &changes[i]);
    (void)dlclose(reference);
}

static void put_back_all(void)
{
    clients all = find_clients(false);
    for (size_t i = 0; i < all.count; i++) put_back_client(&all.client[i]);
    free_clients(&all);
    change_count = seen_count = 0;
}

static _Atomic unsigned long long loads_seen, unloads_seen;

/* Under the lock: brings the process up to date with what was loaded, as redirect_all. */
static bool catch_up(int *unseen)
{
    const td_images_history h = td_images_now();
    if (atomic_exchange(&unloads_seen, h.unloads) != h.unloads) seen_count = 0;
    atomic_store(&loads_seen, h.loads);
    return redirect_all(unseen);
}

void td_attach_look_again(void)
{
    int unseen = 0;
    if (!atomic_load_explicit(&is_attached, memory_order_relaxed) || !td_images_may_ask() ||
        td_images_now().loads == atomic_load(&loads_seen))
        return;
    /* A constructor that looks something up has the dynamic linker's lock, which the owner of this
     * one may wait for: then the next look-up is early enough. */
    if (pthread_mutex_trylock(&lock) != 0) return;
    if (atomic_load(&is_attached)) (void)catch_up(&unseen);
    pthread_mutex_unlock(&lock);
}

/* ---- forks ---- */

static void before_fork(void) { pthread_mutex_lock(&lock); }

static void after_fork(void) { pthread_mutex_unlock(&lock); }

__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, after_fork, after_fork);
}

/* ---- public functions ---- */

/* Where calls may have passed unseen that are seen from here on. */
static void forget_what_was_seen(void)
{
    td_unseen_loans();
    td_unseen_selections();
    td_unseen_wishes();
    td_unseen_stream();
}

tandem_status tandem_attach(void)
{
    td_message_clear();
    const tandem_status status = td_refuse_second_copy();
    if (status != TANDEM_OK) return status;
    int unseen = 0;
    pthread_mutex_lock(&lock);
    const bool is_whole = catch_up(&unseen);
    if (unseen > 0) forget_what_was_seen();
    atomic_store(&is_off, false);
    atomic_store(&is_attached, true);
    pthread_mutex_unlock(&lock);
    return is_whole ? TANDEM_OK
                    : td_fail(TANDEM_NO_MEMORY,
                              "some calls still go to cuBLAS itself: there was no memory, or the "
                              "system let no page be written");
}

tandem_status tandem_detach(void)
{
    td_message_clear();
    const tandem_status status = td_refuse_second_copy();
    if (status != TANDEM_OK) return status;
    pthread_mutex_lock(&lock);
    atomic_store(&is_attached, false);
    atomic_store(&is_off, true);
    put_back_all();
    pthread_mutex_unlock(&lock);
    return TANDEM_OK;
}

/* ---- what is reached ---- */

/* True if the library's read-only memory has a text. */
static bool has_text(const td_image *image, const char *text)
{
    for (int i = 0; i < image->segment_count; i++) {
        const ElfW(Phdr) *segment = &image->segments[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & (PF_R | PF_W)) == PF_R &&
            memmem((const void *)(image->base + segment->p_vaddr), segment->p_filesz, text,
                   strlen(text)))
            return true;
    }
    return false;
}

/* True if it names a function of cuBLAS or cuSOLVER that it does not import, as one does that looks
 * it up. */
static bool names_function(const td_image *image)
{
    return has_text(image, "cublasCreate") || has_text(image, "cusolverDnCreate");
}

static bool may_have_looked_up(const client *c)
{
    void *reference = c->looks_up && !c->imports ? refer_to(&c->image, c->path) : NULL;
    if (!reference) return false;
    const bool does = names_function(&c->image);
    (void)dlclose(reference);
    return does;
}

static int count_changed(const client *c)
{
    int count = 0;
    for (size_t i = 0; i < change_count; i++)
        count += changes[i].is_of_libraries && changes[i].dynamic == c->image.dynamic &&
                 td_import_value(changes[i].slot) == changes[i].after;
    return count;
}

static void print_client(FILE *out, const client *c, const char **separator)
{
    const bool looks_up = may_have_looked_up(c);
    if (!c->imports && !looks_up) return;
    fprintf(out, "%s\n  {\"path\": ", *separator);
    td_json_print_string(out, c->path[0] ? c->path : "the program");
    fprintf(out, ", \"imports\": %d, \"redirected\": %d, \"may_have_looked_up\": %s}", c->imports,
            count_changed(c), looks_up ? "true" : "false");
    *separator = ",";
}

static char *compose(size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    if (!out) return NULL;
    const char *separator = "";
    pthread_mutex_lock(&lock);
    clients all = find_clients(false);
    fprintf(out, "{\"is_attached\": %s, \"libraries\": [",
            atomic_load(&is_attached) ? "true" : "false");
    for (size_t i = 0; i < all.count; i++) print_client(out, &all.client[i], &separator);
    fprintf(out, "\n]}\n");
    free_clients(&all);
    pthread_mutex_unlock(&lock);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

tandem_status tandem_reach(char *text, size_t bytes, size_t *needed)
{
    size_t length = 0;
    td_message_clear();
    const tandem_status status = td_check_room(text, bytes, needed);
    if (status != TANDEM_OK) return status;
    char *reach = compose(&length);
    if (!reach) return td_fail(TANDEM_NO_MEMORY, "there is no host memory for the list");
    td_hand_over(reach, length, text, bytes, needed);
    return TANDEM_OK;
}
