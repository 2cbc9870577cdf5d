/* level3.c - wrappers of level 3 routines with a handle that are products (lib/call/lower.c), or
 * solutions of blocks and products (lib/engines/solve), for real and complex matrices. Each one
 * describes its arguments as a td_problem; the forms with 32-bit and 64-bit sizes differ in a type
 * alone. */
#include "wrap.h"

#define HANDLE cublasHandle_t
#define WRAP   TD_WRAP
#include "level3.h"

#define OF_BOTH_SIZES(DEFINE, function, ...)                                                       \
    DEFINE(function, int, __VA_ARGS__)                                                             \
    DEFINE(function##_64, int64_t, __VA_ARGS__)

OF_BOTH_SIZES(DEFINE_SYMM, cublasDsymm_v2, double, TD_BINARY64, false)
OF_BOTH_SIZES(DEFINE_SYMM, cublasZsymm_v2, cuDoubleComplex, TD_COMPLEX_BINARY64, false)
OF_BOTH_SIZES(DEFINE_SYMM, cublasZhemm_v2, cuDoubleComplex, TD_COMPLEX_BINARY64, true)

OF_BOTH_SIZES(DEFINE_SYRK, cublasDsyrk_v2, double, double, TD_BINARY64, false)
OF_BOTH_SIZES(DEFINE_SYRK, cublasZsyrk_v2, cuDoubleComplex, cuDoubleComplex, TD_COMPLEX_BINARY64,
              false)
OF_BOTH_SIZES(DEFINE_SYRK, cublasZherk_v2, cuDoubleComplex, double, TD_COMPLEX_BINARY64, true)

OF_BOTH_SIZES(DEFINE_SYR2K, cublasDsyrkx, TD_RANK_KX, double, double, TD_BINARY64, false)
OF_BOTH_SIZES(DEFINE_SYR2K, cublasZsyrkx, TD_RANK_KX, cuDoubleComplex, cuDoubleComplex,
              TD_COMPLEX_BINARY64, false)
OF_BOTH_SIZES(DEFINE_SYR2K, cublasZherkx, TD_RANK_KX, cuDoubleComplex, double, TD_COMPLEX_BINARY64,
              true)

OF_BOTH_SIZES(DEFINE_SYR2K, cublasDsyr2k_v2, TD_RANK_2K, double, double, TD_BINARY64, false)
OF_BOTH_SIZES(DEFINE_SYR2K, cublasZsyr2k_v2, TD_RANK_2K, cuDoubleComplex, cuDoubleComplex,
              TD_COMPLEX_BINARY64, false)
OF_BOTH_SIZES(DEFINE_SYR2K, cublasZher2k_v2, TD_RANK_2K, cuDoubleComplex, double,
              TD_COMPLEX_BINARY64, true)

OF_BOTH_SIZES(DEFINE_TRMM, cublasDtrmm_v2, double, TD_BINARY64)
OF_BOTH_SIZES(DEFINE_TRMM, cublasZtrmm_v2, cuDoubleComplex, TD_COMPLEX_BINARY64)

OF_BOTH_SIZES(DEFINE_TRSM, cublasDtrsm_v2, double, TD_BINARY64)
OF_BOTH_SIZES(DEFINE_TRSM, cublasZtrsm_v2, cuDoubleComplex, TD_COMPLEX_BINARY64)
