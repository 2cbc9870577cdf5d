/* mode.h - what a mode is: a row of ../engines/modes.def. Pure: no CUDA calls. */
#ifndef TD_MODE_H
#define TD_MODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#include "../../kernels/device/counts.h"
#include "../../kernels/sample/sample.h"
#include "../../kernels/select/prices.h"
#include "product.h"
#include "run_status.h"

typedef struct td_device td_device; /* ../cuda/device.h */
struct td_traits;                   /* ../model/route.h */
struct td_route;

/* What follows a mode's name. */
typedef struct {
    /* of slices or moduli; if it is not given, the fewest that the data may choose, 0 for any */
    int count;
    bool is_given;     /* count is exact */
    bool is_other_way; /* the engine's `way` is named */

    /* Set by engines of residues: the product is_paired, and its moduli are those of complex
     * numbers (../../kernels/residue/moduli.h), two int8 products each. */
    bool is_complex;

    /* By which the data choose on the device, for this product; binary64 is 0: as the mode
     * defines. */
    td_prices prices;

    /* The call that the product belongs to, as cuBLAS's own routine would make it; NULL: nobody
     * knows. And, in device memory, the probe's verdict (../../kernels/select/probe.h): if it is
     * TD_C_IS_MADE, that routine has made C; NULL: nobody has probed, or the mode's kernels run
     * behind a condition. And what it has seen of lines (td_probed_lines); NULL: nobody has
     * probed. */
    const td_problem *native;
    const int32_t *verdict, *looseness;
    bool is_in_body;        /* the mode's kernels run behind a condition */
    bool branches_in_graph; /* a captured product may have a condition of its own */

    /* Rows of the table of routes (../model/route.h) that must not be taken, a bit each: for tests,
     * and of no effect on C. */
    uint64_t without_routes;
} td_parameter;

/* What one product takes of a device. Operations: a multiply-add counts two. */
typedef struct {
    double launches;                   /* of kernels, one after another */
    bool is_one;                       /* all is done in one, where memory and arithmetic overlap */
    double bytes;                      /* read and written in device memory */
    double fp32, fp64, matrix64, int8; /* matrix64: binary64 products that may use tensor cores */
    double blocks;                     /* that can run at a time */
} td_cost;

enum { TD_MOST_BITS = 53 }; /* that a mode can promise of C: one rounding, to nearest */

/* What is known of the error of a sum of k terms: it is at most
 *   (constant + per_root sqrt(k) + per_term k) 2^-exponent (|alpha||A||B| + |beta||C|),
 * `ulps` units in the last place of C, and what is lost, together. ../engines/proven.h computes
 * with it, and makes a line of text of it. */
typedef struct td_bound {
    double constant, per_root, per_term;
    int exponent;
    double ulps;
    td_sample_loss loss;
    int64_t proven_to; /* of so many terms it is proven, for any finite operands; 0: of any */

    /* Tests hold ordinary data to 2^-measured, to so many terms. 0: to what is proven. */
    double measured;
    int64_t measured_to; /* 0: any */

    /* Mode auto counts on errors of 2^-bits. 0: on `typical`, or, if that is NULL, on these. */
    double bits;
    const struct td_bound *typical;

    bool
        is_certified; /* by the data: with a number given nothing is, and native may stand for it */
    const char *condition; /* what follows the bound in words */
} td_bound;

typedef struct td_engine {
    const char *name;    /* as in TANDEM_MODE */
    const char *summary; /* one line */

    /* What may follow "name:" in TANDEM_MODE. */
    int least, most; /* a count from least to most; 0: none */
    const char *way; /* a word for another way to the same bits; NULL: there is one way */

    /* What a product of binary64 matrices costs if its data are ordinary (../model/cost.h);
     * ../model/model.h makes seconds of it. NULL: nobody can say. */
    void (*cost)(const td_real_product *p, td_parameter parameter, td_cost *cost);

    const td_bound *bound; /* of every element of C; NULL: nothing is known */
    const char *error;     /* the bound in words, one line; NULL: those that it is printed in */

    bool is_never_faster; /* than native, nor more accurate: mode auto predicts nothing for it */

    /* True if run_folded() makes the product as it is, though it is folded (real.h). NULL: it makes
     * none. */
    bool (*takes)(const td_product *p);
    td_run_status (*run_folded)(const td_product *p, td_device *device, size_t workspace_limit);

    /* What is decided for an element of C follows from all lines of op(A) and op(B), not from its
     * own row and column alone (td_product.whole). */
    bool sees_all_lines;

    bool takes_prices; /* the data choose on the device, by td_parameter.prices if there are any */

    bool is_choice; /* stands for whichever of the others ../call/policy.h finds best; has no run */

    /* Which kernels make a product on a device with these traits (../model/route.h). NULL, or
     * false: there are no others. */
    bool (*route)(const td_real_product *p, td_parameter parameter, const struct td_traits *device,
                  struct td_route *route);

    /* Loads the kernels that products need, by `way` or else, on the current device. NULL: none. */
    cudaError_t (*prepare)(int is_other_way);

    /* Enqueues a product of binary64 matrices on p->stream, once those are loaded; never waits.
     * NULL: the native product. workspace_limit: the most device memory to use, in bytes. counters:
     * in device memory, or NULL. */
    td_run_status (*run)(const td_real_product *p, td_parameter parameter, td_device *device,
                         size_t workspace_limit, td_counters *counters);
} td_engine;

/* All modes, in the order `tandem modes` prints them; ends with NULL. */
extern const td_engine *const td_engines[];

/* How a mode is written, for people: "name", or "name[:" and what it takes "]", in `text`. */
enum { TD_MODE_TEXT = 48 };
const char *td_mode_usage(const td_engine *engine, char text[TD_MODE_TEXT]);

/* The mode that text ("name" or "name:parameter") names, or NULL. */
const td_engine *td_engine_parse(const char *text, td_parameter *parameter);

#endif
