/* handles.h - which cuBLAS made a handle. Any thread may ask and tell. */
#ifndef TD_HANDLES_H
#define TD_HANDLES_H

struct td_library; /* originals.h */

/* NULL if it is not known: the handle was made unseen, or there are too many. */
struct td_library *td_handle_library(const void *handle);

/* From its making to its end; NULL: it has ended. */
void td_handle_set_library(const void *handle, struct td_library *library);

#endif
