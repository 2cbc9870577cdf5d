/* site.h - where in the program a call comes from: the function and the object that hold an
 * address, as far as the dynamic linker knows them. Pure: no CUDA calls. */
#ifndef TD_SITE_H
#define TD_SITE_H

#include <pthread.h>

enum { TD_SITE_BYTES = 256 };

typedef struct {
    /* The exported function that starts nearest below the address; "": none is known. */
    char symbol[TD_SITE_BYTES];
    char object[TD_SITE_BYTES]; /* the file, without its folder; "": the address is in none */
    unsigned long long offset;  /* from the symbol, or from the object's start if there is none */
} td_site;

/* The site of an address now, which stays for the life of the process: the same one for the same
 * place, another one where another library was loaded to the address since, but in a forked child,
 * which goes by what its parent knew. NULL without memory, or for NULL. Any thread; takes the
 * dynamic linker's lock for an address that is new, or after something was unloaded, and so must
 * not be called under a lock that code in a library's constructor may want. */
const td_site *td_site_find(const void *address);

/* "symbol+0x1a (object)" or "object+0x1234". */
void td_site_print(const td_site *site, char text[2 * TD_SITE_BYTES + 32]);

/* For fork() alone (../call/process.c). */
extern pthread_mutex_t td_sites_lock;

#endif
