/* measure_whole.cu - measures lines that a block can have whole, both operands in one pass. */
#include "whole.h"

/* The kernel before clears what is raised here; this one reads operands meanwhile, and waits for it
 * before it raises or writes anything. Grid: blocks over lines, 1, batch member * 2 + operand. */
static __global__ void __launch_bounds__(THREADS, 2) measure_kernel(TD_PARAMETER td_measure p)
{
    TD_SHARED(chunks_of_block, chunks, );
    td_let_next_begin();
    const int which = (int)blockIdx.z % 2, batch = (int)blockIdx.z / 2,
              line0 = (int)blockIdx.x * LINES, own = (int)threadIdx.x / 32;
    const td_view &o = p.operand[which];
    if (line0 >= o.lines || measures_none(p)) {
        td_wait_for_last();
        return;
    }
    measure_chunks<false>(p, which, batch, line0, chunks);
    __syncthreads();
    const td_line line = join_chunks(p, chunks.of[own], o.k);
    const bool exists = line0 + own < o.lines;
    td_wait_for_last();
    if (exists && threadIdx.x % 32 == 0)
        p.line[which][(int64_t)batch * o.lines + line0 + own] = line;
    if (!p.extremes) return;
    seen_of_lines seen;
    if (exists && threadIdx.x % 32 == 0) {
        seen.add(p.scaling, line);
        count_loose(p.probed, which, line, &p.extremes[batch]);
    }
    raise_extremes(seen, false, &p.extremes[batch].of[which]);
}

cudaError_t td_measure_whole_run(const td_measure *p, cudaStream_t stream)
{
    const unsigned strips = (unsigned)max(strips_of(*p, 0), strips_of(*p, 1));
    return TD_LAUNCH_NEXT(measure_kernel, dim3(strips, 1, 2 * (unsigned)p->batch), THREADS, 0,
                          stream, *p);
}

cudaError_t td_measure_whole_prepare(void) { return td_load(cudaSuccess, measure_kernel); }
