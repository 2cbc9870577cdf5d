/* xt.c - wrappers of cublasXt's level 3 routines, whose matrices are on the host or on any device.
 * cublasXt's own products never reach an exported function, so its entry is where they are seen.
 * What an engine is to run is run by tiles (lib/xt), and the call returns when the
 * result is complete. Else the whole call is cublasXt's. */
#include "xt.h"

#include <stdatomic.h>

#include "../lib/call/adaptive.h"
#include "../lib/options/log.h"
#include "wrap.h"

/* In place of a device: the program's current one. */
enum { PROGRAMS_OWN = -1 };

/* The original function must run. */
static bool be_native(const td_xt_call *x, const char *reason, td_call *call)
{
    td_wrap_begin_native(x->entry, &x->p, reason, call);
    return true;
}

/* False if work in some device's default stream would end a capture of the program's: that of a
 * stream which waits for the default one. Leaves the first device current. */
static bool may_work(const td_xt_selection *devices)
{
    bool may = true;
    for (int i = devices->count; i-- > 0;)
        may =
            td_cuda_ok(cudaSetDevice(devices->ordinal[i])) && !td_stream_is_capturing(NULL) && may;
    return may;
}

/* With the first of the devices current. */
static bool begin_there(const td_xt_call *x, const td_xt_selection *devices, td_call *call,
                        cublasStatus_t *status)
{
    static atomic_uint said;
    const td_decision decided = td_wrap_decide(x->entry, &x->p),
                      decision = td_adaptive_forgo(&decided);
    if (!decision.engine) return be_native(x, decision.reason, call);
    if (!may_work(devices)) return be_native(x, td_reason_refused, call);
    const int state = td_wrap_hold_off_cancellation();
    const td_capture_mode mode = td_capture_allow(); /* no capture depends on the call */
    const char *reason = td_xt_run(x, devices, &decision, status);
    td_capture_restore(mode);
    td_wrap_allow_cancellation(state);
    if (!reason) return false;
    td_cuda_ok(cudaSetDevice(devices->ordinal[0]));
    td_log_capped(&said, 1, TD_LOG_INFO, "%s: %s; the call is cublasXt's (said once)",
                  td_entries[x->entry].name, reason);
    return be_native(x, reason, call);
}

/* True if the original function must run, followed by end(), which gets *device; else the call is
 * over, with *status. */
static bool begin(const td_xt_call *x, const void *alpha, const void *beta, td_call *call,
                  cublasStatus_t *status, int *device)
{
    td_xt_call known = *x;
    td_xt_selection devices;
    int before;
    if (!td_wrap_is_seen(x->entry)) return td_wrap_pass(x->entry, call);
    if (!alpha || !beta) return be_native(x, td_reason_invalid, call);
    td_wrap_set_scalars(&known.p, alpha, beta, false);
    if (!td_xt_recall(x->handle, &devices)) return be_native(&known, td_reason_devices, call);
    if (!td_cuda_ok(cudaGetDevice(&before)) || !td_cuda_ok(cudaSetDevice(devices.ordinal[0])))
        return be_native(&known, td_reason_device, call);
    *device = devices.ordinal[0];
    td_xt_price_copies(&known, &devices);
    const bool must_run = begin_there(&known, &devices, call, status);
    td_cuda_ok(cudaSetDevice(before));
    return must_run;
}

/* With the device current that the call began with: it has the events of the call's time. */
static void end(td_call *call, int device, bool is_done)
{
    int before;
    const bool is_other = device != PROGRAMS_OWN && td_cuda_ok(cudaGetDevice(&before)) &&
                          before != device && td_cuda_ok(cudaSetDevice(device));
    td_wrap_end(call, is_done);
    if (is_other) td_cuda_ok(cudaSetDevice(before));
}

#define WRAP_XT(function, handle_, alpha, beta, p_, ...)                                           \
    (p_).caller = __builtin_return_address(0);                                                     \
    (p_).allows_emulation = td_wrap_may_emulate(CUBLAS_DEFAULT_MATH);                              \
    const td_xt_call x = {.entry = TD_ENTRY_##function,                                            \
                          .library = TD_LIBRARY_OF(handle_, function),                             \
                          .handle = (handle_),                                                     \
                          .p = (p_),                                                               \
                          .run_original = td_xt_run_original};                                     \
    td_call call;                                                                                  \
    cublasStatus_t status = CUBLAS_STATUS_INTERNAL_ERROR;                                          \
    int device = PROGRAMS_OWN;                                                                     \
    if (!begin(&x, alpha, beta, &call, &status, &device)) return status;                           \
    __typeof__(&(function)) original = TD_ORIGINAL(x.library, function);                           \
    status = original ? original(handle_, __VA_ARGS__) : CUBLAS_STATUS_NOT_INITIALIZED;            \
    end(&call, device, status == CUBLAS_STATUS_SUCCESS);                                           \
    return status

#define HANDLE cublasXtHandle_t
#define WRAP   WRAP_XT
#include "by_handle.h"

#define XT(name, forms, shape, kind, types, family) DEFINE(shape, kind, cublas##name, size_t, types)
#include "../lib/routine/routines.def"
