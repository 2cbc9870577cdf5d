/* probed_lines.h - which lines of an operand a probe looks at (kernels/select/probe.h). */
#ifndef PROBED_LINES_H
#define PROBED_LINES_H

#include <stdbool.h>
#include <stdint.h>

/* The line with which a group begins: in one of equal parts of the operand, by a hash. */
static inline int64_t first_of_group(int64_t lines, int which, int place)
{
    enum { LAST = 15, GROUP = 4 };
    const int64_t room = lines > GROUP ? lines - GROUP : 0,
                  begin = room * (2 * place - 1) / (2 * LAST),
                  end = room * (2 * place + 1) / (2 * LAST);
    const uint32_t chance = (uint32_t)(2 * place + which) * 0x9e3779b1U >> 16;
    return place == 0 ? 0 : place == LAST ? room : begin + ((end - begin) * chance >> 16);
}

/* True of a line of operand 0 or 1. Tile number 4 i + j of 16 is of rows 4 g + j and columns
 * 4 g + i of the operands' groups, for g from 0 to 3: of the 16 groups of 4 neighbours that are
 * spread over an operand. A batch has one member for each tile, evenly spread, too. */
static inline bool is_line_looked_at(int64_t lines, int batch, int which, int member, int64_t line)
{
    enum { TILES = 16, GROUP = 4 };
    for (int tile = 0; tile < TILES; tile++) {
        const int own = batch == 1 ? 0 : tile * batch / TILES;
        if (own != member) continue;
        for (int g = 0; g < 4; g++) {
            const int place = 4 * g + (which == 0 ? tile % 4 : tile / 4);
            const int64_t first = first_of_group(lines, which, place);
            if (line >= first && line < first + GROUP) return true;
        }
    }
    return false;
}

#endif
