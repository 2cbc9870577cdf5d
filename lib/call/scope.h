/* scope.h - which options count for a call: those of the calling thread's innermost region, or
 * else those of the process, which start as the environment's and may be set later. Options are
 * immutable once published and live as long as the process, so that a call may keep a pointer to
 * them while others change what is in force. Pure: no CUDA calls. */
#ifndef TD_SCOPE_H
#define TD_SCOPE_H

#include <pthread.h>

#include "../options/options.h"

/* Regions that a thread may have one inside another, and different values of the options that a
 * process may have in all its life. */
enum { TD_SCOPES_DEEP = 64, TD_SCOPES_DIFFERENT = 1024 };

typedef enum {
    TD_SCOPE_DONE,
    TD_SCOPE_REFUSED,  /* the settings are malformed, or there are too many regions */
    TD_SCOPE_NO_MEMORY /* or more different values than TD_SCOPES_DIFFERENT */
} td_scope_status;

/* The options of the calling thread's innermost region; NULL outside of any. */
const td_options *td_scope_of_thread(void);

/* The options of the process: from_start until the first td_scope_set. */
const td_options *td_scope_of_process(const td_options *from_start);

/* Each of these takes settings as td_options_change does, and leaves the reason of a failure in
 * why; what was in force stays then. from_start: as above, the same for every call.
 *   td_scope_set   for the process: for all threads, now and later, outside of their regions
 *   td_scope_push  for the calling thread, on top of what is in force there; *now is the result
 *   td_scope_pop   ends the thread's innermost region */
td_scope_status td_scope_set(const td_options *from_start, const char *settings,
                             char why[TD_WHY_BYTES]);
td_scope_status td_scope_push(const td_options *from_start, const char *settings,
                              char why[TD_WHY_BYTES], const td_options **now);
td_scope_status td_scope_pop(char why[TD_WHY_BYTES]);

/* What is in force, *o, with another of the modes that `tandem modes` lists, and all else as it is.
 * NULL without memory, or after more different values than TD_SCOPES_DIFFERENT. */
const td_options *td_scope_in_mode(const td_options *o, const char *mode);

/* Held while new options are published; a fork takes it. */
extern pthread_mutex_t td_scope_lock;

#endif
