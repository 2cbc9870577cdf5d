/* dmma.h - products of binary64 matrices by the tensor cores of sm_80 and later. Each element is a
 * chain of FMAs over ascending k. */
#ifndef TD_DMMA_H
#define TD_DMMA_H

#include "portable.h"

#if TD_HAS_CUDA_DEVICE

/* c += a b, 16 x 8 times 8 x 8. Of a, a lane has rows lane / 4 and that + 8 at k = lane % 4, then
 * the same at k + 4; of b, column lane / 4 at both; of c, columns 2 (lane % 4) and the next of row
 * lane / 4, then of that + 8. Products stay in the order in which they stand. */
TD_DEVICE void td_multiply64(double (&c)[4], const double (&a)[4], const double (&b)[2])
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    TD_UNROLL
    for (int q = 0; q < 4; q++) /* lower or upper rows, first or second half of k */
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, "
                     "{%0, %1};"
                     : "+d"(c[q % 2 * 2]), "+d"(c[q % 2 * 2 + 1])
                     : "d"(a[q]), "d"(b[q / 2]));
#endif
}

/* The same of half as many terms: 16 x 8 times 4 x 8. Of a, a lane has rows lane / 4 and that + 8
 * at k = lane % 4; of b, column lane / 4 there. */
TD_DEVICE void td_multiply64(double (&c)[4], const double (&a)[2], double b)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, "
                 "{%6}, {%0, %1, %2, %3};"
                 : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                 : "d"(a[0]), "d"(a[1]), "d"(b));
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    TD_UNROLL
    for (int q = 0; q < 2; q++) /* lower or upper rows */
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, "
                     "{%0, %1};"
                     : "+d"(c[q * 2]), "+d"(c[q * 2 + 1])
                     : "d"(a[q]), "d"(b));
#endif
}

#endif

#endif
