/* panel_marks.h - names of the marks of a kernel's file, and how their clocks are taken. It is
 * included behind that file, before which CLOCKS(X) was defined as X(name, of_column) for each
 * mark, and TD_MARKS as CLOCKS(MARK). For CUDA C. */
#ifndef BENCH_PANEL_MARKS_H
#define BENCH_PANEL_MARKS_H

#define NAME(name, of_column) #name,
#define IS(name, of_column)   of_column,
static const char *const names[] = {CLOCKS(NAME)};
static const bool of_column[] = {CLOCKS(IS)};

static bool take(unsigned long long *clocks)
{
    static const unsigned long long zeros[TD_MARK_NAMES] = {};
    return cudaMemcpyFromSymbol(clocks, td_clocks, sizeof td_clocks) == cudaSuccess &&
           cudaMemcpyToSymbol(td_clocks, zeros, sizeof td_clocks) == cudaSuccess;
}

#endif
