/* wrap.h - what all wrappers share: the two halves round the call of an original function. */
#ifndef TD_WRAP_H
#define TD_WRAP_H

#include <cublas_api.h>

#include "../lib/call/call.h"
#include "../lib/loader/originals.h"

#define TD_EXPORT __attribute__((visibility("default")))

/* What the wrapper of a routine without alpha or beta hands on in its place. */
extern const td_value td_no_scalar;

/* Starts a wrapped call whose matrices and sizes are in *p: adds stream, scalars and math mode as
 * the handle says, and dispatches. library is the caller's cuBLAS. True if the original function
 * must run, followed by td_wrap_end. Calls that cuBLAS makes of its own functions pass through
 * unseen. */
bool td_wrap_begin(td_entry entry, td_library *library, cublasHandle_t handle, const void *alpha,
                   const void *beta, td_problem *p, td_call *call);

/* Starts a wrapped call of a function whose handle is not asked here: those of cublas.h, which have
 * none, of cublasLt and of cuSOLVER. *p is complete, stream_known says if p->stream is. */
bool td_wrap_begin_legacy(td_entry entry, bool stream_known, const td_problem *p, td_call *call);

/* True of CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT, a type of computation that older headers lack. */
static inline bool td_wrap_asks_emulation(int compute) { return compute == 79; }

/* True if cuBLAS may emulate products of a handle in that math mode: the mode or the environment
 * lets it. */
bool td_wrap_may_emulate(cublasMath_t mode);

/* Sets the scalars of *p, which has all that their types follow from: numbers in device memory or
 * on the host. */
void td_wrap_set_scalars(td_problem *p, const void *alpha, const void *beta, bool on_device);

/* Begins a call of the entry that is not looked at, whose original function must run: td_wrap_end
 * then does nothing but leave. Returns true. */
bool td_wrap_pass(td_entry entry, td_call *call);

/* After the original function has returned; is_done: without an error. */
void td_wrap_end(td_call *call, bool is_done);

/* True if calls of the entry are looked at, so that td_wrap_begin does more than leave. */
bool td_wrap_is_seen(td_entry entry);

/* What is to run p on the current device, wherever its matrices are: under strategy adaptive its
 * site may still keep it native (lib/call/adaptive.h). */
td_decision td_wrap_decide(td_entry entry, const td_problem *p);

/* A thread is not cancelled while it holds what others wait for, between these two: what it was to
 * be cancelled for happens once the call is over. The state is the first one's result. */
int td_wrap_hold_off_cancellation(void);
void td_wrap_allow_cancellation(int state);

/* Begins a call that stays native, for that reason (a string that stays); its original function
 * must run. Nobody looks at its matrices: they may be where no kernel can, or *p may not say all of
 * them. */
void td_wrap_begin_native(td_entry entry, const td_problem *p, const char *reason, td_call *call);

/* Begins a part of a call in the same way; its matrices have no data. */
void td_wrap_begin_part(const td_question *part, const char *reason, td_call *call);

/* Lets a call wait whose original function must run, while others are begun; then it runs with
 * `count` calls that have waited, the first of which gets all the time. td_wrap_end of each
 * follows. */
void td_wrap_wait(td_call *call);
void td_wrap_resume(td_call calls[], int count);

/* The workspace that the handle was given for p->stream, if any. */
void td_wrap_find_loan(cublasHandle_t handle, td_problem *p);

/* What a call that ran no original function returns. */
cublasStatus_t td_wrap_status(const td_call *call);

/* The rest of a wrapper for a function with a handle, once `p` describes the product. TD_WRAP_IF:
 * where is_product is false, the original function alone, which the report does not count. */
#define TD_WRAP_IF(is_product, function, handle, alpha, beta, p, ...)                              \
    if (!(is_product)) TD_PASS(function, handle, __VA_ARGS__);                                     \
    TD_WRAP(function, handle, alpha, beta, p, __VA_ARGS__)
#define TD_PASS(function, handle, ...)                                                             \
    do {                                                                                           \
        td_library *its = TD_LIBRARY_OF(handle, function);                                         \
        __typeof__(&(function)) other = TD_ORIGINAL(its, function);                                \
        return other ? other(handle, __VA_ARGS__) : CUBLAS_STATUS_NOT_INITIALIZED;                 \
    } while (0)
#define TD_WRAP(function, handle, alpha, beta, p, ...)                                             \
    (p).caller = __builtin_return_address(0);                                                      \
    td_call call;                                                                                  \
    td_library *library = TD_LIBRARY_OF(handle, function);                                         \
    if (!td_wrap_begin(TD_ENTRY_##function, library, handle, alpha, beta, &(p), &call))            \
        return td_wrap_status(&call);                                                              \
    __typeof__(&(function)) original = TD_ORIGINAL(library, function);                             \
    cublasStatus_t status =                                                                        \
        original ? original(handle, __VA_ARGS__) : CUBLAS_STATUS_NOT_INITIALIZED;                  \
    td_wrap_end(&call, status == CUBLAS_STATUS_SUCCESS);                                           \
    return status

#endif
