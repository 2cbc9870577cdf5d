/* split_mma.h - residues of a run of a line by a warp. The tensor cores multiply the bytes of
 * numbers by those of powers of two modulo p: what they add up is short, and becomes a centred
 * residue by two operations. For split.cu. */
#ifndef TD_SPLIT_MMA_H
#define TD_SPLIT_MMA_H

#include "../view/access.h"
#include "pieces.h"

TD_LANE_CONSTANT(td_residue_weights, td_weights, td_make_residue_weights());

/* Lane 4 g + q makes residues modulo two of the first 16 moduli, g and g + 8, of sixteen elements
 * of a run, from 16 q on; and modulo one of the others, of which there are four at most, of eight,
 * from 16 q + 8 (g / 4) on. Blocks have WARPS warps. */
enum { RUN = 64, LANE_ROWS = 2, LANES = 4, WARPS = 4, FIRST_MODULI = 16, OTHER_MODULI = 4 };
static_assert((int)TD_MAX_MODULI <= (int)FIRST_MODULI + (int)OTHER_MODULI, "all moduli");

/* The pieces of elements 2 lane and 2 lane + 1 of a run. In late lanes of operands that do not
 * stand along k, the second element comes first. */
template <int pieces> struct lane_numbers {
    uint32_t of[2][pieces];
};
template <bool along> TD_DEVICE int is_late(int lane) { return along ? 0 : lane / LANES % 2; }

TD_DEVICE const td_byte_weights &weights_of(int which, int moduli, int t)
{
    const int own = min(t, TD_MAX_MODULI - 1);
    return which ? td_weights.b[own] : td_weights.a[moduli][own];
}

#if TD_HAS_CUDA_DEVICE

/* The tensor cores' operands: in a product, k belongs to four lanes, but the weights of all but one
 * of these are zeros. */
template <int pieces> struct lane_moduli {
    uint32_t weights[LANES][pieces][LANE_ROWS], start[2 * LANE_ROWS], minus_p[LANE_ROWS];
    float inverse[LANE_ROWS];
};

/* The tensor cores' operands for a lane's modulus among the 17th to the 20th. A product's rows
 * are four moduli for one of the four lanes after the other; the weights of the other lanes are
 * zeros. */
template <int pieces> struct lane_modulus {
    uint32_t weights[pieces][LANE_ROWS], start[2 * LANE_ROWS], minus_p;
    float inverse;
};

/* A number that the compiler neither copies nor makes anew: the tensor cores take registers that
 * are next to each other. */
TD_DEVICE uint32_t load_operand(const uint32_t &from)
{
    uint32_t number;
    asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(number) : "l"(&from));
    return number;
}

template <int pieces> TD_DEVICE void find_moduli(lane_moduli<pieces> &own, int which, int moduli)
{
    const int lane = (int)(threadIdx.x % 32);
    TD_UNROLL
    for (int i = 0; i < LANE_ROWS; i++) {
        const td_byte_weights &row = weights_of(which, moduli, lane / LANES + 8 * i);
        TD_UNROLL
        for (int j = 0; j < LANES; j++) {
            const td_byte_weights &from = lane % LANES == j ? row : td_weights.zeros;
            TD_UNROLL
            for (int w = 0; w < pieces; w++) own.weights[j][w][i] = load_operand(from.piece[w]);
        }
        TD_UNROLL
        for (int e = 0; e < 2; e++)
            own.start[2 * i + e] = load_operand(row.start[pieces - TD_SHORT_PIECES][e]);
        own.minus_p[i] = row.minus_p;
        own.inverse[i] = row.inverse;
    }
}

template <int pieces> TD_DEVICE void find_modulus(lane_modulus<pieces> &own, int which, int moduli)
{
    const int lane = (int)(threadIdx.x % 32);
    const td_byte_weights &row =
        weights_of(which, moduli, FIRST_MODULI + lane / LANES % OTHER_MODULI);
    TD_UNROLL
    for (int i = 0; i < LANE_ROWS; i++) {
        const bool counts = lane % LANES == lane / LANES / OTHER_MODULI + 2 * i;
        const td_byte_weights &from = counts ? row : td_weights.zeros;
        TD_UNROLL
        for (int w = 0; w < pieces; w++) own.weights[w][i] = load_operand(from.piece[w]);
    }
    TD_UNROLL
    for (int e = 0; e < 2 * LANE_ROWS; e++)
        own.start[e] = load_operand(row.start[pieces - TD_SHORT_PIECES][e % 2]);
    own.minus_p = row.minus_p;
    own.inverse = row.inverse;
}

/* The tensor cores see the numbers of all lanes. */
template <int pieces> TD_DEVICE const lane_numbers<pieces> *share(const lane_numbers<pieces> &own)
{
    return &own;
}

/* sum = start + 16 x 32 bytes times 32 x 8 bytes; x and y are the first half of k, x2 and y2 the
 * second. */
TD_DEVICE void multiply_bytes(const uint32_t (&x)[2], const uint32_t (&x2)[2], uint32_t y,
                              uint32_t y2, const uint32_t (&start)[4], uint32_t (&sum)[4])
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%10, %11, %12, %13};"
        : "=r"(sum[0]), "=r"(sum[1]), "=r"(sum[2]), "=r"(sum[3])
        : "r"(x[0]), "r"(x[1]), "r"(x2[0]), "r"(x2[1]), "r"(y), "r"(y2), "r"(start[0]),
          "r"(start[1]), "r"(start[2]), "r"(start[3]));
#elif defined(__CUDA_ARCH__)
    TD_UNROLL
    for (int i = 0; i < 4; i += 2) {
        asm("mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32 {%0, %1}, {%2}, {%3}, {%4, %5};"
            : "=r"(sum[i]), "=r"(sum[i + 1])
            : "r"(x[i / 2]), "r"(y), "r"(start[i]), "r"(start[i + 1]));
        asm("mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+r"(sum[i]), "+r"(sum[i + 1])
            : "r"(x2[i / 2]), "r"(y2));
    }
#endif
}

/* Sums for both rows of a product, two elements each. */
template <int pieces>
TD_DEVICE void add_pieces(const uint32_t (&weights)[pieces][LANE_ROWS], const uint32_t (&start)[4],
                          const uint32_t (&piece)[pieces], uint32_t (&sum)[4])
{
    multiply_bytes(weights[0], weights[1], piece[0], piece[1], start, sum);
    if constexpr (pieces == TD_LONG_PIECES) {
        const uint32_t first[4] = {sum[0], sum[1], sum[2], sum[3]};
        multiply_bytes(weights[2], {0, 0}, piece[2], 0, first, sum);
    }
}

/* Multiplies `half` 0 or 1 of the elements that lanes 8 q + j and 8 q + 4 + j hold. */
template <int pieces>
TD_DEVICE void add_bytes(const lane_moduli<pieces> &own, const lane_numbers<pieces> *numbers, int j,
                         int half, uint32_t (&sum)[4])
{
    add_pieces<pieces>(own.weights[j], own.start, numbers->of[half], sum);
}

/* Multiplies one half of the elements that lanes 8 q + g / 4 and 8 q + 4 + g / 4, and the two
 * lanes two further, hold. */
template <int pieces>
TD_DEVICE void add_other_bytes(const lane_modulus<pieces> &own, const lane_numbers<pieces> *numbers,
                               int half, uint32_t (&sum)[4])
{
    add_pieces<pieces>(own.weights, own.start, numbers->of[half], sum);
}

#else

template <int pieces> struct lane_moduli {
    uint32_t weights[pieces][LANE_ROWS], start[LANE_ROWS], minus_p[LANE_ROWS];
    float inverse[LANE_ROWS];
};
template <int pieces> struct lane_modulus {
    uint32_t weights[pieces], start, minus_p;
    float inverse;
};

template <int pieces> TD_DEVICE void find_moduli(lane_moduli<pieces> &own, int which, int moduli)
{
    for (int i = 0; i < LANE_ROWS; i++) {
        const td_byte_weights &row =
            weights_of(which, moduli, (int)(threadIdx.x % 32) / LANES + 8 * i);
        for (int w = 0; w < pieces; w++) own.weights[w][i] = row.piece[w];
        own.start[i] = row.start[pieces - TD_SHORT_PIECES][0];
        own.minus_p[i] = row.minus_p;
        own.inverse[i] = row.inverse;
    }
}

template <int pieces> TD_DEVICE void find_modulus(lane_modulus<pieces> &own, int which, int moduli)
{
    const td_byte_weights &row =
        weights_of(which, moduli, FIRST_MODULI + (int)(threadIdx.x % 32) / LANES % OTHER_MODULI);
    for (int w = 0; w < pieces; w++) own.weights[w] = row.piece[w];
    own.start = row.start[pieces - TD_SHORT_PIECES][0];
    own.minus_p = row.minus_p;
    own.inverse = row.inverse;
}

template <int pieces> TD_DEVICE const lane_numbers<pieces> *share(const lane_numbers<pieces> &own)
{
    TD_SHARED(lane_numbers<pieces>, all, [WARPS][32]);
    __syncwarp(); /* the last ones are used */
    all[threadIdx.x / 32][threadIdx.x % 32] = own;
    __syncwarp();
    return all[threadIdx.x / 32];
}

template <int pieces>
TD_DEVICE void add_bytes(const lane_moduli<pieces> &own, const lane_numbers<pieces> *numbers, int j,
                         int half, uint32_t (&sum)[4])
{
    for (int i = 0; i < 4; i++) {
        const lane_numbers<pieces> &from = numbers[8 * (threadIdx.x % LANES) + 4 * (i % 2) + j];
        sum[i] = own.start[i / 2];
        for (int w = 0; w < pieces; w++)
            sum[i] = __dp4a(from.of[half][w], own.weights[w][i / 2], sum[i]);
    }
}

template <int pieces>
TD_DEVICE void add_other_bytes(const lane_modulus<pieces> &own, const lane_numbers<pieces> *numbers,
                               int half, uint32_t (&sum)[4])
{
    const int lane = (int)(threadIdx.x % 32), j = lane / LANES / OTHER_MODULI;
    for (int i = 0; i < 4; i++) {
        const lane_numbers<pieces> &from =
            numbers[8 * (lane % LANES) + 4 * (i % 2) + j + i / 2 * 2];
        sum[i] = own.start;
        for (int w = 0; w < pieces; w++) sum[i] = __dp4a(from.of[half][w], own.weights[w], sum[i]);
    }
}

#endif

/* Returns the residues of sixteen elements modulo the lane's moduli: word w holds the elements
 * of lanes 8 q + 2 w and 8 q + 2 w + 1. */
typedef td_quad<uint32_t> lane_residues[LANE_ROWS];

template <int pieces, bool along>
TD_DEVICE void find_residues(const lane_moduli<pieces> &own, const lane_numbers<pieces> *numbers,
                             lane_residues &residues)
{
    TD_UNROLL
    for (int w = 0; w < 2; w++) {
        uint32_t sum[4][4]; /* two lanes' two halves */
        TD_UNROLL
        for (int e = 0; e < 4; e++) add_bytes<pieces>(own, numbers, 2 * w + e / 2, e % 2, sum[e]);
        TD_UNROLL
        for (int i = 0; i < 2 * LANE_ROWS; i++) {
            uint32_t r[4];
            TD_UNROLL
            for (int e = 0; e < 4; e++) /* column i % 2 is late lanes' */
                r[e] = td_residue_of(sum[along ? e : e ^ i % 2][i], own.inverse[i / 2],
                                     own.minus_p[i / 2]);
            residues[i / 2].of[w + i % 2 * 2] = td_lowest_bytes(r);
        }
    }
}

/* Returns the residues of eight elements modulo the lane's modulus among the 17th to the 20th.
 * The lane computes four pairs, every second one of the sixteen elements from 16 q on. It gives
 * the pairs that belong to the other half to the lane that computes the pairs between, and gets
 * that lane's pairs of its own half. Whole warps take part. */
template <int pieces, bool along>
TD_DEVICE uint2 find_other_residues(const lane_modulus<pieces> &own,
                                    const lane_numbers<pieces> *numbers)
{
    const bool is_upper = threadIdx.x / (LANES * OTHER_MODULI) % 2 != 0;
    uint32_t sum[2][4], half[2];
    TD_UNROLL
    for (int e = 0; e < 2; e++) add_other_bytes<pieces>(own, numbers, e, sum[e]);
    TD_UNROLL
    for (int c = 0; c < 2; c++) {
        uint32_t r[4];
        TD_UNROLL
        for (int e = 0; e < 4; e++) /* column 1 is late lanes' */
            r[e] = td_residue_of(sum[along ? e % 2 : (e ^ c) % 2][c + e / 2 * 2], own.inverse,
                                 own.minus_p);
        half[c] = td_lowest_bytes(r);
    }
    const uint32_t given = __shfl_xor_sync(0xffffffffu, is_upper ? half[0] : half[1],
                                           LANES * OTHER_MODULI),
                   even = is_upper ? given : half[0], odd = is_upper ? half[1] : given;
    return make_uint2(__byte_perm(even, odd, 0x5410), __byte_perm(even, odd, 0x7632));
}

#endif
