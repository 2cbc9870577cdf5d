/* owners.h - which cuBLAS an address belongs to: that of a handle or a function, or of a place in
 * code that calls; and which places belong to none. Any thread may ask and tell. */
#ifndef TD_OWNERS_H
#define TD_OWNERS_H

#include <pthread.h>
#include <stdbool.h>

struct td_library; /* originals.h */

/* NULL if it is not known: nobody has told, or there are too many. Accepts NULL. */
struct td_library *td_owner_find(const void *address);

/* library: NULL, when a handle has ended. */
void td_owner_set(const void *address, struct td_library *library);

/* The library that a place in code has been found to call; NULL if nobody knows, or something has
 * been unloaded since: another library's code may be there now. Sets *unloads, which
 * td_caller_set is told. */
struct td_library *td_caller_find(const void *caller, unsigned long long *unloads);

/* unloads: as td_caller_find has said before the library was looked up. */
void td_caller_set(const void *caller, struct td_library *library, unsigned long long unloads);

/* Strangers are places in code that is of none of the libraries that the loader knows: to find that
 * out takes a walk through all images, some tens of microseconds in a process that has hundreds of
 * them. Of many, some are forgotten. A library that is new may lie where a stranger has been: then
 * all are to be forgotten. */
bool td_stranger_find(const void *address);
void td_stranger_set(const void *address);
void td_strangers_forget(void);

/* For fork() alone (../call/process.c). */
extern pthread_mutex_t td_owners_lock;

#endif
