/* plan.h - the routines that `tandem plan` knows, for the shells' completion. */
#ifndef TD_TOOLS_PLAN_H
#define TD_TOOLS_PLAN_H

/* A routine as `tandem plan` names it: "dgemm". */
typedef struct {
    char text[16];
} plan_name;

/* That of a routine, by its number from 0; empty after the last one. */
plan_name plan_routine_name(int number);

#endif
