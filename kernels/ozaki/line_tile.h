/* line_tile.h - tiles of an operand, some lines and some elements of k, on their way to shared memory. */
#ifndef TD_LINE_TILE_H
#define TD_LINE_TILE_H

#include "../access.h"
#include "../async_copy.h"

/* Lines begin `pitch` elements from each other. */
template <int line_count, int element_count, int line_pitch, int thread_count> struct td_line_tile {
    enum {
        lines = line_count,
        elements = element_count,
        pitch = line_pitch,
        threads = thread_count,
        steps = lines * elements / threads /* copies of a thread */
    };
};

/* Neighbouring threads read neighbouring memory. */
template <class tile, bool along>
TD_DEVICE void td_copy_tile_by(const td_operand &o, const double *data, int line0, int64_t l0,
                               int64_t end, uint64_t *to)
{
    enum {
        INNER = along ? (int)tile::elements : (int)tile::lines,
        APART = tile::threads / INNER,
        TO_APART = along ? APART * tile::pitch : APART
    };
    const int inner = (int)threadIdx.x % INNER, outer = (int)threadIdx.x / INNER;
    const int line = line0 + (along ? outer : inner);
    const int64_t l = l0 + (along ? inner : outer), step = APART * (along ? o.line_step : o.k_step);
    const double *from = data + td_operand_at(o, line, l);
    to += along ? outer * tile::pitch + inner : inner * tile::pitch + outer;
    if (line0 + tile::lines <= o.lines && l0 + tile::elements <= end) {
        TD_UNROLL
        for (int s = 0; s < tile::steps; s++, from += step)
            td_async_copy<8>(to + s * TO_APART, from);
        return;
    }
    TD_UNROLL_N(1)
    for (int s = 0; s < tile::steps; s++) {
        const bool inside =
            along ? line + s * APART < o.lines && l < end : line < o.lines && l + s * APART < end;
        td_async_copy_inside<8>(to + s * TO_APART, inside ? from + s * step : data, inside);
    }
}

/* Starts the copies of elements l0 .. of lines line0 ..; zeros from element `end` on, and past the last line. */
template <class tile>
TD_DEVICE void td_copy_line_tile(const td_operand &o, const double *data, int line0, int64_t l0,
                                 int64_t end, uint64_t *to)
{
    if (o.k_step == 1)
        td_copy_tile_by<tile, true>(o, data, line0, l0, end, to);
    else
        td_copy_tile_by<tile, false>(o, data, line0, l0, end, to);
}

#endif
