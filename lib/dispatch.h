/* dispatch.h - one intercepted call from its description to kernels on the stream, or to the word that the original
 * function must run. */
#ifndef TD_DISPATCH_H
#define TD_DISPATCH_H

#include "engines/engine.h"
#include "entries.h"
#include "options.h"
#include "problem.h"
#include "timer.h"

/* What happened to a call so far. */
typedef struct {
    enum {
        TD_CALL_NATIVE,   /* the caller runs the original function, between begin and end */
        TD_CALL_EMULATED, /* enqueued */
        TD_CALL_BROKEN    /* a launch failed after C may have been written */
    } outcome;
    td_record *record;
    td_timer *timer;
    td_stream stream;
} td_call;

/* The options in force, read from the environment at the first use; opens log and report. */
const td_options *td_options_in_force(void);

/* The most device memory that one product may use: TANDEM_WORKSPACE, or what the device was found to have. */
size_t td_workspace_limit(const td_device *device);

/* True if calls of this entry have to be looked at: an arithmetic is asked for, or a report. */
bool td_dispatch_wants(td_entry entry);

/* Runs p if the options ask for it and the device can, and counts it in the report. */
td_call td_dispatch(td_entry entry, const td_gemm *p);

/* A call that cannot be described as a product that Tandem runs: native, with its reason (a string that stays). */
td_call td_dispatch_native(td_entry entry, const td_gemm *p, const char *reason);

/* After the original function of a native call has returned. */
void td_dispatch_end(td_call *call);

/* Collects what is known and writes the report: for the end of the process. */
void td_dispatch_finish(void);

#endif
