/* block_lines.h - records of the lines of a block of threads, from their chunks (chunk.h): groups
 * of its threads share the chunks of a line. For kernels. */
#ifndef TD_BLOCK_LINES_H
#define TD_BLOCK_LINES_H

#include "extremes.h"
#include "record.h"

template <int lines> struct line_parts {
    summary summaries[THREADS / lines][lines];
    line_sums sums[THREADS / lines][lines];
    int scale[lines];
    int64_t rounded[THREADS / lines][lines];
};

/* Returns the records of a block's lines; the first group of its threads has them. By all
 * threads. */
template <int lines>
TD_DEVICE td_line measure_lines(const chunks_of_line<THREADS / lines> &chunks, int64_t k,
                                line_parts<lines> &parts)
{
    enum { GROUPS = THREADS / lines };
    const int line = (int)threadIdx.x % lines, group = (int)threadIdx.x / lines;
    parts.summaries[group][line] = summarise_chunks(chunks);
    __syncthreads();
    summary all = parts.summaries[0][line];
    TD_UNROLL
    for (int i = 1; i < GROUPS; i++) all = join(all, parts.summaries[i][line]);
    parts.sums[group][line] = sum_chunks(chunks, all.peak >> 8);
    __syncthreads();
    if (group > 0) return {};
    line_sums sums = parts.sums[0][line];
    TD_UNROLL
    for (int i = 1; i < GROUPS; i++) {
        sums.logs += parts.sums[i][line].logs;
        sums.magnitudes += parts.sums[i][line].magnitudes;
        sums.squares += parts.sums[i][line].squares;
    }
    return line_of(all,
                   {td_log_above(sums.magnitudes), td_log_above(sums.squares),
                    td_log_above((uint64_t)(k - all.zeros))},
                   mean_of(sums.logs, k));
}

/* A line's elements; at: null if they have shifts. */
struct elements_of_line {
    const double *at;
    int64_t k_step, k;
};

TD_DEVICE elements_of_line elements_of(const td_measure &p, int which, int batch, int line)
{
    const td_view &o = p.operand[which];
    return {td_member<const double>(o.matrix, p.batch_first + batch) + td_view_at(o, line, 0),
            o.k_step, o.k};
}

/* A warp looks again at no more than so many chunks. */
enum { LOOKS = 4 };

/* Returns how many elements a scale rounds, at most. All elements of a chunk count if one of them
 * is rounded; but the first LOOKS chunks of a warp that are the only such ones of their threads are
 * looked at, and their elements counted. The lanes have lines of one operand. */
template <int groups>
TD_DEVICE int64_t count_rounded(const chunks_of_line<groups> &chunks, int scale,
                                const elements_of_line &line)
{
    const int lane = (int)threadIdx.x % 32;
    const rounded_chunks found = find_rounded(chunks, scale);
    int64_t count = (int64_t)found.count * TD_CHUNK;
    if (!line.at) return count;
    unsigned alone = __ballot_sync(~0u, found.count == 1);
    for (int i = 0; i < LOOKS && alone != 0; i++, alone &= alone - 1) {
        const int from = __ffs((int)alone) - 1, last_place = -__shfl_sync(~0u, scale, from);
        const int64_t l0 = (int64_t)__shfl_sync(~0u, found.any, from) * TD_CHUNK + lane;
        const uint64_t *const at =
            (const uint64_t *)__shfl_sync(~0u, (unsigned long long)line.at, from);
        int rounded = 0;
        TD_UNROLL
        for (int64_t l = l0; l < l0 + TD_CHUNK; l += 32) {
            const uint64_t bits = l < line.k ? magnitude(at[l * line.k_step]) : 0;
            rounded += bits != 0 && low_of(bits) < last_place;
        }
        rounded = td_warp_add(rounded);
        if (lane == from) count = rounded;
    }
    return count;
}

/* Sets td_line.rounded: how many elements of a line its scale rounds. By all threads of a block. */
template <int lines>
TD_DEVICE void
note_rounded(const td_scaling &scaling, const chunks_of_line<THREADS / lines> &chunks,
             const elements_of_line &elements, line_parts<lines> &parts, td_line *made)
{
    enum { GROUPS = THREADS / lines };
    const int line = (int)threadIdx.x % lines, group = (int)threadIdx.x / lines;
    if (group == 0) parts.scale[line] = td_scale_of(scaling, *made);
    __syncthreads();
    parts.rounded[group][line] = count_rounded(chunks, parts.scale[line], elements);
    __syncthreads();
    int64_t count = 0;
    TD_UNROLL
    for (int i = 0; i < GROUPS && group == 0; i++) count += parts.rounded[i][line];
    made->rounded = log_of_rounded(td_is_counted(*made) ? count : 0, elements.k);
}

/* Records are made from chunks without shifts, from chunks with shifts of members that have these,
 * or both. */
enum { PLAIN = 1, AGAIN = 2 };

/* Lines of an operand that are read. */
TD_HOST_DEVICE int lines_read(const td_measure &p, int which)
{
    return which == 1 && p.is_gram ? 0 : p.operand[which].lines;
}

/* The lines of a block: the threads of its first group have one each; those of other groups share
 * the chunks of the same lines. Grid: blocks over the lines from line_first on, 1, member * 2 +
 * operand. */
template <int lines> struct block_lines {
    int which, batch, group, in_strip, line;
    bool exists, counts; /* the thread has a line of the operand; and its record is the thread's */

    TD_INSIDE block_lines(const td_measure &p, int line_first)
        : which((int)blockIdx.z % 2), batch((int)blockIdx.z / 2), group((int)threadIdx.x / lines),
          in_strip((int)blockIdx.x * lines + (int)threadIdx.x % lines), line(line_first + in_strip),
          exists(line < lines_read(p, which)), counts(exists && group == 0)
    {
    }

    TD_INSIDE bool has_any(const td_measure &p) const
    {
        return line - (int)threadIdx.x % lines < lines_read(p, which);
    }

    /* The place of the thread's record among those of lines that are read. */
    TD_INSIDE int64_t place(const td_measure &p) const
    {
        return (int64_t)batch * p.operand[which].lines + line;
    }

    /* The thread's record, and the same of neighbours, in td_measure.line or line_again. */
    TD_INSIDE td_line *records(const td_measure &p, td_line *const *of) const
    {
        return of[which] + place(p) * alike(p);
    }
    TD_INSIDE int alike(const td_measure &p) const { return which == 0 ? max(p.neighbours, 1) : 1; }

    /* Stores the thread's record for all lines that have it. */
    TD_INSIDE void store(const td_measure &p, td_line *const *to, const td_line &made) const
    {
        if (!counts) return;
        for (int i = 0; i < alike(p); i++) records(p, to)[i] = made;
        if (p.is_gram) to[1][place(p)] = made;
    }

    /* The thread's share of its line's chunks, which begin at `strip`. */
    TD_INSIDE chunks_of_line<THREADS / lines> share(const td_measure &p, const void *strip,
                                                    int chunks) const
    {
        const chunk *const first = static_cast<const chunk *>(strip) +
                                   (int64_t)batch * chunks * p.scratch.strip_lines + in_strip;
        return {first, p.scratch.strip_lines, group, exists ? chunks : 0};
    }
};

/* Returns the records of a block's lines, made from chunks without shifts or with them. By all
 * threads; the first group's count. */
template <int lines>
TD_DEVICE td_line make_records(const td_measure &p, const block_lines<lines> &own, int chunks,
                               bool is_shifted, line_parts<lines> &parts)
{
    const int64_t k = p.operand[own.which].k;
    const void *const strip = (is_shifted ? p.scratch.chunks_again : p.scratch.chunks)[own.which];
    const chunks_of_line<THREADS / lines> share = own.share(p, strip, chunks);
    td_line made = measure_lines<lines>(share, k, parts);
    if (p.counts_rounded)
        note_rounded<lines>(p.scaling, share,
                            is_shifted ? elements_of_line{nullptr, 0, k}
                                       : elements_of(p, own.which, own.batch, own.line),
                            parts, &made);
    return made;
}

/* Raises what is seen of all lines of an operand by a block's, and counts loose ones. */
template <int lines>
TD_DEVICE void see_records(const td_measure &p, const block_lines<lines> &own, const td_line &made,
                           int which)
{
    td_extremes *const all = &p.extremes[own.batch];
    seen_of_lines seen;
    if (own.counts) seen.add(p.scaling, made);
    if (own.counts) count_loose(p.probed, which, made, all);
    raise_extremes(seen, td_skips(lines >= 32 && own.group > 0), &all->of[which]);
}

/* Raises what is seen of all lines with shifts by a block's. */
template <int lines>
TD_DEVICE void see_shifted(const td_measure &p, const block_lines<lines> &own, const td_line &made)
{
    seen_of_lines seen;
    if (own.counts) seen.add(p.scaling, made);
    raise_extremes(seen, td_skips(lines >= 32 && own.group > 0),
                   &p.extremes[own.batch].again[own.which]);
}

#endif
