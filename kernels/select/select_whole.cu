/* select_whole.cu - chooses by lines that are measured whole, and measures them again, with shifts,
 * where exponents spread along k. */
#include "../measure/whole.h"
#include "choose.h"

/* Some of a member's lines: the thread's are first, first + step, ... */
struct share_of_lines {
    int which, first, step;
};

/* Half of the threads of some blocks, this one being number `block`, have lines of op(A), half of
 * op(B). */
TD_DEVICE share_of_lines share_of_thread(int block, int blocks)
{
    const int half = (int)blockDim.x / 2, tid = (int)threadIdx.x;
    return {tid / half, block * half + tid % half, blocks * half};
}

/* What is seen of the thread's share of a member's lines. */
TD_DEVICE seen_of_lines see_lines(const td_choose &p, int batch, const share_of_lines &own)
{
    seen_of_lines mine;
    const td_scaling scaling = td_scaling_of(&p.rule, &p.rule.candidate[0]);
    const td_line *const lines = td_measured_lines(p.measured, own.which, batch);
    TD_ROLLED
    for (int i = own.first; i < p.measured.lines[own.which]; i += own.step)
        mine.add(scaling, lines[i]);
    return mine;
}

/* A member's blocks have lines of op(A) and op(B) in turn: sets this one's with the scales of a
 * choice. */
TD_DEVICE void scale_share(const td_choose &c, const td_choice &choice, int batch)
{
    const int which = (int)blockIdx.x % 2, block = (int)blockIdx.x / 2, threads = (int)blockDim.x;
    td_scale_lines_from(c, choice,
                        c.measured.line[which] + (int64_t)batch * c.measured.lines[which], which,
                        batch, block * threads + (int)threadIdx.x, (int)gridDim.x / 2 * threads);
}

/* The choice of a member, shifted or not, and the scales of all its lines, by one block. */
TD_DEVICE void choose_and_scale_all(const td_choose &c, int batch)
{
    TD_SHARED(td_line_extremes, seen, [2]);
    const share_of_lines own = share_of_thread(0, 1);
    if (threadIdx.x < 2) seen[threadIdx.x] = {};
    __syncthreads();
    raise_shared_extremes(see_lines(c, batch, own), &seen[own.which]);
    __syncthreads();
    if (threadIdx.x == 0) leave_choice(c, batch, choice_of_lines(c, true, batch, seen));
    __syncthreads();
    td_scale_lines(c, c.chosen.choice[batch], own.which, batch, own.first, own.step);
}

TD_DEVICE int strips_of_both(const td_measure &p) { return strips_of(p, 0) + strips_of(p, 1); }

struct strip {
    int which, line0;

    TD_INSIDE strip(const td_measure &p, int unit)
        : which(unit >= strips_of(p, 0)), line0((which ? unit - strips_of(p, 0) : unit) * LINES)
    {
    }
};

/* Has all blocks of a member do a step together: calls work(unit) for the units that the block
 * takes, and returns when all units are done and what they wrote can be read. A block waits only
 * for units that running blocks have taken, so any number of blocks may have places on the device.
 * All threads take part. */
template <class function> TD_DEVICE void do_step(td_step *step, int units, function work)
{
    TD_SHARED(int, next, );
    const bool takes = threadIdx.x == 0;
    int own = 0, done = 0;
    if (takes) own = atomicAdd(&step->taken, 1);
    TD_ROLLED
    for (;; done++) {
        if (takes) next = own;
        __syncthreads();
        const int unit = td_uniform(next);
        if (unit >= units) break;
        if (takes) own = atomicAdd(&step->taken, 1); /* in time for the end of this unit */
        work(unit);
        __syncthreads();
    }
    if (takes) {
        __threadfence();
        atomicAdd(&step->done, done);
        while (atomicAdd(&step->done, 0) < units) __nanosleep(100);
        __threadfence();
    }
    __syncthreads();
}

/* Measures a strip of lines again, with shifts. The block that measures a member's last strip knows
 * whether the shifts are kept, and chooses. */
TD_DEVICE void measure_again(const td_measure &p, const td_choose &c, const strip &at, int batch,
                             chunks_of_block &units)
{
    const td_view &o = p.operand[at.which];
    const int own = at.line0 + (int)threadIdx.x / 32;
    const int64_t record = (int64_t)batch * o.lines + min(own, o.lines - 1);
    const bool counts = own < o.lines && threadIdx.x % 32 == 0;
    measure_chunks<true>(p, at.which, batch, at.line0, units);
    __syncthreads();
    const td_line again = join_chunks(p, units.of[threadIdx.x / 32], o.k),
                  line = p.line[at.which][record];
    if (counts) p.line_again[at.which][record] = again;
    if (!close_lines<LINES>(p, at.which, batch, line, again, counts) ||
        c.rule.scale == TD_SCALE_BY_DIGITS)
        return;
    __syncthreads();
    choose_and_scale_all(c, batch);
}

/* True if a member has been measured again, since exponents spread along k. */
TD_DEVICE bool has_measured_again(const td_measure &p, const td_choose &c, int batch,
                                  chunks_of_block &units)
{
    if (p.is_measured_once || td_is_by_lines(p.probed.looseness)) return false;
    if (!may_spread_by_warp(p, batch)) return false;
    td_step *const steps = p.scratch.steps + batch * TD_STEPS;
    do_step(&steps[TD_STEP_TOPS], strips_of_both(p), [&](int unit) {
        const strip at(p, unit);
        raise_tops(p, at.which, batch, at.line0);
    });
    if (!spreads(p, batch)) return false;
    do_step(&steps[TD_STEP_AGAIN], strips_of_both(p),
            [&](int unit) { measure_again(p, c, strip(p, unit), batch, units); });
    return true;
}

/* Chooses for a member by its lines as they are measured in the end, and sets their scales. */
TD_DEVICE void choose_member(const td_measure &p, const td_choose &c, int batch,
                             chunks_of_block &units)
{
    if (has_measured_again(p, c, batch, units)) return;
    td_line_extremes seen[2] = {};
    for (int o = 0; o < 2 && c.rule.candidates > 1; o++) seen[o] = c.measured.extremes[batch].of[o];
    const td_choice choice = choice_of_lines(c, true, batch, seen);
    if (blockIdx.x == 0 && threadIdx.x == 0) leave_choice(c, batch, choice);
    scale_share(c, choice, batch);
}

/* Chooses for each member. Mostly bounds show that shifts are of no use: then blocks wait for no
 * others. Grid: an even number of blocks, 1, batch member. */
static __global__ void __launch_bounds__(THREADS, 2)
    choose_whole_kernel(TD_PARAMETER td_measure p, TD_PARAMETER td_choose c)
{
    TD_SHARED(chunks_of_block, units, );
    td_begin_kernel();
    const int batch = (int)blockIdx.z;
    if (measures_none(p)) {
        if (blockIdx.x == 0 && threadIdx.x == 0 && c.rule.scale != TD_SCALE_BY_DIGITS)
            leave_choice(c, batch,
                         td_verdict_of(p.verdict)
                             ? choice_of_verdict(c.rule, td_verdict_of(p.verdict))
                             : choice_of_lines(c, false, batch, NULL));
        return;
    }
    if (c.rule.scale == TD_SCALE_BY_DIGITS)
        has_measured_again(p, c, batch, units);
    else
        choose_member(p, c, batch, units);
}

enum { MOST_BLOCKS = 128 }; /* of all members, for the lines of one operand */

cudaError_t td_choose_whole_run(const td_measure *p, const td_choose *c, cudaStream_t stream)
{
    const unsigned strips = (unsigned)max(strips_of(*p, 0), strips_of(*p, 1)),
                   members = (unsigned)p->batch, few = min(strips, max(1u, MOST_BLOCKS / members));
    return TD_LAUNCH_NEXT(choose_whole_kernel, dim3(2 * few, 1, members), THREADS, 0, stream, *p,
                          *c);
}

cudaError_t td_choose_whole_prepare(void) { return td_load(cudaSuccess, choose_whole_kernel); }
