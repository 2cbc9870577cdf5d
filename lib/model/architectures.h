/* architectures.h - what a compute capability has (architectures.def). Pure: no CUDA calls. */
#ifndef TD_ARCHITECTURES_H
#define TD_ARCHITECTURES_H

#include <stdbool.h>

typedef struct {
    int capability; /* 10 major + minor */
    double fp32, fp64, matrix64, int8, share;
    int kibibytes;
    bool has_tma, has_wgmma;
} td_architecture;

/* The row of a capability: the last that it is not below, or the first. */
const td_architecture *td_architecture_of(int capability);

#endif
