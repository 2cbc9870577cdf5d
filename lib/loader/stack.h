/* stack.h - whether Tandem's own code waits further up the calling thread's stack: the call that
 * asks is then one that a function made which Tandem called. */
#ifndef TD_STACK_H
#define TD_STACK_H

#include <stdbool.h>

/* True if, above the frames of Tandem that ask and those of other code that called these, there are
 * frames of Tandem again. It unwinds the stack, which takes microseconds. */
bool td_stack_has_tandem_above(void);

#endif
