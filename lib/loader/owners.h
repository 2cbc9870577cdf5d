/* owners.h - which cuBLAS an address belongs to: that of a handle, or of a place in code that
 * calls. Any thread may ask and tell. */
#ifndef TD_OWNERS_H
#define TD_OWNERS_H

#include <pthread.h>

struct td_library; /* originals.h */

/* NULL if it is not known: nobody has told, or there are too many. Accepts NULL. */
struct td_library *td_owner_find(const void *address);

/* library: NULL, when a handle has ended. */
void td_owner_set(const void *address, struct td_library *library);

/* For fork() alone (../call/process.c). */
extern pthread_mutex_t td_owners_lock;

#endif
