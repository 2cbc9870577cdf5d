#include "scope.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- published options ---- */

/* Options with their settings as text, which tell them apart: all else is from_start's. */
typedef struct published {
    td_options options;
    char settings[TD_SETTINGS_BYTES];
    struct published *next;
} published;

pthread_mutex_t td_scope_lock = PTHREAD_MUTEX_INITIALIZER;
static published *all_published;               /* under the lock */
static int published_count;                    /* under the lock */
static _Atomic(const td_options *) of_process; /* NULL: from_start */

/* Under the lock. NULL: no memory, or too many. */
static const td_options *publish(const td_options *o)
{
    char settings[TD_SETTINGS_BYTES];
    td_options_print_settings(o, settings);
    for (const published *p = all_published; p; p = p->next)
        if (strcmp(p->settings, settings) == 0) return &p->options;
    published *added = published_count < TD_SCOPES_DIFFERENT ? malloc(sizeof *added) : NULL;
    if (!added) return NULL;
    added->options = *o;
    memcpy(added->settings, settings, sizeof settings);
    added->next = all_published;
    all_published = added;
    published_count++;
    return &added->options;
}

/* Sets *changed to the published options that `from` become by the settings. Under the lock. */
static td_scope_status change(const td_options *from, const char *settings,
                              const td_options **changed, char why[TD_WHY_BYTES])
{
    td_options o = *from;
    if (!td_options_change(&o, settings, why)) return TD_SCOPE_REFUSED;
    *changed = publish(&o);
    if (*changed) return TD_SCOPE_DONE;
    snprintf(why, TD_WHY_BYTES,
             "no memory for '%.200s', or %d different settings are known already", settings,
             TD_SCOPES_DIFFERENT);
    return TD_SCOPE_NO_MEMORY;
}

/* ---- regions of a thread ---- */

/* What settings made of options, for the next region with the same ones: a loop's. */
typedef struct {
    const td_options *from, *to; /* NULL: nothing yet */
    char settings[TD_SETTINGS_BYTES];
} known_change;

enum { KNOWN_CHANGES = 4 };
typedef struct {
    known_change known[KNOWN_CHANGES];
    unsigned oldest; /* of the known changes, which is overwritten next */
} changes;

static _Thread_local struct {
    const td_options *region[TD_SCOPES_DEEP];
    int depth;
    changes regions, modes; /* by td_scope_push, and by td_scope_in_mode */
} own;

const td_options *td_scope_of_thread(void)
{
    return own.depth > 0 ? own.region[own.depth - 1] : NULL;
}

const td_options *td_scope_of_process(const td_options *from_start)
{
    const td_options *o = atomic_load_explicit(&of_process, memory_order_acquire);
    return o ? o : from_start;
}

static const td_options *recall(const changes *c, const td_options *from, const char *settings)
{
    for (int i = 0; i < KNOWN_CHANGES; i++)
        if (c->known[i].from == from && strcmp(c->known[i].settings, settings) == 0)
            return c->known[i].to;
    return NULL;
}

static void remember(changes *c, const td_options *from, const char *settings, const td_options *to)
{
    known_change *place = &c->known[c->oldest++ % KNOWN_CHANGES];
    *place = (known_change){.from = from, .to = to};
    strcpy(place->settings, settings);
}

/* As change(), for which the lock is taken only if the change is not known. */
static td_scope_status change_again(changes *c, const td_options *from, const char *settings,
                                    const td_options **changed, char why[TD_WHY_BYTES])
{
    *changed = recall(c, from, settings);
    if (*changed) return TD_SCOPE_DONE;
    pthread_mutex_lock(&td_scope_lock);
    const td_scope_status status = change(from, settings, changed, why);
    pthread_mutex_unlock(&td_scope_lock);
    if (status == TD_SCOPE_DONE) remember(c, from, settings, *changed);
    return status;
}

td_scope_status td_scope_push(const td_options *from_start, const char *settings,
                              char why[TD_WHY_BYTES], const td_options **now)
{
    if (own.depth == TD_SCOPES_DEEP) {
        snprintf(why, TD_WHY_BYTES, "the thread is in %d regions; allowed: at most that many",
                 TD_SCOPES_DEEP);
        return TD_SCOPE_REFUSED;
    }
    const td_options *of_thread = td_scope_of_thread(),
                     *from = of_thread ? of_thread : td_scope_of_process(from_start);
    const td_scope_status status = change_again(&own.regions, from, settings, now, why);
    if (status == TD_SCOPE_DONE) own.region[own.depth++] = *now;
    return status;
}

const td_options *td_scope_in_mode(const td_options *o, const char *mode)
{
    char why[TD_WHY_BYTES];
    const td_options *changed = NULL;
    return change_again(&own.modes, o, mode, &changed, why) == TD_SCOPE_DONE ? changed : NULL;
}

td_scope_status td_scope_pop(char why[TD_WHY_BYTES])
{
    if (own.depth == 0) {
        snprintf(why, TD_WHY_BYTES, "the thread is in no region: there is nothing to end");
        return TD_SCOPE_REFUSED;
    }
    own.depth--;
    return TD_SCOPE_DONE;
}

td_scope_status td_scope_set(const td_options *from_start, const char *settings,
                             char why[TD_WHY_BYTES])
{
    const td_options *to = NULL;
    pthread_mutex_lock(&td_scope_lock);
    const td_scope_status status = change(td_scope_of_process(from_start), settings, &to, why);
    if (status == TD_SCOPE_DONE) atomic_store_explicit(&of_process, to, memory_order_release);
    pthread_mutex_unlock(&td_scope_lock);
    return status;
}
