/* sampling.h - TANDEM_VERIFY: some elements of a product, or all, compared with the exact ones, and
 * residuals of a triangular solve, on the call's stream and without waiting for it
 * (../../kernels/sample). What was found goes to the call's line of the report; an element beyond
 * its bound is said once in the process (failures.h). */
#ifndef TD_SAMPLING_H
#define TD_SAMPLING_H

#include "../cuda/workspace.h"
#include "../engines/methods.h"
#include "../options/options.h"
#include "../report/report.h"

/* What a call needs for it, between its begin and its end. */
typedef struct {
    td_sample_counts *mapped; /* where the counts go; NULL: nothing is verified */
    td_sample sample;
    td_workspace workspace; /* of what the sample keeps; memory NULL: nothing is needed */
    td_stream stream;
} td_sampling;

/* Before the call. It stays unverified, as the report then shows, if it is no product or solve of
 * binary64 or complex matrices, is too large, has no record, or there is no memory. device may be
 * NULL. */
void td_sampling_begin(td_sampling *s, const td_options *o, const td_question *q,
                       const td_promise *promise, td_device *device, td_record *record);

/* After the call. is_done: C is what was asked for; else nothing is compared. */
void td_sampling_end(td_sampling *s, bool is_done);

#endif
