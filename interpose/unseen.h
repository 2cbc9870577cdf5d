/* unseen.h - what wrappers have learnt from the calls that they saw. Where a process has been
 * attached to, calls before that have passed unseen: then it is to be forgotten, as it may be
 * otherwise now. */
#ifndef TD_UNSEEN_H
#define TD_UNSEEN_H

/* The workspaces that handles were given (handles.c). */
void td_unseen_loans(void);

/* The devices that handles of cublasXt were told to use (xt_handles.c). */
void td_unseen_selections(void);

/* The algorithms that parameters of cuSOLVER ask for (cusolver.c). */
void td_unseen_wishes(void);

/* The stream of cublas.h (legacy.c). */
void td_unseen_stream(void);

#endif
