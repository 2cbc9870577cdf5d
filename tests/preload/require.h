/* require.h - calls of CUDA and cuBLAS that a client cannot go on without. REQUIRE says which one
 * failed, with its status, and ends the process with 3. */
#ifndef REQUIRE_H
#define REQUIRE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define REQUIRE(call)                                                                              \
    do {                                                                                           \
        const int required = (int)(call);                                                          \
        if (required) {                                                                            \
            fprintf(stderr, "%s: %s: error %d\n", program_invocation_short_name, #call, required); \
            exit(3);                                                                               \
        }                                                                                          \
    } while (0)

#endif
