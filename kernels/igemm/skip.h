/* skip.h - lists the stages of TD_SLICE_K elements of k in which lines of both operands have
 * numbers other than 0: a tile's products go through no others. */
#ifndef TD_SKIP_H
#define TD_SKIP_H

#include "../device/portable.h"
#include "plane_gemm.h"

/* A run of `count` neighbouring stages, after `passed` stages of zeros; and the most runs that a
 * list holds, an empty one at the end included. */
struct td_stages {
    uint16_t passed, count;
};
enum { TD_MOST_RUNS = (TD_RESIDUE_K / TD_SLICE_K + 2) / 2 + 1 };

/* How many stages a list has, and where its last run ends. */
struct td_listed {
    int count, end;
};

/* Returns a bit for each of the stages 32 w to 32 w + 31 in which any of `count` lines from
 * `line` on has numbers other than 0. */
template <int count>
TD_DEVICE uint32_t td_nonzero_word(const td_panels &p, int which, int member, int line, int w)
{
    const int64_t lines = which ? p.n : p.m;
    const int words = td_nonzero_words(p.k), groups = td_groups(lines),
              first = line / TD_LINE_GROUP;
    const uint32_t *const own = p.nonzero[which] + td_nonzero_place(lines, p.k, member, 0, 32 * w);
    uint32_t any = 0;
    TD_UNROLL
    for (int i = 0; i < count / TD_LINE_GROUP; i++) any |= own[min(first + i, groups - 1) * words];
    return any;
}

/* Bits of those of stages 32 w .. 32 w + 31 that a tile of rows x columns needs, of `first` up to
 * `end`. */
template <int rows, int columns>
TD_DEVICE uint32_t td_needed_word(const td_panels &p, int member, int row, int column, int w,
                                  int first, int end)
{
    uint32_t word = ~0u << max(first - 32 * w, 0);
    if (end < 32 * w + 32) word &= ~(~0u << (end - 32 * w));
    if (p.nonzero[0])
        word &= td_nonzero_word<rows>(p, 0, member, row, w) &
                td_nonzero_word<columns>(p, 1, member, column, w);
    return word;
}

/* Takes the lowest run of ones, of `length` bits, out of a word that is not 0; returns the place of
 * its first bit. */
TD_DEVICE int td_take_run(uint32_t &word, int &length)
{
    const int lowest = __ffs((int)word) - 1;
    const uint32_t after = word + (1u << lowest); /* what follows: a carry ran through the run */
    length = after ? __ffs((int)(after & ~word)) - 1 - lowest : 32 - lowest;
    word &= after;
    return lowest;
}

/* Lists the stages from `first` up to `end` that a tile of rows x columns needs; the stages
 * before `first` are passed over. A tile without any needs one stage all the same: its products
 * are zeros. An empty run ends the list. One thread calls this. */
template <int rows, int columns>
TD_DEVICE td_listed td_list_stages(const td_panels &p, int member, int row, int column, int first,
                                   int end, td_stages *list)
{
    td_listed all = {0, 0};
    td_stages run = {0, 0};
    TD_ROLLED
    for (int w = first / 32; w <= (end - 1) / 32; w++) {
        uint32_t word = td_needed_word<rows, columns>(p, member, row, column, w, first, end);
        if (all.count == 0 && word == 0 && w == (end - 1) / 32) word = 1u << ((end - 1) % 32);
        TD_ROLLED
        while (word) {
            int length;
            const int begin = 32 * w + td_take_run(word, length);
            if (begin > all.end || all.count == 0) {
                if (all.count > 0) *list++ = run;
                run = {(uint16_t)(begin - all.end), 0};
            }
            run.count = (uint16_t)(run.count + length);
            all.count += length;
            all.end = begin + length;
        }
    }
    list[0] = run;
    list[1] = {0, 0};
    return all;
}

#endif
