#include "device.h"

#include <dirent.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../options/launcher.h"
#include "../options/log.h"
#include "device_code.h"
#include "sharers.h"

pthread_mutex_t td_devices_lock = PTHREAD_MUTEX_INITIALIZER;

/* Each made once, under the lock: pools belong to a GPU and, like memory allocated from them,
 * outlive its contexts. */
static cudaMemPool_t pools[TD_MAX_DEVICES], graph_pools[TD_MAX_DEVICES];

/* One for each context that was ever current; stays, as the context does. */
typedef struct node {
    td_device device;
    struct node *next;
} node;
static _Atomic(node *) devices; /* added to under the lock */

/* Makes *pool if it is not there, and sets how many bytes it keeps when they are not in use. */
static cudaError_t find_pool(cudaMemPool_t *pool, int ordinal, uint64_t keep)
{
    struct cudaMemPoolProps props;
    memset(&props, 0, sizeof props);
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = ordinal;
    const cudaError_t error = *pool ? cudaSuccess : cudaMemPoolCreate(pool, &props);
    if (error != cudaSuccess) return error;
    return cudaMemPoolSetAttribute(*pool, cudaMemPoolAttrReleaseThreshold, &keep);
}

static cudaError_t find_graph_pool(td_device *d)
{
    int none = 0;
    cudaError_t error = find_pool(&graph_pools[d->ordinal], d->ordinal, 0);
    if (error != cudaSuccess) return error;
    d->graph_pool = graph_pools[d->ordinal];
    return cudaMemPoolSetAttribute(d->graph_pool, cudaMemPoolReuseAllowInternalDependencies, &none);
}

/* Memory that an earlier try has registered in the same context stays so. */
static bool register_memory(void *memory, size_t bytes)
{
    const cudaError_t error = cudaHostRegister(memory, bytes, cudaHostRegisterMapped);
    return td_cuda_ok(error) || error == cudaErrorHostMemoryAlreadyRegistered;
}

/* td_device_map, where calls are allowed that a capture forbids. */
static void *map_memory(void **memory, size_t bytes)
{
    enum { PAGE_BYTES = 4096 };
    void *mapped = NULL;
    if (!*memory) {
        const size_t whole = (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
        *memory = aligned_alloc(PAGE_BYTES, whole);
        if (!*memory) return NULL;
        memset(*memory, 0, whole);
    }
    if (!register_memory(*memory, bytes) ||
        !td_cuda_ok(cudaHostGetDevicePointer(&mapped, *memory, 0)))
        return NULL;
    return mapped;
}

static cudaError_t find_counters(td_device *d)
{
    d->mapped_counters = map_memory((void **)&d->counters, TD_COUNTER_SLOTS * sizeof *d->counters);
    d->mapped_samples = map_memory((void **)&d->samples, TD_SAMPLE_SLOTS * sizeof *d->samples);
    d->mapped_failure = map_memory((void **)&d->failure, sizeof *d->failure);
    d->mapped_mantissa_bits =
        map_memory((void **)&d->mantissa_bits, TD_COUNTER_SLOTS * sizeof *d->mantissa_bits);
    if (!d->mapped_counters || !d->mapped_samples || !d->mapped_failure || !d->mapped_mantissa_bits)
        return cudaErrorMemoryAllocation;
    cudaError_t error = td_counters_find(&d->device_counters);
    if (error == cudaSuccess) error = td_sample_find(&d->device_samples);
    return error == cudaSuccess ? td_counters_prepare() : error;
}

/* GPUs of this machine, as NVIDIA's driver lists them; 0 if it does not. */
static long count_gpus(void)
{
    DIR *folder = opendir("/proc/driver/nvidia/gpus");
    long count = 0;
    for (const struct dirent *at; folder && (at = readdir(folder));) count += at->d_name[0] != '.';
    if (folder) closedir(folder);
    return count;
}

/* Ranks of the device that were there when this one came. Under the lock. */
static long count_met(int ordinal)
{
    static int number[TD_MAX_DEVICES];
    static bool is_taken[TD_MAX_DEVICES];
    if (!is_taken[ordinal]) number[ordinal] = td_sharers_take_number(ordinal);
    is_taken[ordinal] = true;
    return number[ordinal];
}

/* How many ranks share a device: those of this machine are taken to be spread over its devices. A
 * process that sees fewer devices than there are (CUDA_VISIBLE_DEVICES) was given some, as were
 * the others. Where more than that have come before this one, they count. */
static size_t count_sharers(int ordinal)
{
    const long ranks = td_launch_find().local, gpus = ranks > 1 ? count_gpus() : 0;
    int visible = 0;
    if (ranks <= 1 || !td_cuda_ok(cudaGetDeviceCount(&visible)) || visible < 1) return 1;
    const long devices = gpus > visible ? gpus : visible, spread = (ranks + devices - 1) / devices,
               met = count_met(ordinal) + 1;
    return (size_t)(met > spread ? met : spread);
}

/* A quarter of what is free, and of that a share for each rank. */
static size_t default_workspace(int ordinal, size_t free_bytes)
{
    const size_t sharers = count_sharers(ordinal), bytes = free_bytes / 4 / sharers;
    if (sharers > 1)
        td_log(TD_LOG_INFO, "device %d has %zu ranks: this one takes at most %zu MiB of workspace",
               ordinal, sharers, bytes >> 20);
    return bytes;
}

/* Sets how large the device's workspaces may be, unless they may be larger already; where others
 * have nearly all of its memory, that is for now. */
static cudaError_t look_for_memory(td_device *d)
{
    const size_t little = 8; /* of the device's memory */
    size_t free_bytes = 0, total_bytes = 0;
    const cudaError_t error = cudaMemGetInfo(&free_bytes, &total_bytes);
    if (error != cudaSuccess) return error;
    const size_t bytes = default_workspace(d->ordinal, free_bytes);
    if (bytes > d->workspace_bytes) d->workspace_bytes = bytes;
    d->lacks_memory = free_bytes < total_bytes / little;
    return cudaSuccess;
}

static cudaError_t query(td_device *d)
{
    int value = 0;
    cudaError_t error = cudaDeviceGetAttribute(&value, cudaDevAttrMemoryPoolsSupported, d->ordinal);
    if (error == cudaSuccess && !value) error = cudaErrorNotSupported;
    if (error == cudaSuccess)
        error =
            cudaDeviceGetAttribute(&d->multiprocessors, cudaDevAttrMultiProcessorCount, d->ordinal);
    if (error == cudaSuccess)
        error =
            cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerMultiprocessor, d->ordinal);
    d->shared_per_multiprocessor = (size_t)value;
    return error == cudaSuccess ? look_for_memory(d) : error;
}

bool td_device_name(int ordinal, td_device_text *name)
{
    struct cudaDeviceProp props;
    if (!td_cuda_ok(cudaGetDeviceProperties(&props, ordinal))) return false;
    _Static_assert(sizeof name->text == sizeof props.name, "as long as CUDA's");
    memcpy(name->text, props.name, sizeof name->text);
    return true;
}

/* Before the driver is asked for any kernel: compiling PTX keeps the program waiting. */
static void say_what_is_compiled(int ordinal)
{
    const char *const archs = td_device_code_built + sizeof TD_DEVICE_CODE_MARK - 1;
    int major = 0, minor = 0;
    char text[TD_DEVICE_CODE_TEXT];
    if (!*archs ||
        !td_cuda_ok(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, ordinal)) ||
        !td_cuda_ok(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, ordinal)))
        return;
    const td_device_code code =
        td_device_code_for(archs, 10 * major + minor, td_device_code_is_forced());
    td_log(code.capability && !code.is_ptx ? TD_LOG_DEBUG : TD_LOG_WARN,
           "device %d, of compute capability %d.%d: %s", ordinal, major, minor,
           td_device_code_print(code, text));
}

/* Under the lock. */
static cudaError_t set_up(td_device *d)
{
    const td_capture_mode mode = td_capture_allow();
    cudaError_t error = d->ordinal < TD_MAX_DEVICES ? query(d) : cudaErrorInvalidDevice;
    if (error == cudaSuccess) error = find_pool(&pools[d->ordinal], d->ordinal, d->workspace_bytes);
    if (error == cudaSuccess) d->pool = pools[d->ordinal];
    if (error == cudaSuccess) error = find_counters(d);
    td_capture_restore(mode);
    return error;
}

static void say_refusal(const td_device *d, cudaError_t error)
{
    static atomic_uint said;
    if (error == cudaErrorMemoryAllocation)
        td_log_capped(&said, 1, TD_LOG_WARN,
                      "device %d lacks memory for Tandem's kernels; until it has some, products "
                      "stay native (said once)",
                      d->ordinal);
    else
        td_log(TD_LOG_WARN, "device %d cannot run Tandem's kernels (%s); its products stay native",
               d->ordinal, cudaGetErrorString(error));
}

/* Under the lock, as the next four. Sets *is_refused last: others look at it without the lock. */
static void try_to_set_up(td_device *d)
{
    const cudaError_t error = set_up(d);
    if (error == cudaErrorMemoryAllocation) d->lacks_memory = true;
    if (!td_cuda_ok(error)) say_refusal(d, error);
    d->is_refused = error != cudaSuccess;
}

/* The context is another than the one that the device was made for. */
static void begin_life(td_device *d, unsigned life)
{
    d->ordinal = d->context->ordinal;
    d->graph_stream = NULL;
    d->mapped_lines = NULL;
    d->workspace_bytes = 0;
    d->lacks_memory = false;
    d->uses = 0;
    atomic_store(&d->loaded, 0);
    say_what_is_compiled(d->ordinal);
    try_to_set_up(d);
    atomic_store(&d->life, life); /* last: others look at it without the lock */
}

/* There may be memory now. */
static void try_again(td_device *d)
{
    if (d->is_refused) {
        try_to_set_up(d);
        return;
    }
    const td_capture_mode mode = td_capture_allow();
    if (td_cuda_ok(look_for_memory(d)))
        td_cuda_ok(find_pool(&pools[d->ordinal], d->ordinal, d->workspace_bytes));
    td_capture_restore(mode);
}

/* Without the lock. */
static bool is_to_be_tried(td_device *d)
{
    return atomic_load_explicit(&d->lacks_memory, memory_order_relaxed) &&
           td_is_worth_a_try(atomic_fetch_add_explicit(&d->uses, 1, memory_order_relaxed) + 1);
}

static td_device *find(const td_context *context)
{
    node *n = atomic_load(&devices);
    while (n && n->device.context != context) n = n->next;
    return n ? &n->device : NULL;
}

static td_device *add(td_context *context)
{
    node *n = calloc(1, sizeof *n);
    if (!n) return NULL;
    n->device.context = context;
    n->next = atomic_load(&devices);
    atomic_store(&devices, n);
    return &n->device;
}

td_device *td_device_current(void)
{
    td_context *context = td_context_current();
    if (!context) return NULL;
    const unsigned life = atomic_load(&context->life);
    td_device *d = find(context);
    if (!d || atomic_load(&d->life) != life || is_to_be_tried(d)) {
        pthread_mutex_lock(&td_devices_lock);
        d = find(context);
        if (!d) d = add(context);
        if (d && atomic_load(&d->life) != life)
            begin_life(d, life);
        else if (d && d->lacks_memory)
            try_again(d);
        pthread_mutex_unlock(&td_devices_lock);
    }
    return d && !d->is_refused ? d : NULL;
}

bool td_device_allow_graphs(td_device *d)
{
    pthread_mutex_lock(&td_devices_lock);
    bool done = d->graph_stream != NULL;
    if (!done) {
        cudaStream_t stream = NULL;
        const td_capture_mode mode = td_capture_allow();
        done = td_cuda_ok(find_graph_pool(d)) &&
               td_cuda_ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        td_capture_restore(mode);
        d->graph_stream = stream;
    }
    pthread_mutex_unlock(&td_devices_lock);
    return done;
}

void *td_device_map(void **memory, size_t bytes)
{
    const td_capture_mode mode = td_capture_allow();
    void *mapped = map_memory(memory, bytes);
    td_capture_restore(mode);
    return mapped;
}

bool td_device_keep_lines(td_device *d)
{
    pthread_mutex_lock(&td_devices_lock);
    if (!d->mapped_lines)
        d->mapped_lines =
            td_device_map((void **)&d->lines, (size_t)TD_SAMPLE_LINES * sizeof *d->lines);
    const bool done = d->mapped_lines != NULL;
    pthread_mutex_unlock(&td_devices_lock);
    return done;
}

/* ---- kernels ---- */

static bool is_loaded(td_device *d, td_loader *loader, int which)
{
    const unsigned count = atomic_load(&d->loaded);
    for (unsigned i = 0; i < count; i++)
        if (d->load[i].loader == loader && d->load[i].which == which) return true;
    return false;
}

/* Under the lock. */
static bool load(td_device *d, td_loader *loader, int which)
{
    const unsigned count = atomic_load(&d->loaded);
    const td_capture_mode mode = td_capture_allow();
    const bool done = td_cuda_ok(loader(which));
    td_capture_restore(mode);
    if (done && count < TD_MOST_LOADERS) { /* beyond that: every time */
        d->load[count].loader = loader;
        d->load[count].which = which;
        atomic_store(&d->loaded, count + 1);
    }
    return done;
}

bool td_device_load(td_device *device, td_loader *loader, int which)
{
    if (is_loaded(device, loader, which)) return true;
    pthread_mutex_lock(&td_devices_lock);
    const bool done = is_loaded(device, loader, which) || load(device, loader, which);
    pthread_mutex_unlock(&td_devices_lock);
    return done;
}

/* ---- memory and streams ---- */

bool td_device_reaches(const td_device *device, const void *p)
{
    struct cudaPointerAttributes attributes;
    if (!td_cuda_ok(cudaPointerGetAttributes(&attributes, p))) return false;
    switch (attributes.type) {
    case cudaMemoryTypeDevice:
        return attributes.device == device->ordinal;
    case cudaMemoryTypeHost:
    case cudaMemoryTypeManaged:
        return true;
    default:
        return false;
    }
}

bool td_device_sees(int ordinal, int peer)
{
    int can = 0;
    return td_cuda_ok(cudaDeviceCanAccessPeer(&can, ordinal, peer)) && can;
}

/* Under the lock. */
static bool open_pool(int ordinal, int peer)
{
    const struct cudaMemAccessDesc access = {
        .location = {.type = cudaMemLocationTypeDevice, .id = ordinal},
        .flags = cudaMemAccessFlagsProtReadWrite};
    return pools[peer] && td_device_sees(ordinal, peer) &&
           td_cuda_ok(cudaMemPoolSetAccess(pools[peer], &access, 1));
}

bool td_device_reaches_pool(int ordinal, int peer)
{
    static enum { UNKNOWN, REACHED, REFUSED } known[TD_MAX_DEVICES][TD_MAX_DEVICES];
    pthread_mutex_lock(&td_devices_lock);
    if (known[ordinal][peer] == UNKNOWN)
        known[ordinal][peer] = open_pool(ordinal, peer) ? REACHED : REFUSED;
    const bool is_reached = known[ordinal][peer] == REACHED;
    pthread_mutex_unlock(&td_devices_lock);
    return is_reached;
}

bool td_stream_is_capturing(cudaStream_t stream)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    return !td_cuda_ok(cudaStreamIsCapturing(stream, &status)) ||
           status != cudaStreamCaptureStatusNone;
}
