#define _GNU_SOURCE 1
#include "xt_copies.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "require.h"

/* This program's functions come before the runtime's. */
#define REAL(function) ((__typeof__(&(function)))dlsym(RTLD_NEXT, #function))

enum { RANGES = 3, STREAMS = 64, EVENTS = 4096, READS = 4096 };

static struct {
    const char *start;
    size_t bytes;
} ranges[RANGES];
static int range_count;

/* `copies` of a stream count, of which `done` were waited for; `behind` says how many of every
 * stream's are done before what the stream is given next. */
typedef struct {
    cudaStream_t handle;
    int device, copies, done, behind[STREAMS];
} stream;

typedef struct {
    cudaEvent_t handle;
    int behind[STREAMS];
} event;

/* Bytes of watched memory that copy number `copy` of a stream reads. */
typedef struct {
    const char *start, *end;
    int stream, copy;
} reading;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static stream streams[STREAMS];
static event events[EVENTS];
static reading reads[READS];
static int stream_count, event_count, read_count, counted, number_failing, too_early;
static bool is_counting;

/* ---- under the lock ---- */

/* The default stream is another one on each device. */
static int number_of(cudaStream_t handle)
{
    int device = -1, i = 0;
    REQUIRE(cudaGetDevice(&device));
    while (i < stream_count && (streams[i].handle != handle || streams[i].device != device)) i++;
    REQUIRE(i == STREAMS);
    if (i == stream_count) streams[stream_count++] = (stream){.handle = handle, .device = device};
    return i;
}

static event *event_of(cudaEvent_t handle)
{
    int i = 0;
    while (i < event_count && events[i].handle != handle) i++;
    REQUIRE(i == EVENTS);
    if (i == event_count) events[event_count++] = (event){.handle = handle};
    return &events[i];
}

static void wait_for(int *behind, const int *others)
{
    for (int i = 0; i < STREAMS; i++)
        if (others[i] > behind[i]) behind[i] = others[i];
}

static bool is_watched(const void *address)
{
    for (int i = 0; i < range_count; i++)
        if ((const char *)address >= ranges[i].start &&
            (const char *)address < ranges[i].start + ranges[i].bytes)
            return true;
    return false;
}

static void note_reading(const char *from, size_t bytes, int by)
{
    REQUIRE(read_count == READS);
    reads[read_count++] = (reading){from, from + bytes, by, streams[by].copies};
}

/* True if bytes are written that an earlier copy may read later. */
static bool is_too_early(const char *to, size_t bytes, int by)
{
    for (int i = 0; i < read_count; i++) {
        const reading *r = &reads[i];
        if (r->start < to + bytes && to < r->end && r->copy > streams[by].behind[r->stream] &&
            r->copy > streams[r->stream].done)
            return true;
    }
    return false;
}

/* A copy of so many bytes from the first to the last one. False if it fails. */
static bool count_copy(const void *to, size_t bytes_to, const void *from, size_t bytes_from,
                       cudaStream_t handle)
{
    bool is_good = true;
    pthread_mutex_lock(&lock);
    if (is_counting && (is_watched(to) || is_watched(from))) {
        const int i = number_of(handle);
        is_good = ++counted != number_failing;
        if (is_good) streams[i].behind[i] = ++streams[i].copies;
        if (is_good && is_watched(from)) note_reading(from, bytes_from, i);
        if (is_good && is_watched(to)) too_early += is_too_early(to, bytes_to, i);
    }
    pthread_mutex_unlock(&lock);
    return is_good;
}

/* ---- functions of the runtime ---- */

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    return count_copy(dst, count, src, count, stream)
               ? REAL(cudaMemcpyAsync)(dst, src, count, kind, stream)
               : cudaErrorUnknown;
}

cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream)
{
    const size_t behind_first = height > 0 ? height - 1 : 0;
    return count_copy(dst, behind_first * dpitch + width, src, behind_first * spitch + width,
                      stream)
               ? REAL(cudaMemcpy2DAsync)(dst, dpitch, src, spitch, width, height, kind, stream)
               : cudaErrorUnknown;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    pthread_mutex_lock(&lock);
    if (is_counting)
        memcpy(event_of(event)->behind, streams[number_of(stream)].behind, sizeof events->behind);
    pthread_mutex_unlock(&lock);
    return REAL(cudaEventRecord)(event, stream);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    pthread_mutex_lock(&lock);
    if (is_counting) wait_for(streams[number_of(stream)].behind, event_of(event)->behind);
    pthread_mutex_unlock(&lock);
    return REAL(cudaStreamWaitEvent)(stream, event, flags);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    pthread_mutex_lock(&lock);
    if (is_counting) {
        const int *behind = streams[number_of(stream)].behind;
        for (int i = 0; i < stream_count; i++)
            if (behind[i] > streams[i].done) streams[i].done = behind[i];
    }
    pthread_mutex_unlock(&lock);
    return REAL(cudaStreamSynchronize)(stream);
}

/* ---- for the test ---- */

void copies_watch(const void *start, size_t bytes)
{
    if (!is_counting) return;
    REQUIRE(range_count == RANGES);
    ranges[range_count].start = start;
    ranges[range_count++].bytes = bytes;
}

void copies_begin(int failing)
{
    pthread_mutex_lock(&lock);
    range_count = stream_count = event_count = read_count = counted = too_early = 0;
    number_failing = failing;
    is_counting = true;
    pthread_mutex_unlock(&lock);
}

int copies_end(int *under_way)
{
    pthread_mutex_lock(&lock);
    is_counting = false;
    *under_way = 0;
    for (int i = 0; i < stream_count; i++) *under_way += streams[i].copies - streams[i].done;
    pthread_mutex_unlock(&lock);
    return counted;
}

int copies_too_early(void) { return too_early; }
