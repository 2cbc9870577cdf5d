/* planes.h - how planes of small numbers are laid out that a product is made of: [line][k], padded
 * with zeros; in which order the lines of A stand; and the map of what is not 0. For host C and for
 * kernels. */
#ifndef TD_VIEW_PLANES_H
#define TD_VIEW_PLANES_H

#include <stdint.h>

#include "../arithmetic/float32.h"

/* What lines and k are padded to: tensor cores like such sizes. */
enum { TD_LINE_PAD = 16, TD_K_PAD = 64 };

/* A lane of the tensor cores holds pairs of neighbouring lines, one pair of eight. The lines of A
 * stand in such an order, group by group, that a lane's are neighbours in C: pair j of lane q of
 * four is lines 16 q + 2 j and 16 q + 2 j + 1. */
enum { TD_LINE_GROUP = 64 };
TD_BOTH int td_place_of_line(int line)
{
    const unsigned i = (unsigned)line, lane = i / 16 % 4, pair = i / 2 % 8;
    return (int)(i - i % TD_LINE_GROUP + 8 * pair + 2 * lane + i % 2);
}

/* What the lines of op(A) (0) or op(B) (1) are padded to. */
TD_BOTH int td_padded_lines(int lines, int which)
{
    const int pad = which ? (int)TD_LINE_PAD : (int)TD_LINE_GROUP;
    return (lines + pad - 1) / pad * pad;
}

/* A slice has a multiple of so many elements of k, one at least; the last one may end with k. */
enum { TD_SLICE_K = 128 };

/* The map of a plane: words of a group of lines; groups; words of a member; the word of a stage of
 * TD_SLICE_K elements, and its bit. */
TD_BOTH int td_nonzero_words(int64_t k)
{
    return (int)((k + 32 * TD_SLICE_K - 1) / (32 * TD_SLICE_K));
}
TD_BOTH int td_groups(int64_t lines) { return (int)((lines + TD_LINE_GROUP - 1) / TD_LINE_GROUP); }
TD_BOTH int64_t td_nonzero_of_member(int64_t lines, int64_t k)
{
    return (int64_t)td_groups(lines) * td_nonzero_words(k);
}
TD_BOTH int64_t td_nonzero_place(int64_t lines, int64_t k, int member, int group, int stage)
{
    return member * td_nonzero_of_member(lines, k) + (int64_t)group * td_nonzero_words(k) +
           stage / 32;
}
TD_BOTH uint32_t td_nonzero_bit(int stage) { return 1u << (stage % 32); }

#endif
