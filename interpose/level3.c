/* level3.c - wrappers of level 3 routines with a handle that are products (lib/routine/lower.c), or
 * solutions of blocks and products (lib/engines/solve), for real and complex matrices. Each one
 * describes its arguments as a td_problem. */
#include "wrap.h"

#define HANDLE cublasHandle_t
#define WRAP   TD_WRAP
#include "by_handle.h"

#define LEVEL3(name, forms, shape, kind, types, family)                                            \
    DEFINE_##forms(shape, kind, cublas##name, types)
#include "../lib/routine/routines.def"
