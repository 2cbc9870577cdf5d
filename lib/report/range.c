#include "range.h"

#include <pthread.h>
#include <stddef.h>

#include "../options/environment.h"

/* The header-only NVTX of CUDA toolkits; a build without it has no ranges. */
#if defined __has_include
#if __has_include(<nvtx3/nvToolsExt.h>)
#define HAS_NVTX 1
#endif
#endif

#ifdef HAS_NVTX

#include <nvtx3/nvToolsExt.h>

static nvtxDomainHandle_t domain; /* NULL: nobody watches */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* NVTX loads the library that this variable names, and so is not asked in programs that have no
 * environment. */
static void look_for_profiler(void)
{
    if (td_environment_value("NVTX_INJECTION64_PATH")) domain = nvtxDomainCreateA("Tandem");
}

bool td_range_is_watched(void)
{
    pthread_once(&once, look_for_profiler);
    return domain != NULL;
}

void td_range_begin(const char *text)
{
    nvtxEventAttributes_t event = {0};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = text;
    nvtxDomainRangePushEx(domain, &event);
}

void td_range_end(void) { nvtxDomainRangePop(domain); }

#else

bool td_range_is_watched(void) { return false; }
void td_range_begin(const char *text) { (void)text; }
void td_range_end(void) {}

#endif
