/* stub.h - what a function of CUDA does that the host device does not have: it says its name on
 * stderr, the first time, and answers that it is not supported. Stubs are weak: where another file
 * of the library defines the function, that one is taken; the symbols of stubs stay weak in the
 * library, by which `tandem doctor` knows them. They take no arguments, which callers do not
 * notice, as these clear the stack themselves. For the sources that write_stubs.py writes. */
#ifndef HOSTGPU_STUB_H
#define HOSTGPU_STUB_H

#include <stdatomic.h>
#include <stdio.h>

/* Says, once for each place that calls it, that the function is not there, and what it answers. */
#define HOSTGPU_SAY_MISSING(name, answer)                                                          \
    do {                                                                                           \
        static atomic_flag is_said = ATOMIC_FLAG_INIT;                                             \
        if (!atomic_flag_test_and_set(&is_said))                                                   \
            fprintf(stderr, "tandem: host device: " name " is not implemented: %s\n", answer);     \
    } while (0)

/* A name of its own for the compiler, which may know the function's true type. */
#define HOSTGPU_STUB(type, name)                                                                   \
    type stub_##name(void) __asm__(#name) __attribute__((weak));                                   \
    type stub_##name(void)

/* record(status): keeps the status where the library keeps those of its other functions, if it
 * does, and returns it. */
#define HOSTGPU_NOT_KEPT(status) (status)
#define HOSTGPU_STUB_STATUS(type, name, status, record)                                            \
    HOSTGPU_STUB(type, name)                                                                       \
    {                                                                                              \
        HOSTGPU_SAY_MISSING(#name, "it returns " #status);                                         \
        return record(status);                                                                     \
    }

/* Functions that return nothing, or something else than a status: zeros. */
#define HOSTGPU_STUB_VOID(name, status, record)                                                    \
    HOSTGPU_STUB(void, name)                                                                       \
    {                                                                                              \
        HOSTGPU_SAY_MISSING(#name, "it does nothing");                                             \
        (void)record(status);                                                                      \
    }
#define HOSTGPU_STUB_VALUE(type, name, status, record)                                             \
    HOSTGPU_STUB(type, name)                                                                       \
    {                                                                                              \
        type zero = {0};                                                                           \
        HOSTGPU_SAY_MISSING(#name, "it returns 0");                                                \
        (void)record(status);                                                                      \
        return zero;                                                                               \
    }

#endif
