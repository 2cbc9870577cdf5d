/* wgmma.h - the instructions of sm_90a that int8_wgmma_sm90a.cu is made of: products of a
 * warpgroup, and
 * who goes on when. Copies are ../device/tma_copy.h's. (PTX ISA 8.0: wgmma, setmaxnreg, bar.) */
#ifndef TD_WGMMA_H
#define TD_WGMMA_H

#include "../device/tma_copy.h"

/* Named barriers of two teams with so many threads in all, of which one goes on at once. */
template <int threads> TD_DEVICE void td_turn_wait(int name)
{
    asm volatile("bar.sync %0, %1;" ::"r"(name), "n"(threads) : "memory");
}
template <int threads> TD_DEVICE void td_turn_pass(int name)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(name), "n"(threads) : "memory");
}

/* ---- products ---- */

/* Descriptor of lines of 128 bytes whose eight chunks of 16 are swapped as the copies do it.
 * `address` is that of shared memory, 1024-byte aligned. 32 bytes further along the lines add 2
 * to the descriptor. */
TD_DEVICE uint64_t td_panel_descriptor(uint32_t address)
{
    const uint64_t swizzle_128 = 1ull << 62, next_8_lines = (1024ull >> 4) << 32,
                   unused = 1ull << 16;
    return swizzle_128 | next_8_lines | unused | (address & 0x3ffff) >> 4;
}

TD_DEVICE void td_products_start() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
TD_DEVICE void td_products_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* Waits until no more than the last `groups` groups of products are under way. */
template <int groups> TD_DEVICE void td_products_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(groups) : "memory");
}

/* Raises or lowers the number of registers of each thread of a warpgroup to `count`. */
template <int count> TD_DEVICE void td_registers_more()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count> TD_DEVICE void td_registers_less()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}

/* clang-format off */
#define TD_REGISTERS_8(bind, d, i) \
    bind(d[i]), bind(d[i + 1]), bind(d[i + 2]), bind(d[i + 3]), \
    bind(d[i + 4]), bind(d[i + 5]), bind(d[i + 6]), bind(d[i + 7])
#define TD_REGISTERS_32(bind, d, i) \
    TD_REGISTERS_8(bind, d, i), TD_REGISTERS_8(bind, d, i + 8), \
    TD_REGISTERS_8(bind, d, i + 16), TD_REGISTERS_8(bind, d, i + 24)
#define TD_REGISTERS_64(bind, d) TD_REGISTERS_32(bind, d, 0), TD_REGISTERS_32(bind, d, 32)
#define TD_REGISTERS_96(bind, d) TD_REGISTERS_64(bind, d), TD_REGISTERS_32(bind, d, 64)
#define TD_ADDED(x) "+r"(x)
#define TD_SET(x) "=r"(x)
#define TD_OPERANDS_64 \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define TD_OPERANDS_96 \
    TD_OPERANDS_64 ", " \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
/* clang-format on */

#define TD_WGMMA(lines, sums, bind, descriptor_x, descriptor_y, add)                               \
    asm volatile("wgmma.mma_async.sync.aligned.m64n" #lines "k32.s32.s8.s8 {" sums                 \
                 "}, " descriptor_x ", " descriptor_y ", " #add ";"                                \
                 : bind                                                                            \
                 : "l"(x), "l"(y))

/* d (+)= 64 x 32 bytes times 32 x 2 count bytes. d[4 j + 2 h + e] belongs to line 16 warp + lane /
 * 4 + 8 h of x and 8 j + 2 (lane % 4) + e of y. */
template <bool add> TD_DEVICE void td_products(int32_t (&d)[64], uint64_t x, uint64_t y)
{
    if constexpr (add)
        TD_WGMMA(128, TD_OPERANDS_64, TD_REGISTERS_64(TD_ADDED, d), "%64", "%65", 1);
    else
        TD_WGMMA(128, TD_OPERANDS_64, TD_REGISTERS_64(TD_SET, d), "%64", "%65", 0);
}

template <bool add> TD_DEVICE void td_products(int32_t (&d)[96], uint64_t x, uint64_t y)
{
    if constexpr (add)
        TD_WGMMA(192, TD_OPERANDS_96, TD_REGISTERS_96(TD_ADDED, d), "%96", "%97", 1);
    else
        TD_WGMMA(192, TD_OPERANDS_96, TD_REGISTERS_96(TD_SET, d), "%96", "%97", 0);
}

#endif
