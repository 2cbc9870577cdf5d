/* operand.c - the checks that an operand of a stand-in's function is in device memory, and that its
 * handle is of the current context. */
#include <stdio.h>

#include "blas.h"
#include "executor.h"

bool hostgpu_check_operand(const char *function, const char *operand, const void *pointer,
                           size_t bytes)
{
    if (!bytes || hostgpu_is_device_memory(pointer, bytes)) return true;
    fprintf(stderr, "tandem: host device: %s: %s, %zu bytes at %p, is not all in device memory\n",
            function, operand, bytes, pointer);
    return false;
}

bool hostgpu_check_context(unsigned long long context, const char *function)
{
    if (context == hostgpu_context_number()) return true;
    fprintf(stderr, "tandem: host device: %s: the context that the handle was made in %s\n",
            function, hostgpu_is_context_number(context) ? "is not the current one" : "is gone");
    return false;
}
