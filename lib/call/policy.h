/* policy.h - which engine runs a call, or why cuBLAS does. Pure: no CUDA calls. */
#ifndef TD_POLICY_H
#define TD_POLICY_H

#include "../engines/methods.h"
#include "../model/model.h"
#include "../options/options.h"

/* True if the option TANDEM_ENTRY lets entry be intercepted. */
bool td_policy_intercepts(const td_options *options, td_entry entry);

/* True if some calls may be emulated. */
bool td_policy_emulates(const td_options *options);

/* True if decisions need a model of the device. */
bool td_policy_predicts(const td_options *options);

/* What is to run the call, if device and memory allow it. The model is not looked at unless the
 * options make decisions need it; then NULL stands for a device that cannot run kernels. The
 * strings live as long as the options. */
td_decision td_policy_decide(const td_options *options, const td_question *q,
                             const td_model *model);

/* What mode `auto` makes of a call that is valid and not empty, whose method runs it by the
 * arithmetic of a mode. With strategy `reproducible` that follows from the sizes and the accuracy
 * alone, and the model may be NULL. */
td_decision td_policy_choose(const td_options *options, const td_question *q,
                             const td_model *model);

/* cuBLAS, for a reason (a string that stays), and though a mode was considered. */
td_decision td_policy_native(const char *reason);
td_decision td_policy_keep_native(const char *reason, td_forecast forecast);

/* Mode fp64, for a part of a call that its mode could not run. */
td_decision td_policy_binary64(void);

/* Bits that an accuracy asks of a product with k terms, as td_bits (../engines/proven.h) counts
 * them. */
double td_policy_bits(td_option_accuracy accuracy, int64_t k);

/* True if a way has so many bits, and somebody can say how fast it is: seconds, from
 * td_model_predict. */
bool td_policy_serves(const td_way *way, double seconds, double bits, int64_t k);

/* cuBLAS's products in place of its own routine, or in a factorisation of Tandem's: no mode. */
extern const td_way td_policy_products;

/* The least advantage over native, as a share of its time, for which a product is emulated: on a
 * device that was measured, and on one of which nothing but its properties is known. Predictions
 * are for numbers of like size: triangular factors, kernels of Gaussian processes and the like
 * mostly take up to a quarter more, and nobody knows before. No program of docs/auto.md gets slower
 * by the first; by the second its calls took 3.4 % longer. */
#define TD_POLICY_MARGIN          0.125
#define TD_POLICY_MARGIN_OF_MODEL 0.2

/* The same of a measured device for calls that take as long for any numbers. */
#define TD_POLICY_MARGIN_IF_CERTAIN 0.08

#endif
