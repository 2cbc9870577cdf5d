/* check_diagnostics.c - every mistake that the executor can see is reported, fails its launch, and
 * leaves the process and later launches as they were. */
#include "executor_kernels.h"
#include "expect.h"

/* What stderr must hold for a mistake in the last of three blocks. */
static const struct {
    fault kind;
    const char *text[4];
} cases[FAULT_COUNT] = {
    {FAULT_EXIT_BEFORE_BARRIER,
     {"kernel exit_before_barrier, block (2,0,0): threads wait for others that never come",
      "40 threads, first (0,0,0), waiting at __syncthreads, ",
      "executor_kernels.cu:", "24 threads, first (40,0,0), exited"}},
    {FAULT_HALF_AT_BARRIER,
     {"kernel half_at_barrier, block (2,0,0): threads wait for others that never come",
      "32 threads, first (0,0,0), waiting at __syncthreads, ",
      "executor_kernels.cu:", "32 threads, first (32,0,0), exited"}},
    {FAULT_TWO_BARRIERS,
     {"kernel two_barriers, block (2,0,0): threads wait at different barriers",
      "32 threads, first (0,0,0), waiting at __syncthreads, ",
      "executor_kernels.cu:", "32 threads, first (1,0,0), waiting at __syncthreads, "}},
    {FAULT_BARRIER_AND_SHUFFLE,
     {"kernel barrier_and_shuffle, block (2,0,0): threads wait for others that never come",
      "32 threads, first (0,0,0), waiting at __syncthreads, ", "executor_kernels.cu:",
      "32 threads, first (1,0,0), waiting at a shuffle with mask 0xffffffff, "}},
    {FAULT_EXITED_LANE,
     {"kernel exited_lane, block (2,0,0): the mask 0xffffffff at ", "executor_kernels.cu:",
      " names lanes that have exited: 0x00000020", "1 thread, first (5,0,0), exited"}},
    {FAULT_NOT_IN_MASK,
     {"kernel not_in_mask, block (2,0,0): lane 0 is not in the mask 0xfffffffe of its warp "
      "operation",
      "executor_kernels.cu:", "64 threads, first (0,0,0), running or ready to run", ""}},
    {FAULT_SOURCE_OUTSIDE_MASK,
     {"kernel source_outside_mask, block (2,0,0): lane 1 reads lane 0, which is not in the "
      "shuffle's "
      "mask 0xaaaaaaaa",
      "16 threads, first (1,0,0), waiting at a shuffle with mask 0xaaaaaaaa, ",
      "executor_kernels.cu:", ""}},
    {FAULT_DIFFERENT_WARP_OPS,
     {"kernel different_warp_ops, block (2,0,0): lanes of a warp wait at different warp operations",
      "16 threads, first (0,0,0), waiting at a ballot with mask 0xffffffff, ",
      "16 threads, first (1,0,0), waiting at __syncwarp with mask 0xffffffff, ",
      "executor_kernels.cu:"}},
    {FAULT_MISSING_LANE,
     {"kernel missing_lane, block (2,0,0): threads wait for others that never come",
      "62 threads, first (0,0,0), waiting at __syncwarp with mask 0xffffffff, ",
      "2 threads, first (31,0,0), waiting at __syncthreads, ", "executor_kernels.cu:"}},
    {FAULT_JOIN_IN_PART,
     {"kernel join_in_part, block (2,0,0): of a warp's lanes only 0x0000ffff join their values",
      "16 threads, first (32,0,0), waiting at td_warp_join with mask 0x0000ffff, ", "warp.h:", ""}},
    {FAULT_TRAP,
     {"kernel trap, block (2,0,0): __trap() at ", "executor_kernels.cu:", " by thread (33,0,0)",
      ""}},
    {FAULT_STATIC_SHARED,
     {"kernel static_shared, block (",
      "52000 bytes of static shared memory with 'second'; a device "
      "has 49152",
      "", ""}},
};

static void check_text(const char *said, const char *const text[4])
{
    for (int i = 0; i < 4; i++)
        if (!strstr(said, text[i])) fail_msg("'%s' is not in:\n%s", text[i], said);
    for (const char *line = said; *line; line = strchr(line, '\n') + 1)
        assert_memory_equal(line, "tandem: ", 8);
}

static void check_aftermath(int *out)
{
    expect_success(launch_reverse_static(3, out));
    for (int i = 0; i < 3 * 256; i++) assert_int_equal(out[i], i / 256 * 256 + 255 - i % 256);
}

/* Runs with one worker and threads in order, so that the report is always the same. */
TEST(test_faults)
{
    int *out = NULL;

    expect_success(cudaMalloc((void **)&out, 3 * 256 * sizeof *out));
    for (int i = 0; i < FAULT_COUNT; i++) {
        capture c = start_capture();
        const cudaError_t error = launch_fault(cases[i].kind, 3, out);
        char *said = end_capture(c);

        assert_int_equal(error, cudaErrorLaunchFailure);
        assert_int_equal(cudaGetLastError(), cudaErrorLaunchFailure);
        check_text(said, cases[i].text);
        free(said);
        check_aftermath(out);
    }
    cudaFree(out);
}
