/* methods.h - THE table of methods: by which of Tandem's own algorithms a routine is made, what
 * that takes, what it promises, and which of its elements can be measured. A kind of routine has
 * one method at most. A new algorithm is a row of methods.c, with its functions in a file of its
 * own. */
#ifndef TD_METHODS_H
#define TD_METHODS_H

#include "../cuda/device.h"
#include "../model/solve_model.h"
#include "../routine/decision.h"
#include "../routine/question.h"
#include "promised.h"

typedef struct td_method {
    const char *name;

    /* True of a routine's call, valid or not. */
    bool (*accepts)(const td_question *q);

    /* Why a valid call stays native all the same: a string that stays. NULL: no reason, as of a
     * method without the function. */
    const char *(*refusal)(const td_question *q);

    /* Runs all its calls, in the matrices' own arithmetic and in every mode but native; what
     * follows down to `run` is not asked then. NULL: the engine of a mode runs each. */
    const td_engine *engine;

    /* Terms of the longest sums, to which the bits of a mode are given; and the most bits that a
     * call can have, whatever the mode. */
    int64_t (*terms)(const td_question *q);
    double (*most_bits)(int64_t terms);

    bool has_fp64; /* mode fp64 makes the call where no other mode is faster */

    /* Seconds of every way, TD_MOST_WAYS elements, and how each cuts the call. */
    void (*predict)(const td_model *model, const td_question *q, td_way_forecast *by_way);

    /* Of one engine with one parameter alone, by the last of which the seconds of a mode by name
     * differ; td_engines[0] is native. Negative: nobody can say. */
    td_way_forecast (*predict_one)(const td_model *model, const td_question *q,
                                   const td_engine *engine, td_parameter parameter);

    /* Seconds of cuBLAS's products in place of its own routine (dgemm/engine.c) or of cuSOLVER's;
     * negative: that is no way. NULL: nor is it for any call. */
    double (*by_native_products)(const td_model *model, const td_question *q);

    /* The native call's own time is predicted no better than that of a device that was not
     * measured, where that way is beside it. */
    bool is_native_rough;

    /* The call takes as long for any numbers, and both its times are those of a table, so that
     * predictions are off by less. NULL: no call of the method does. */
    bool (*is_certain)(const td_question *q);

    /* Seconds of a call whose data turn out to be bad for the way of that number; and the products
     * that are probed then, which td_found_out_by_fp64 alone asks for. */
    double (*found_out)(const td_model *model, const td_question *q, const td_way_forecast *by_way,
                        int way);
    int64_t (*probed)(const td_question *q, td_solve_cut cut);

    /* Seconds of a call whose data turn out to be bad when all lines have been measured, 0 if that
     * is no question; NULL: nor is it for any call. */
    double (*found_late)(const td_model *model, const td_question *q,
                         const td_way_forecast *by_way);

    /* Bad data are so rare that what they cost does not count against the mode. */
    bool is_rarely_found_out;

    /* The product of real lines by which a mode's prices are set; false: none is large enough. */
    bool (*priced)(const td_question *q, td_solve_cut cut, td_real_product *product);

    /* True if cuBLAS's own routine can make the call once data are found to be bad. */
    bool has_branch;

    /* How a mode by name cuts the call; and for strategy reproducible, if residues are to make it,
     * by its sizes alone, and how. */
    td_solve_cut (*cut)(const td_question *q);
    bool (*is_large)(const td_question *q, td_solve_cut *cut); /* NULL: bits are cuSOLVER's */

    /* Enqueues the call as was decided; never waits. The rest as for td_engine_run. */
    td_run_status (*run)(const td_question *q, const td_decision *decision, td_device *device,
                         size_t workspace_limit, td_counters *counters);

    /* What the decision promises of every element, or of every residual. NULL: nothing. */
    td_promise (*promised)(const td_question *q, const td_decision *decision);

    /* The product whose elements TANDEM_VERIFY compares: the call's own or, where it measures
     * residuals, of the factors and what they were solved for. False, or NULL: none can be. */
    bool (*sample)(const td_question *q, td_product *product);
    bool has_residuals;

    /* Tiles of C in all products that are made in the decision's mode. NULL: none are counted. */
    int64_t (*tiles)(const td_question *q, const td_decision *decision);
} td_method;

extern const td_method td_method_product, td_method_solve, td_method_batched_lu, td_method_lu,
    td_method_cholesky, td_method_qr, td_method_q, td_method_solution, td_method_eigen;

/* Sizes of a product from which residues take no longer than binary64 on a device that is fast at
 * both, 2048 cubed on an H100: m, n and k each, and m n k. */
#define TD_LARGE_SIDE     512
#define TD_LARGE_PRODUCTS 0x1p33

/* True if residues take no longer than binary64 by that rule. */
bool td_is_large_product(const td_real_product *real);

/* Tiles of C of a product, in all members, and of one of real lines: of complex numbers those of
 * the real product that stands for theirs. */
int64_t td_tiles_of_product(const td_product *product);
int64_t td_tiles_of_real_product(const td_real_product *real);

/* A method's `predict_one` where a mode by name cuts the call as its way does. */
td_way_forecast td_predict_by_way(const td_model *model, const td_question *q,
                                  const td_engine *engine, td_parameter parameter);

/* A method's `found_out` where every product of the mode is probed, the largest of which is
 * `priced`, and mode fp64's sums make it. */
double td_found_out_by_fp64(const td_model *model, const td_question *q,
                            const td_way_forecast *by_way, int way);

/* A method's `cut` where panels are as they are in every mode. */
td_solve_cut td_no_cut(const td_question *q);

/* A method's `promised` and `sample` where residuals cannot be had from what a call leaves: no
 * bound is promised, and there is no product to sample. */
td_promise td_promised_nothing(const td_question *q, const td_decision *decision);
bool td_no_sample(const td_question *q, td_product *product);

/* Tiles of C of the products between blocks of a solve that is cut so. */
int64_t td_tiles_of_solve(const td_problem *p, td_solve_cut cut);

/* What the call asks for. *q is valid as long as *p is. */
void td_ask(td_entry entry, const td_problem *p, td_question *q);

/* What a part of a call asks for that is such a product. *part becomes the product's own call. */
void td_ask_product(td_entry entry, const td_product *product, td_problem *part, td_question *q);

/* What is promised of the call, as it was decided to be run. */
td_promise td_promised(const td_question *q, const td_decision *decision);

#endif
