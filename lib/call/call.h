/* call.h - the record of one intercepted call: its line in the report, its time on the device, what
 * its kernels count, and its line in the log. */
#ifndef TD_CALL_H
#define TD_CALL_H

#include "../../kernels/device/counts.h"
#include "../cuda/device.h"
#include "../loader/originals.h"
#include "../routine/entries.h"
#include "policy.h"
#include "../routine/problem.h"
#include "../verify/sampling.h"
#include "../report/report.h"
#include "../report/timer.h"

/* What happened to a call so far. */
typedef struct {
    enum {
        TD_CALL_NATIVE,   /* the caller runs the original function, between begin and end */
        TD_CALL_EMULATED, /* enqueued */
        TD_CALL_BROKEN    /* a launch failed after the result may have been written */
    } outcome;
    td_maker maker; /* of the original function */
    td_record *record;
    td_timer *timer;
    bool is_to_be_timed; /* and is counted as not timed if it has no timer, or its time is lost */
    td_stream stream;
    td_counts_move counts; /* of kernels, and where these go; from NULL: not counted */
    td_sampling sampling;
    bool has_range; /* one for profilers is to be ended */
    /* a handle that tells mantissa bits until the call ends, and its cuBLAS; NULL: none does */
    void *teller;
    td_library *library;
} td_call;

/* True if somebody wants to know of calls: a report, TANDEM_VERIFY or a profiler. */
bool td_call_is_looked_at(const td_options *o);

/* Finds the call's record, keeps what verifying needs, and starts the call's time. device: NULL
 * if Tandem cannot use it, or has no need to; ordinal: its number, or -1. */
td_call td_call_begin(const td_options *o, const td_question *q, const td_decision *decision,
                      td_device *device, int ordinal);

/* Where the call's kernels may count, in device memory; NULL: nowhere. */
td_counters *td_call_counters(td_call *call, const td_decision *decision, const td_device *device);

/* Where cuBLAS's own emulation may write the mantissa bits that it keeps in a native call, in
 * memory that the current device reaches; NULL: nowhere. */
int *td_call_mantissa_bits(td_call *call);

/* Counts a call that happens as was decided, and says so in the log. */
void td_call_count(const td_call *call, const td_question *q, const td_decision *decision);

/* Stops the time of a native call whose original function does not run yet, and starts it anew. */
void td_call_wait(td_call *call);
void td_call_resume(td_call *call);

/* After the last kernel of an emulated call, or after the original function of a native one;
 * is_done: C is what was asked for. */
void td_call_end(td_call *call, bool is_done);

/* Instead of the other two, for a call that did not happen. */
void td_call_drop(td_call *call);

#endif
