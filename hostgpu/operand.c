/* operand.c - the check that an operand of a stand-in's function is in device memory. */
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
