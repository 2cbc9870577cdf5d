/* ceiling.h - how many instructions a second the current device executes when nothing holds it
 * up. */
#ifndef BENCH_CEILING_H
#define BENCH_CEILING_H

#ifdef __cplusplus
extern "C" {
#endif

/* Rate of a loop of independent fused multiply-adds on every lane, in instructions a second (a
 * multiply-add is one). 0 if the loop cannot be run. */
double ceiling_binary32(void);
double ceiling_binary64(void);

/* Operations a second, a multiply-accumulate being two, of a loop of the tensor cores' int8
 * products for a warp (mma.sync), operands in registers. 0 on the host device. */
double ceiling_int8_warps(void);

#ifdef __cplusplus
}
#endif

#endif
