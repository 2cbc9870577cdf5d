/* attach.h - Tandem in a process that runs already: the imports of loaded libraries that lead to
 * cuBLAS's functions are made to lead to Tandem's wrappers, and back. */
#ifndef TD_ATTACH_H
#define TD_ATTACH_H

#include <stdbool.h>

/* True after tandem_detach, until the next tandem_attach: wrappers then pass all calls on unseen,
 * those through pointers too that a program still has. */
bool td_attach_is_off(void);

/* Redirects the imports of libraries that were loaded since the last look, if the process is
 * attached: the wrappers of dlopen and dlsym ask. Costs a walk over the loaded objects' headers
 * when there are none. */
void td_attach_look_again(void);

#endif
