/* nvblas.h - `tandem run --nvblas`: programs that call the BLAS of the CPU get NVBLAS in front of
 * it, and so Tandem behind cublasXt (docs/nvblas.md). */
#ifndef TD_TOOLS_NVBLAS_H
#define TD_TOOLS_NVBLAS_H

#include <stdbool.h>

/* To be called once LD_PRELOAD has Tandem: adds NVBLAS, and names its configuration file, which
 * NVBLAS does nothing without, in NVBLAS_CONFIG_FILE. The file is written anew in the user's cache
 * folder unless that variable is set, or this folder has an nvblas.conf. False, after a line that
 * says why, if there is no NVBLAS, no BLAS behind it, or no place for the file. */
bool nvblas_prepare(void);

#endif
