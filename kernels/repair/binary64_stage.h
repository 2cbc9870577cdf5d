/* binary64_stage.h - stages of shared memory with elements of both operands of a tile, which are
 * filled in steps along k: by all threads (binary64.cu), or in boxes (binary64_tma.cu). */
#ifndef TD_BINARY64_STAGE_H
#define TD_BINARY64_STAGE_H

#include "../view/access.h"
#include "../device/copy_ring.h"
#include "../view/tma_view.h"
#include "binary64.h"

/* A block makes ROWS x COLUMNS elements of C, a warp WARP_ROWS x WARP_COLUMNS; a stage in shared
 * memory has K_STEP elements of k of both operands. */
enum {
    ROWS = 2 * TD_TILE,
    COLUMNS = TD_TILE,
    WARP_ROWS = 32,
    WARP_COLUMNS = 32,
    WARP = 32,
    WARPS = ROWS / WARP_ROWS * (COLUMNS / WARP_COLUMNS),
    THREADS = WARP * WARPS,
    K_STEP = 16,
    SLAB = ROWS * K_STEP, /* where columns begin */
    STAGE = SLAB + COLUMNS * K_STEP,
    STAGE_BYTES = 8 * STAGE
};

#if TD_HAS_CUDA_DEVICE && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800)
#define TD_HAS_TENSOR_BINARY64 1
#else
#define TD_HAS_TENSOR_BINARY64 0
#endif

/* Returns the bytes of shared memory for a ring of stages, which begins at td_first_box. */
TD_HOST_DEVICE constexpr int bytes_of_stages(int stages)
{
    return stages * STAGE_BYTES + TD_BOX_ALIGNMENT;
}

/* ---- places ---- */

/* A place in shared memory, as the instructions have it, and the one so many numbers further. */
#if TD_HAS_TENSOR_BINARY64
typedef uint32_t shared_place;
TD_DEVICE shared_place place_in_shared(const double *at) { return td_shared_address(at); }
TD_DEVICE shared_place further(shared_place at, int numbers) { return at + 8 * numbers; }
#else
typedef double *shared_place;
TD_DEVICE shared_place place_in_shared(double *at) { return at; }
TD_DEVICE shared_place further(shared_place at, int numbers) { return at + numbers; }
#endif

/* Rows of a slab are 16 elements, as many as there are banks: of k of a line, if the operand stands
 * along k; else of 16 lines at one k, whose other rows follow. The eight chunks of two elements of
 * row i are swapped by exclusive-or with i mod 8. */
TD_HOST_DEVICE int element_in_slab(bool along, int line, int l)
{
    const int row = along ? line : line / 16 * 16 + l, column = along ? l : line % 16;
    return row * 16 + ((column / 2 ^ row % 8) * 2 | column % 2);
}

/* The first elements of k of 16 lines are for 8 lanes n at four of k, and again, `second`, for
 * their next ones: such that half of these lanes, who load together, find theirs in different
 * banks. */
TD_HOST_DEVICE int line_of_lane(bool along, int n, bool second)
{
    return along ? n % 4 * 2 + n / 4 + 8 * second
                 : n % 2 + 2 * (n / 4 + 2 * second + n / 2 % 2 * 4);
}

/* From a lane's first element of a warp's lines, at k = 0 .. 3, to that of lines 16 unit and so on,
 * at k + 4 quarter. */
TD_HOST_DEVICE int later_element(bool along, int first, int unit, bool second, int quarter)
{
    return along ? (first ^ quarter * 4) + (unit * 16 + second * 8) * 16
                 : (first ^ second * 4 ^ quarter % 2 * 8) + (unit * 16 + quarter * 4) * 16;
}

/* ---- the way through k ---- */

/* The operands of a tile: their matrices, and the first lines. */
struct tile_operands {
    const td_view &a, &b;
    const double *matrix_a, *matrix_b;
    int row, column;

    TD_INSIDE const double *first_a() const { return matrix_a + td_view_at(a, row, 0); }
    TD_INSIDE const double *first_b() const { return matrix_b + td_view_at(b, column, 0); }
};

enum { PARTS = 4 }; /* in which a step's copies are started, while products run */

/* A block's way through k for a tile: `steps` steps of `elements` elements of k, which are K_STEP,
 * or half as many where blocks of k have no more. All threads call start() first and end() last,
 * fill(step, part) for all parts, and steps that may be past the last, and release(step) when they
 * have read a step's elements.
 *
 * What derives from it says who copies. It has EXISTS, 0 in code for devices without such copies;
 * `parameter`, what the host prepares for it; and `single`, the passage of a block that makes tiles
 * alone, where the derived one is for BLOCKS blocks that make tiles side by side. */
template <int stages, bool along_a, bool along_b> struct passage {
    enum { STAGES = stages, ALONG_A = along_a, ALONG_B = along_b, BLOCKS = 1 };
    td_copy_ring &ring;
    double *slabs;
    int elements;
    uint32_t steps;

    TD_INSIDE passage(td_copy_ring &own_ring, double *own_slabs, int64_t k)
        : ring(own_ring), slabs(own_slabs)
    {
        elements = min(td_binary64_block(k), (int)K_STEP);
        steps = (uint32_t)((k + elements - 1) / elements);
    }

    TD_INSIDE double *stage(uint32_t step) const { return slabs + (int)(step % stages) * STAGE; }
    TD_INSIDE void end() { td_ring_end<stages>(ring); }
    TD_INSIDE void release(uint32_t step) { td_ring_release<stages>(ring, step); }
};

#endif
