/* lookups.h - Tandem's dlopen, dlsym and dlvsym as functions that an attached library is made to
 * call (dlsym.c). */
#ifndef TD_LOOKUPS_H
#define TD_LOOKUPS_H

/* What stands for a function of that name; NULL: nothing, as for all other names. The function
 * itself is NULL in builds that do not stand before dlsym. */
extern __attribute__((weak)) void *td_lookup_stand_in(const char *name);

#endif
