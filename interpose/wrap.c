#include "wrap.h"

#include <pthread.h>
#include <string.h>

#include "../lib/call/dispatch.h"
#include "../lib/call/process.h"
#include "../lib/options/environment.h"
#include "attach.h"

/* This thread's native calls whose original functions run, one of cuBLAS and one of cuSOLVER, which
 * may be round that of cuBLAS, and where their wrappers keep them: NULL while none runs. A caller
 * may leave the function by longjmp or an exception. */
static _Thread_local struct {
    const td_call *at;
    td_call call;
} unfinished[TD_MAKERS];

/* ---- what cuBLAS tells of its own emulation ---- */

#if CUBLAS_VERSION < 130100 /* its headers lack these */
cublasStatus_t cublasGetFixedPointEmulationMantissaBitCountPointer(cublasHandle_t, int **);
cublasStatus_t cublasSetFixedPointEmulationMantissaBitCountPointer(cublasHandle_t, int *);
#endif

static bool set_teller(td_library *library, cublasHandle_t handle, int *bits)
{
    __typeof__(&cublasSetFixedPointEmulationMantissaBitCountPointer) set =
        TD_ORIGINAL(library, cublasSetFixedPointEmulationMantissaBitCountPointer);
    return set && set(handle, bits) == CUBLAS_STATUS_SUCCESS;
}

/* Has the handle write the mantissa bits of the native call to the report, unless the program has
 * them written elsewhere. */
static void start_telling(td_library *library, cublasHandle_t handle, td_call *call)
{
    __typeof__(&cublasGetFixedPointEmulationMantissaBitCountPointer) get =
        TD_ORIGINAL(library, cublasGetFixedPointEmulationMantissaBitCountPointer);
    int *now = NULL;
    if (!get || get(handle, &now) != CUBLAS_STATUS_SUCCESS || now) return;
    int *bits = td_call_mantissa_bits(call);
    if (!bits || !set_teller(library, handle, bits)) return;
    call->teller = handle;
    call->library = library;
}

/* Not of a call whose original function was left: its handle may be gone, and what the handle
 * writes to stays. */
static void stop_telling(td_call *call)
{
    if (call->teller) (void)set_teller(call->library, call->teller, NULL);
    call->teller = NULL;
}

/* ---- a call of an original function ---- */

bool td_wrap_pass(td_entry entry, td_call *call)
{
    memset(call, 0, sizeof *call);
    call->maker = td_entry_maker(entry);
    td_original_enter(call->maker);
    return true;
}

int td_wrap_hold_off_cancellation(void)
{
    int state = PTHREAD_CANCEL_ENABLE;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    return state;
}

void td_wrap_allow_cancellation(int state) { (void)pthread_setcancelstate(state, NULL); }

/* Of a call whose original function was left without a word. */
static void drop_unfinished(td_maker maker)
{
    if (!unfinished[maker].at) return;
    const int state = td_wrap_hold_off_cancellation();
    td_call_drop(&unfinished[maker].call);
    unfinished[maker].at = NULL;
    td_wrap_allow_cancellation(state);
}

/* The options in force; NULL if the call is not to be looked at. */
static const td_options *options_for(td_entry entry)
{
    const td_maker maker = td_entry_maker(entry);
    if (td_original_is_running(maker) || td_attach_is_off()) return NULL;
    drop_unfinished(maker);
    const td_options *o = td_options_in_force();
    return td_dispatch_wants(o, entry) ? o : NULL;
}

/* True if the original function must run. */
static bool decide(const td_call *call)
{
    if (call->outcome != TD_CALL_NATIVE) return false;
    unfinished[call->maker].at = call;
    unfinished[call->maker].call = *call;
    td_original_enter(call->maker);
    return true;
}

const td_value td_no_scalar;

static td_scalar scalar_at(const void *p, td_type type, bool on_device)
{
    if (p == &td_no_scalar) return (td_scalar){.device = NULL};
    td_scalar s = {.device = on_device ? p : NULL};
    if (!on_device) memcpy(&s.value, p, (size_t)td_types[type].size);
    return s;
}

void td_wrap_set_scalars(td_problem *p, const void *alpha, const void *beta, bool on_device)
{
    p->alpha = scalar_at(alpha, td_problem_type_of_alpha(p), on_device);
    p->beta = scalar_at(beta, td_problem_type_of_beta(p), on_device);
}

/* CUBLAS_PEDANTIC_MATH may have flags beside it: all other bits from cuBLAS 13.10 on, which is the
 * first to count the two emulations among them. */
static bool is_pedantic(cublasMath_t mode) { return ((int)mode & 0x3) == CUBLAS_PEDANTIC_MATH; }

/* CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH, which older headers lack. */
static bool allows_emulation(cublasMath_t mode) { return (int)mode & 0x8; }

/* True if the environment lets cuBLAS emulate products of binary64 on all handles. */
static bool environment_allows_emulation;

static void read_environment(void)
{
    const char *value = td_environment_value("CUBLAS_EMULATE_DOUBLE_PRECISION");
    environment_allows_emulation = value && value[0] && strcmp(value, "0") != 0;
}

bool td_wrap_may_emulate(cublasMath_t mode)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, read_environment);
    return environment_allows_emulation || allows_emulation(mode);
}

/* Sets what the handle says about *p, and *mode, its pointer mode; false if it is no handle. */
static bool query_handle(td_library *library, cublasHandle_t handle, td_problem *p,
                         cublasPointerMode_t *mode)
{
    __typeof__(&cublasGetStream_v2) get_stream = TD_ORIGINAL(library, cublasGetStream_v2);
    __typeof__(&cublasGetPointerMode_v2) get_mode = TD_ORIGINAL(library, cublasGetPointerMode_v2);
    __typeof__(&cublasGetMathMode) get_math_mode = TD_ORIGINAL(library, cublasGetMathMode);
    cublasMath_t math;
    if (!handle || !get_stream || !get_mode || !get_math_mode ||
        get_stream(handle, &p->stream) != CUBLAS_STATUS_SUCCESS ||
        get_mode(handle, mode) != CUBLAS_STATUS_SUCCESS ||
        get_math_mode(handle, &math) != CUBLAS_STATUS_SUCCESS)
        return false;
    p->is_pedantic = is_pedantic(math);
    p->allows_emulation = td_wrap_may_emulate(math);
    return true;
}

/* True if the original function must run. */
static bool begin(const td_options *o, td_entry entry, td_library *library, cublasHandle_t handle,
                  const void *alpha, const void *beta, td_problem *p, td_call *call)
{
    cublasPointerMode_t mode;
    if (!query_handle(library, handle, p, &mode) || !alpha || !beta) {
        *call = td_dispatch_native(entry, p, td_reason_invalid);
        return decide(call);
    }
    td_wrap_set_scalars(p, alpha, beta, mode == CUBLAS_POINTER_MODE_DEVICE);
    if (td_dispatch_is_idle(o, entry, p)) return td_wrap_pass(entry, call);
    td_wrap_find_loan(handle, p);
    *call = td_dispatch(o, entry, p);
    if (call->outcome == TD_CALL_NATIVE && (p->asks_emulation || p->allows_emulation))
        start_telling(library, handle, call);
    return decide(call);
}

bool td_wrap_begin(td_entry entry, td_library *library, cublasHandle_t handle, const void *alpha,
                   const void *beta, td_problem *p, td_call *call)
{
    const td_options *o = options_for(entry);
    if (!o) return td_wrap_pass(entry, call);
    const int state = td_wrap_hold_off_cancellation();
    const bool must_run = begin(o, entry, library, handle, alpha, beta, p, call);
    td_wrap_allow_cancellation(state);
    return must_run;
}

static bool begin_with_stream(const td_options *o, td_entry entry, bool stream_known,
                              const td_problem *p, td_call *call)
{
    if (stream_known && td_dispatch_is_idle(o, entry, p)) return td_wrap_pass(entry, call);
    *call =
        stream_known ? td_dispatch(o, entry, p) : td_dispatch_native(entry, p, td_reason_stream);
    return decide(call);
}

bool td_wrap_begin_legacy(td_entry entry, bool stream_known, const td_problem *p, td_call *call)
{
    const td_options *o = options_for(entry);
    if (!o) return td_wrap_pass(entry, call);
    const int state = td_wrap_hold_off_cancellation();
    const bool must_run = begin_with_stream(o, entry, stream_known, p, call);
    td_wrap_allow_cancellation(state);
    return must_run;
}

bool td_wrap_is_seen(td_entry entry) { return options_for(entry) != NULL; }

td_decision td_wrap_decide(td_entry entry, const td_problem *p)
{
    const int state = td_wrap_hold_off_cancellation();
    const td_decision decision = td_dispatch_decide(td_options_in_force(), entry, p);
    td_wrap_allow_cancellation(state);
    return decision;
}

void td_wrap_begin_native(td_entry entry, const td_problem *p, const char *reason, td_call *call)
{
    td_problem sizes = *p;
    td_question q;
    sizes.a.data = sizes.b.data = sizes.c.data = NULL;
    td_ask(entry, &sizes, &q);
    td_wrap_begin_part(&q, reason, call);
}

void td_wrap_begin_part(const td_question *part, const char *reason, td_call *call)
{
    const int state = td_wrap_hold_off_cancellation();
    *call = td_dispatch_refuse(part, reason);
    (void)decide(call);
    td_wrap_allow_cancellation(state);
}

/* The call's original function does not run any more. */
static void leave(const td_call *call)
{
    td_original_leave(call->maker);
    if (unfinished[call->maker].at == call) unfinished[call->maker].at = NULL;
}

void td_wrap_wait(td_call *call)
{
    leave(call);
    td_call_wait(call);
}

void td_wrap_resume(td_call calls[], int count)
{
    for (int i = 0; i < count; i++) td_original_enter(calls[i].maker);
    td_call_resume(&calls[0]);
}

void td_wrap_end(td_call *call, bool is_done)
{
    const int state = td_wrap_hold_off_cancellation();
    leave(call);
    stop_telling(call);
    td_call_end(call, is_done);
    td_wrap_allow_cancellation(state);
}

cublasStatus_t td_wrap_status(const td_call *call)
{
    return call->outcome == TD_CALL_BROKEN ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}
