/* bound.h - how many bound calls there are (originals.h); for C and for the assembler. */
#ifndef TD_BOUND_H
#define TD_BOUND_H

#define TD_MOST_LIBRARIES 8   /* cuBLAS libraries that one process may use */
#define TD_BOUND_STRIDE   256 /* numbers for the functions of each */
#define TD_BOUND_BYTES    16  /* from one entrance to the next */

#endif
