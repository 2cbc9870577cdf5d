/* marks.h - where a kernel's time goes: TD_MARK(name) adds the clocks since the last mark to those
 * of that name, as the first thread of the first block sees them. Nothing, unless a program that
 * measures (bench/panel_clocks.c) has declared the names, MARK_name each with a comma behind it. */
#ifndef TD_MARKS_H
#define TD_MARKS_H

#ifndef TD_MARKS
#define TD_MARK(name)
#else
#define TD_MARK(name) td_mark(MARK_##name)

/* Of a panel, or of a leaf. */
enum td_mark_name { TD_MARKS TD_MARK_NAMES };
static __device__ unsigned long long td_clocks[TD_MARK_NAMES];

static __device__ __forceinline__ void td_mark(td_mark_name name)
{
    static __shared__ unsigned long long before;
    if (threadIdx.x > 0 || blockIdx.x > 0) return;
    const unsigned long long now = clock64();
    if (name != 0) td_clocks[name] += now - before;
    before = clock64();
}
#endif

#endif
