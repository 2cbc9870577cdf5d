/* lookups.h - Tandem's dlopen, dlsym and dlvsym as functions that an attached library is made to
 * call (dlsym.c). */
#ifndef TD_LOOKUPS_H
#define TD_LOOKUPS_H

/* What stands for a function of that name; NULL: nothing, as for all other names and in builds that
 * do not stand before dlsym. */
#ifdef TD_INTERPOSES_DLSYM
void *td_lookup_stand_in(const char *name);
#else
static inline void *td_lookup_stand_in(const char *name) { return (void)name, (void *)0; }
#endif

#endif
