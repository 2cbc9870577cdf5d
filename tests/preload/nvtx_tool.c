/* nvtx_tool.c - stands for a profiler: NVTX loads it by NVTX_INJECTION64_PATH, and it prints
 * each domain that is created, and the ranges of "Tandem" with their depth, on stderr. */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>

__attribute__((visibility("default"))) int
InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

static int depth;

static nvtxDomainHandle_t NVTX_API create(const char *name)
{
    static int domain;
    fprintf(stderr, "domain %s\n", name);
    return (nvtxDomainHandle_t)(void *)&domain;
}

static int NVTX_API push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
    (void)domain;
    fprintf(stderr, "range %d %s\n", depth, event->message.ascii);
    return depth++;
}

static int NVTX_API pop(nvtxDomainHandle_t domain)
{
    (void)domain;
    return --depth;
}

/* A function pointer of NVTX's kind. */
#define SET(id, function) *table[id] = (NvtxFunctionPointer)(function)

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    NvtxFunctionTable table = NULL;
    unsigned size = 0;
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) ||
        size <= NVTX_CBID_CORE2_DomainCreateA)
        return 0;
    SET(NVTX_CBID_CORE2_DomainCreateA, create);
    SET(NVTX_CBID_CORE2_DomainRangePushEx, push);
    SET(NVTX_CBID_CORE2_DomainRangePop, pop);
    return 1;
}
