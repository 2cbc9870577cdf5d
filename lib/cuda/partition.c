#include "partition.h"

#include <string.h>

#include "context.h"

/* The driver's functions, which the runtime finds: old drivers do not have all of them. */
typedef struct {
    __typeof__(&cuCtxGetCurrent) get_context;
    __typeof__(&cuCtxGetDevice) get_device;
    __typeof__(&cuDevicePrimaryCtxRetain) retain;
    __typeof__(&cuDevicePrimaryCtxRelease) release;
    __typeof__(&cuDeviceGetDevResource) get_resource;
    __typeof__(&cuDevSmResourceSplitByCount) split;
    __typeof__(&cuDevResourceGenerateDesc) describe;
    __typeof__(&cuGreenCtxCreate) create;
    __typeof__(&cuGreenCtxDestroy) destroy;
    __typeof__(&cuGreenCtxStreamCreate) create_stream;
    __typeof__(&cuStreamDestroy) destroy_stream;
} functions;

/* `to` is where a pointer to the function is. */
static bool find(const char *name, unsigned version, void *to)
{
    void *function = NULL;
    enum cudaDriverEntryPointQueryResult result;
    const cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &result);
    if (!td_cuda_ok(error) || !function) return false;
    memcpy(to, &function, sizeof function);
    return true;
}

static bool find_functions(functions *f)
{
    return find("cuCtxGetCurrent", 4000, &f->get_context) &&
           find("cuCtxGetDevice", 2000, &f->get_device) &&
           find("cuDevicePrimaryCtxRetain", 7000, &f->retain) &&
           find("cuDevicePrimaryCtxRelease", 11000, &f->release) &&
           find("cuDeviceGetDevResource", 12040, &f->get_resource) &&
           find("cuDevSmResourceSplitByCount", 12040, &f->split) &&
           find("cuDevResourceGenerateDesc", 12040, &f->describe) &&
           find("cuGreenCtxCreate", 12040, &f->create) &&
           find("cuGreenCtxDestroy", 12040, &f->destroy) &&
           find("cuGreenCtxStreamCreate", 12050, &f->create_stream) &&
           find("cuStreamDestroy", 4000, &f->destroy_stream);
}

/* The device of the current context, if that is the primary one. */
static bool find_device(const functions *f, CUdevice *device)
{
    CUcontext current, primary;
    if (f->get_context(&current) != CUDA_SUCCESS || f->get_device(device) != CUDA_SUCCESS ||
        f->retain(&primary, *device) != CUDA_SUCCESS)
        return false;
    (void)f->release(*device);
    return current == primary;
}

/* A green context of all multiprocessors but the first group that a large cluster fits. */
static bool create(const functions *f, CUdevice device, unsigned multiprocessors, CUgreenCtx *green)
{
    CUdevResource all, group, others;
    CUdevResourceDesc description;
    unsigned groups = 1;
    return f->get_resource(device, &all, CU_DEV_RESOURCE_TYPE_SM) == CUDA_SUCCESS &&
           f->split(&group, &groups, &all, &others,
                    CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE,
                    multiprocessors) == CUDA_SUCCESS &&
           groups == 1 && others.type == CU_DEV_RESOURCE_TYPE_SM &&
           f->describe(&description, &others, 1) == CUDA_SUCCESS &&
           f->create(green, description, device, CU_GREEN_CTX_DEFAULT_STREAM) == CUDA_SUCCESS;
}

bool td_partition_streams(int multiprocessors, const int *priorities, cudaStream_t *streams,
                          int count)
{
    functions f;
    CUdevice device;
    CUgreenCtx green;
    int made = 0;
    if (!find_functions(&f) || !find_device(&f, &device) ||
        !create(&f, device, (unsigned)multiprocessors, &green))
        return false;
    while (made < count && f.create_stream(&streams[made], green, CU_STREAM_NON_BLOCKING,
                                           priorities[made]) == CUDA_SUCCESS)
        made++;
    if (made == count) return true;
    while (made > 0) (void)f.destroy_stream(streams[--made]);
    (void)f.destroy(green);
    return false;
}
