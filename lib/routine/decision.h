/* decision.h - what runs a call, and why: made once, and handed down. Pure: no CUDA calls. */
#ifndef TD_DECISION_H
#define TD_DECISION_H

#include "../../kernels/device/counters.h"
#include "forecast.h"
#include "mode.h"
#include "solve_steps.h"

/* Why a call stays native; printed in the report and the log. */
extern const char td_reason_mode[], td_reason_invalid[], td_reason_empty[], td_reason_pedantic[],
    td_reason_routine[], td_reason_device[], td_reason_pointer[], td_reason_stream[],
    td_reason_memory[], td_reason_capture[], td_reason_large[], td_reason_cublas[],
    td_reason_launch[], td_reason_refused[], td_reason_operand[], td_reason_scales[],
    td_reason_slower[], td_reason_worst[], td_reason_in_graph[], td_reason_accuracy[],
    td_reason_layout[], td_reason_members[], td_reason_invariance[], td_reason_rule[],
    td_reason_rules[], td_reason_lost[], td_reason_emulates[], td_reason_allows[],
    td_reason_algorithm[], td_reason_algorithms[], td_reason_untimed[], td_reason_panels[],
    td_reason_vectors[], td_reason_refined[], td_reason_narrow[], td_reason_unaligned[],
    td_reason_waits[], td_reason_devices[];

/* Why an engine runs a call that another might have run. */
extern const char td_choice_fastest[], td_choice_faster[], td_choice_emulated[],
    td_choice_reproducible[], td_choice_rule[], td_choice_instead[];

/* What runs a call: made once, and handed down. */
typedef struct {
    const td_engine *engine; /* NULL: cuBLAS */
    td_parameter parameter;
    const char *text;   /* the mode, for report and log */
    const char *reason; /* why cuBLAS; NULL for an engine */
    const char *choice; /* why this engine; NULL: it was asked for */
    td_solve_cut cut;   /* of a triangular solve */
    td_forecast forecast;

    /* Strategy adaptive, and cuBLAS would do as well: how the site's last calls ended has a say
     * (../call/adaptive.h). is_risky: no other strategy would emulate the call, since finding out
     * that its data are bad costs too much; only a site whose calls won does so freely. */
    bool heeds_site, is_risky;

    /* Where the call leaves its outcome for the site's next one; `from` NULL: nowhere. */
    td_counts_move counts;
} td_decision;

#endif
