/* policy.h - which engine runs a call, or why cuBLAS does. Pure: no CUDA calls. */
#ifndef TD_POLICY_H
#define TD_POLICY_H

#include "../../kernels/device/counters.h"
#include "../engines/engine.h"
#include "../engines/model/model.h"
#include "../engines/solve/steps.h"
#include "entries.h"
#include "forecast.h"
#include "../options/options.h"
#include "problem.h"

/* Why a call stays native; printed in the report and the log. */
extern const char td_reason_mode[], td_reason_invalid[], td_reason_empty[], td_reason_pedantic[],
    td_reason_routine[], td_reason_device[], td_reason_pointer[], td_reason_stream[],
    td_reason_memory[], td_reason_capture[], td_reason_large[], td_reason_cublas[],
    td_reason_launch[], td_reason_refused[], td_reason_operand[], td_reason_scales[],
    td_reason_slower[], td_reason_worst[], td_reason_accuracy[], td_reason_layout[],
    td_reason_members[], td_reason_invariance[], td_reason_rule[], td_reason_rules[],
    td_reason_lost[];

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
     * (adaptive.h). is_risky: no other strategy would emulate the call, since finding out that its
     * data are bad costs too much; only a site whose calls won does so freely. */
    bool heeds_site, is_risky;

    /* Where the call leaves its outcome for the site's next one; `from` NULL: nowhere. */
    td_counts_move counts;
} td_decision;

/* True if the option TANDEM_ENTRY lets entry be intercepted. */
bool td_policy_intercepts(const td_options *options, td_entry entry);

/* True if some calls may be emulated. */
bool td_policy_emulates(const td_options *options);

/* True if decisions need a model of the device. */
bool td_policy_predicts(const td_options *options);

/* What is to run p, if device and memory allow it. The model is not looked at unless the options
 * make decisions need it; then NULL stands for a device that cannot run kernels. The strings live
 * as long as the options. */
td_decision td_policy_decide(const td_options *options, const td_problem *p, const td_model *model);

/* What mode `auto` makes of a product of binary64 matrices that are not empty. With strategy
 * `reproducible` that follows from m, n, k and the accuracy alone, and the model may be NULL. */
td_decision td_policy_choose(const td_options *options, const td_problem *p, const td_model *model);

/* The same of a triangular solve (td_problem_is_solve). */
td_decision td_policy_choose_solve(const td_options *options, const td_problem *p,
                                   const td_model *model);

/* cuBLAS, for a reason (a string that stays), and though a mode was considered. */
td_decision td_policy_native(const char *reason);
td_decision td_policy_keep_native(const char *reason, td_forecast forecast);

/* Mode fp64, for a part of a call that its mode could not run. */
td_decision td_policy_binary64(void);

/* Bits that an accuracy asks of a product with k terms, as a td_engine's `bits` counts them. */
double td_policy_bits(td_option_accuracy accuracy, int64_t k);

/* True if a way is good enough, and somebody can say how fast it is: seconds, from
 * td_model_predict. */
bool td_policy_serves(const td_way *way, double seconds, td_option_accuracy accuracy, int64_t k);

/* The least advantage over native, as a share of its time, for which a product is emulated: on a
 * device that was measured, and on one of which nothing but its properties is known. Predictions
 * are for numbers of like size: triangular factors, kernels of Gaussian processes and the like
 * mostly take up to a quarter more, and nobody knows before. No program of docs/auto.md gets slower
 * by the first; by the second its calls took 3.4 % longer. */
#define TD_POLICY_MARGIN          0.125
#define TD_POLICY_MARGIN_OF_MODEL 0.2

#endif
