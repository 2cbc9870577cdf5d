#include "routines.h"

#include <stddef.h>

#define CAUSE_ROW(cause, text) text,
const char *const td_causes[TD_CAUSE_COUNT] = {TD_CAUSES(CAUSE_ROW)};

#define FORMS_ROW(forms, ...) static const char *const suffixes_##forms[] = {__VA_ARGS__, NULL};
TD_FORMS(FORMS_ROW)

#define ROUTINE_ROW(routine, forms, cause) {#routine, suffixes_##forms, TD_CAUSE_##cause},
const td_routine td_routines[] = {TD_ROUTINES(ROUTINE_ROW)};
const int td_routine_count = sizeof td_routines / sizeof *td_routines;
