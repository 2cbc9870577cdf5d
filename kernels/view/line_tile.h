/* line_tile.h - tiles of an operand, some lines and some elements of k, on their way to shared
 * memory: by all threads, or in boxes. */
#ifndef TD_LINE_TILE_H
#define TD_LINE_TILE_H

#include "access.h"
#include "../device/async_copy.h"
#include "tma_view.h"

/* As rows of a box (tma_view.h), box after box. The eight pairs of elements of row i are swapped by
 * exclusive-or with i mod 8, so that neighbours across rows are in different banks. */
template <int line_count, int element_count, int thread_count> struct td_line_tile {
    enum {
        lines = line_count,
        elements = element_count,
        size = lines * elements,
        threads = thread_count,
        steps = size / threads /* copies of a thread */
    };

    /* Of an element; along: the operand stands along k. */
    template <bool along> static TD_INSIDE int place(int line, int l)
    {
        const unsigned row = (unsigned)(along ? line : l), column = (unsigned)(along ? l : line),
                       rows = along ? lines : elements;
        return (int)((column / TD_BOX * rows + row) * TD_BOX +
                     ((column % TD_BOX / 2 ^ row % 8) * 2 | column % 2));
    }
};

/* x, of which the compiler does not know that it is the same for tile after tile: else it keeps all
 * that follows from it. */
TD_DEVICE int td_fresh(int x)
{
#if TD_HAS_CUDA_DEVICE
    asm volatile("" : "+r"(x));
#endif
    return x;
}

/* Two elements of a row, the first one's place being even. */
struct alignas(16) td_pair_of_elements {
    uint64_t of[2];
};
TD_DEVICE td_pair_of_elements td_load_pair(const uint64_t *from)
{
    return *reinterpret_cast<const td_pair_of_elements *>(from);
}

/* Neighbouring threads read neighbouring memory. */
template <class tile, bool along>
TD_DEVICE void td_copy_tile_by(const td_view &o, const double *data, int line0, int64_t l0,
                               int64_t end, uint64_t *to)
{
    enum {
        INNER = along ? (int)tile::elements : (int)tile::lines,
        APART = tile::threads / INNER /* a power of two */
    };
    const int own = td_fresh((int)threadIdx.x), inner = own % INNER, outer = own / INNER;
    const int line = line0 + (along ? outer : inner);
    const int64_t l = l0 + (along ? inner : outer), step = APART * (along ? o.line_step : o.k_step);
    const double *from = data + td_view_at(o, line, l);
    const int first = along ? tile::template place<true>(outer, inner)
                            : tile::template place<false>(inner, outer);
    const auto later = [&](int s) { return to + (first ^ s * APART % 8 * 2) + s * APART * TD_BOX; };
    if (line0 + tile::lines <= o.lines && l0 + tile::elements <= end) {
        TD_UNROLL
        for (int s = 0; s < tile::steps; s++, from += step) td_async_copy<8>(later(s), from);
        return;
    }
    const int64_t own_end = along ? o.lines : end, first_own = along ? line : l;
    const int own_left = (along ? l < end : line < o.lines)
                             ? (int)min((int64_t)tile::size, max((int64_t)0, own_end - first_own))
                             : 0; /* rows of memory from the thread's first on */
    TD_UNROLL_N(4)
    for (int s = 0; s < tile::steps; s++, from += step) {
        const bool inside = s * APART < own_left;
        td_async_copy_inside<8>(later(s), inside ? from : data, inside);
    }
}

/* Starts the copies of elements l0 .. of lines line0 ..; zeros from element `end` on, and past the
 * last line. */
template <class tile>
TD_DEVICE void td_copy_line_tile(const td_view &o, const double *data, int line0, int64_t l0,
                                 int64_t end, uint64_t *to)
{
    if (o.k_step == 1)
        td_copy_tile_by<tile, true>(o, data, line0, l0, end, to);
    else
        td_copy_tile_by<tile, false>(o, data, line0, l0, end, to);
}

#if TD_HAS_CUDA_DEVICE

/* td_copy_line_tile by the tensor memory accelerator, of a tile of batch member `batch`. Called by
 * one thread, which arrives at the barrier `full`, as the copies do. */
template <class tile>
TD_DEVICE void td_copy_line_boxes(const td_view &o, const CUtensorMap *map, int batch, int line0,
                                  int l0, uint64_t *to, uint64_t *full)
{
    const int member = td_box_member(o, batch);
    td_barrier_expect(full, 8 * tile::size);
    if (o.k_step == 1) {
        TD_UNROLL
        for (int i = 0; i < tile::elements; i += TD_BOX)
            td_copy_box(to + i * tile::lines, map, full, l0 + i, line0, member, 0);
    } else {
        TD_UNROLL
        for (int i = 0; i < tile::lines; i += TD_BOX)
            td_copy_box(to + i * tile::elements, map, full, line0 + i, l0, member, 0);
    }
}

/* Describes boxes of op(A) and op(B) for `batch` members, up to element `end` of k. False if an
 * operand's elements cannot be copied in boxes. */
template <class tile>
static inline bool td_describe_line_boxes(td_view_boxes *boxes, const td_view *operands,
                                          int64_t end, int64_t batch_first, int batch)
{
    for (int i = 0; i < 2; i++) {
        const int rows = operands[i].k_step == 1 ? (int)tile::lines : (int)tile::elements;
        if (!td_describe_view(&boxes->of[i], operands[i], end, batch_first, batch, rows,
                              TD_BOX_USED_ONCE))
            return false;
    }
    return true;
}

#endif

#endif
