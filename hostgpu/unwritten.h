/* unwritten.h - what memory holds that nobody has written: device memory, shared memory and the
 * stacks of CUDA threads. HOSTGPU_UNWRITTEN is a seed that draws it. */
#ifndef HOSTGPU_UNWRITTEN_H
#define HOSTGPU_UNWRITTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes the bytes what nobody has written: the same ones for the same seed and number of bytes.
 * With seed 0 words of 64 bits that are NaN, and no two alike. */
void hostgpu_unset(void *memory, size_t bytes);

/* True with a seed other than 0: what is given back is unset, too, and so are stacks. */
bool hostgpu_draws_unwritten(void);

/* ---- for tests ---- */

/* From now on this seed draws, as HOSTGPU_UNWRITTEN does. */
void hostgpu_draw_unwritten(uint64_t seed);

/* Makes all memory that is allocated from pools what nobody has written: for a program in whose
 * pools nothing lies that anybody is to read again. */
void hostgpu_unset_pools(void);

#endif
