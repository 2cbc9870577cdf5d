#include "routines.h"

#include <stddef.h>
#include <string.h>

#define CAUSE_ROW(cause, text) text,
const char *const td_causes[TD_CAUSE_COUNT] = {TD_CAUSES(CAUSE_ROW)};

/* What the functions of a routine are called behind its name. */
static const char *const suffixes_blas[] = {"", "_v2", "_v2_64", NULL},
                         *const suffixes_v2[] = {"_v2", "_v2_64", NULL},
                         *const suffixes_scalars[] = {"", "_v2", NULL},
                         *const suffixes_sized[] = {"", "_64", NULL},
                         *const suffixes_alone[] = {"", NULL}, *const suffixes_dense[] = {"", NULL};

/* What stands before a routine's name. */
#define CUBLAS         "cublas"
#define CUSOLVER       "cusolverDn"
#define PREFIX_blas    CUBLAS
#define PREFIX_v2      CUBLAS
#define PREFIX_scalars CUBLAS
#define PREFIX_sized   CUBLAS
#define PREFIX_alone   CUBLAS
#define PREFIX_dense   CUSOLVER

const char *td_name_in_library(const char *function)
{
    static const char *const prefixes[] = {CUBLAS, CUSOLVER};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(function, prefixes[i], strlen(prefixes[i])) == 0)
            return function + strlen(prefixes[i]);
    return function;
}

/* Types of matrices, and whether a routine is Hermitian. */
#define TYPES_REAL32       TD_BINARY32, false
#define TYPES_REAL         TD_BINARY64, false
#define TYPES_COMPLEX32    TD_COMPLEX_BINARY32, false
#define TYPES_COMPLEX      TD_COMPLEX_BINARY64, false
#define TYPES_HERMITIAN    TD_COMPLEX_BINARY64, true
#define TYPES_HERMITIAN_K  TD_COMPLEX_BINARY64, true
#define TYPES_HERMITIAN_2K TD_COMPLEX_BINARY64, true
#define TYPES_ANY          TD_TYPE_COUNT, false

#define ROUTINE(name, forms, shape, kind, types, family)                                           \
    {PREFIX_##forms #name, suffixes_##forms, TD_CAUSE_COUNT, kind, TYPES_##types},
#define NATIVE(name, forms, cause)                                                                 \
    {PREFIX_##forms #name, suffixes_##forms, TD_CAUSE_##cause, TD_KIND_COUNT, TYPES_ANY},
const td_routine td_routines[TD_ROUTINE_COUNT] = {
#include "routines.def"
};
