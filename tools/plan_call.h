/* plan_call.h - the call that `tandem plan` is asked about: which routines it knows, what a command
 * line says of one, and what the model predicts. */
#ifndef TD_TOOLS_PLAN_CALL_H
#define TD_TOOLS_PLAN_CALL_H

#include "lib/engines/methods.h"
#include "lib/routine/routines.h"
#include "tools/command.h"

/* The options of `tandem plan`, and the most sizes of a routine. */
enum {
    PLAN_BATCH,
    PLAN_OP,
    PLAN_ACCURACY,
    PLAN_DEVICE,
    PLAN_WANTS_JSON,
    PLAN_ROUTINE,
    PLAN_SIDE,
    PLAN_WANTS_ROUTINES,
    PLAN_SIZES = 3
};

/* A routine as `tandem plan` names it: "dgemm". */
typedef struct {
    char text[16];
} plan_name;

/* A routine that can be planned. */
typedef struct {
    plan_name name;
    const td_routine *of;
    const td_kind_info *kind;
} plan_routine;

/* The routine of that number, from 0; false after the last one. */
bool plan_routine_at(int number, plan_routine *r);

/* The sizes that the routine takes, as arguments: "M N K". */
typedef struct {
    char text[2 * PLAN_SIZES];
} plan_sizes;
plan_sizes plan_sizes_of(const plan_routine *r);

/* True if calls of the routine can be a batch. */
bool plan_has_batches(const plan_routine *r);

/* The routine of that name; NULL: the first one. Complains, and returns false, if there is none. */
bool plan_find_routine(const char *name, plan_routine *found);

/* The call that the line describes. Complains, and returns false, if it describes none. */
bool plan_parse_problem(const command_line *line, const plan_routine *r, td_problem *called);

/* A way to make the call, and its predicted seconds; negative: nobody knows them. */
typedef struct {
    const td_way *way;
    double seconds;
} planned_way;

/* What is planned: a routine's call; the terms of its longest sums, to which bits are given; and
 * its ways, native first. */
typedef struct {
    const plan_routine *routine;
    td_question question;
    int64_t terms;
    planned_way ways[TD_MOST_WAYS + 1];
    int count;
} planned;

/* What the model predicts of a call. It is valid as long as *called is. */
planned plan_call(const plan_routine *r, const td_problem *called, const td_model *model);

/* False if there is no such Q, which is said. */
bool plan_is_there(const planned *of);

/* M, N and K as they were given; negative: the routine has no such size. */
void plan_given_sizes(const planned *of, int64_t sizes[PLAN_SIZES]);

/* The operations as --op takes them. */
void plan_print_ops(const planned *of, char text[3]);

/* Additions and multiplications of real numbers that the call stands for. */
double plan_operations(const planned *of);

#endif
