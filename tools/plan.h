/* plan.h - the routines that `tandem plan` knows, for the shells' completion. */
#ifndef TD_TOOLS_PLAN_H
#define TD_TOOLS_PLAN_H

/* The name of a routine, by its number from 0; NULL after the last one. */
const char *plan_routine_name(int number);

#endif
