/* embedding.h - products of real or complex matrices by the tensor cores for binary64. There a
 * complex matrix L stands as a real one of twice as many columns, which is how its rows lie in
 * memory, and U as one of twice as many rows and columns: for one element of each
 *
 *     [re im] of L  times  [ re  im ] of U
 *                          [-im  re ]
 *
 * Each part of C - L U is so a chain that meets L's real part first, as that of td_minus does. */
#ifndef TD_EMBEDDING_H
#define TD_EMBEDDING_H

#include "../batched_lu/number.h"
#include "../device/dmma.h"

#if TD_HAS_CUDA_DEVICE

template <class number> struct td_embedded {
    enum {
        PARTS = td_parts_of<number>(),
        COLUMNS = 8 / PARTS /* of L that a td_multiply64 takes: half, and then as many again */
    };
};

/* The column of L, and the row of U, of which a lane has a part in the first half of those. */
template <class number> TD_DEVICE int td_embedded_column()
{
    return (int)threadIdx.x % 4 / td_embedded<number>::PARTS;
}

/* The part of an element of L that a lane has. */
template <class number> TD_DEVICE double td_embedded_left(const number *l)
{
    return reinterpret_cast<const double *>(l)[(int)threadIdx.x % td_embedded<number>::PARTS];
}

/* Where in a row of U, from its tile of eight real numbers on, a lane's element is. */
template <class number> TD_DEVICE int td_embedded_place()
{
    return (int)threadIdx.x % 32 / 4 ^ (int)threadIdx.x % td_embedded<number>::PARTS;
}

/* The lane's element of the embedded -U. */
template <class number> TD_DEVICE double td_minus_right(double u)
{
    if constexpr (td_is_complex<number>::value) {
        const int sign = (threadIdx.x & 5) == 1 ? 0 : INT_MIN;
        return __hiloint2double(__double2hiint(u) ^ sign, __double2loint(u));
    } else {
        return -u;
    }
}

#endif

#endif
