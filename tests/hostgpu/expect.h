/* expect.h - what the tests of the host device share. */
#ifndef EXPECT_H
#define EXPECT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

#include "../support/test.h"

#define expect_success(call) assert_int_equal((call), cudaSuccess)

/* The call fails so, and the failure is the thread's last error, once. */
#define expect_error(call, error)                                                                  \
    do {                                                                                           \
        assert_int_equal((call), (error));                                                         \
        assert_int_equal(cudaGetLastError(), (error));                                             \
        assert_int_equal(cudaGetLastError(), cudaSuccess);                                         \
    } while (0)

/* Free memory of a device of HOSTGPU_MEMORY=64M. */
enum { DEVICE_BYTES = 64 << 20 };
static inline size_t free_bytes(void)
{
    size_t available = 0, total = 0;

    expect_success(cudaMemGetInfo(&available, &total));
    assert_int_equal(total, DEVICE_BYTES);
    return available;
}

/* Frees each of some pieces of device memory: free_memory(a, b). */
#define free_memory(...)                                                                           \
    free_memory_of((void *[]){__VA_ARGS__}, sizeof((void *[]){__VA_ARGS__}) / sizeof(void *))
static inline void free_memory_of(void *const *memory, size_t count)
{
    for (size_t i = 0; i < count; i++) expect_success(cudaFree(memory[i]));
}

/* stderr goes into a file from start_capture until end_capture, which gives the text; to be
 * freed. */
typedef struct {
    FILE *file;
    int old;
} capture;

static inline capture start_capture(void)
{
    capture c = {.file = tmpfile(), .old = dup(STDERR_FILENO)};

    assert_non_null(c.file);
    fflush(stderr);
    dup2(fileno(c.file), STDERR_FILENO);
    return c;
}

static inline char *end_capture(capture c)
{
    fflush(stderr);
    dup2(c.old, STDERR_FILENO);
    close(c.old);
    fseek(c.file, 0, SEEK_END);
    const long bytes = ftell(c.file);
    rewind(c.file);
    char *text = calloc((size_t)bytes + 1, 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)bytes, c.file), bytes);
    fclose(c.file);
    return text;
}

#endif
