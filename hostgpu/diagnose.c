/* diagnose.c - says on stderr what a kernel did wrong and where every thread of the block
 * stands. */
#include <stdarg.h>
#include <stdio.h>

#include "worker.h"

static const char *op_name(hostgpu_warp_op op)
{
    static const char *const names[] = {
        [HOSTGPU_SYNC] = "__syncwarp",
        [HOSTGPU_SHUFFLE] = "a shuffle",
        [HOSTGPU_BALLOT] = "a ballot",
        [HOSTGPU_MATCH] = "__match_any_sync",
        [HOSTGPU_JOIN] = "td_warp_join",
        [HOSTGPU_ADD] = "__reduce_add_sync",
        [HOSTGPU_AND] = "__reduce_and_sync",
        [HOSTGPU_OR] = "__reduce_or_sync",
        [HOSTGPU_XOR] = "__reduce_xor_sync",
        [HOSTGPU_MIN_UNSIGNED] = "__reduce_min_sync",
        [HOSTGPU_MAX_UNSIGNED] = "__reduce_max_sync",
        [HOSTGPU_MIN_SIGNED] = "__reduce_min_sync",
        [HOSTGPU_MAX_SIGNED] = "__reduce_max_sync",
    };
    return names[op];
}

static bool is_same_situation(const cuda_thread *a, const cuda_thread *b)
{
    if (a->state != b->state) return false;
    switch (a->state) {
    case THREAD_AT_BARRIER:
        return hostgpu_same_site(a->wait.site, b->wait.site);
    case THREAD_AT_WARP_OP:
        return hostgpu_same_wait(&a->wait, &b->wait);
    default:
        return true;
    }
}

static void print_situation(const cuda_thread *t, unsigned count)
{
    fprintf(stderr, "tandem: host device:   %u thread%s, first (%u,%u,%u), ", count,
            count == 1 ? "" : "s", t->index.x, t->index.y, t->index.z);
    switch (t->state) {
    case THREAD_READY:
        fprintf(stderr, "running or ready to run\n");
        break;
    case THREAD_EXITED:
        fprintf(stderr, "exited\n");
        break;
    case THREAD_AT_BARRIER:
        fprintf(stderr, "waiting at __syncthreads, %s:%d\n", t->wait.site.file, t->wait.site.line);
        break;
    case THREAD_AT_WARP_OP:
        fprintf(stderr, "waiting at %s with mask 0x%08x, %s:%d\n", op_name(t->wait.op),
                t->wait.mask, t->wait.site.file, t->wait.site.line);
        break;
    }
}

/* One line for each group of threads in the same situation. */
static void print_threads(const hostgpu_worker *w)
{
    for (unsigned i = 0; i < w->thread_count; i++) {
        const cuda_thread *t = &w->thread[i];
        unsigned first = 0, count = 0;

        while (!is_same_situation(&w->thread[first], t)) first++;
        if (first < i) continue;
        for (unsigned j = i; j < w->thread_count; j++) count += is_same_situation(&w->thread[j], t);
        print_situation(t, count);
    }
}

void hostgpu_fault(hostgpu_worker *w, const char *format, ...)
{
    int none = cudaSuccess;
    va_list values;

    if (atomic_compare_exchange_strong(&w->job->error, &none, cudaErrorLaunchFailure)) {
        flockfile(stderr);
        fprintf(stderr, "tandem: host device: kernel %s, block (%u,%u,%u): ", w->job->kernel->name,
                hostgpu_here.block.x, hostgpu_here.block.y, hostgpu_here.block.z);
        va_start(values, format);
        vfprintf(stderr, format, values);
        va_end(values);
        fputc('\n', stderr);
        print_threads(w);
        funlockfile(stderr);
    }
    HOSTGPU_RELEASE(&w->race_end);
    hostgpu_fiber_switch(w->running->fiber, &w->scheduler);
    __builtin_unreachable(); /* the launch ends, and its fibers with it */
}

#ifdef HOSTGPU_ASAN

static void name_thread(const char *report)
{
    (void)report;
    if (hostgpu_here.worker)
        fprintf(stderr, "tandem: host device: kernel %s, block (%u,%u,%u), thread (%u,%u,%u)\n",
                hostgpu_here.worker->job->kernel->name, hostgpu_here.block.x, hostgpu_here.block.y,
                hostgpu_here.block.z, hostgpu_here.thread.x, hostgpu_here.thread.y,
                hostgpu_here.thread.z);
}

void hostgpu_name_thread_in_reports(void) { __asan_set_error_report_callback(name_thread); }

#else

void hostgpu_name_thread_in_reports(void) {}

#endif
