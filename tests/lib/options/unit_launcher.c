/* What launchers say of a process. */
#include <stdlib.h>

#include "tests/support/test.h"
#include "lib/options/launcher.h"

/* The variables that each launcher sets, and others of the same machine that must not count. */
static const struct {
    const char *variables[9]; /* names and values in turn */
    td_launch expected;
} cases[] = {
    {{NULL}, {0, 1}},
    {{"OMPI_COMM_WORLD_RANK", "5", "OMPI_COMM_WORLD_LOCAL_SIZE", "4"}, {5, 4}},
    {{"MV2_COMM_WORLD_RANK", "6", "MV2_COMM_WORLD_LOCAL_SIZE", "3"}, {6, 3}},
    {{"PMI_RANK", "7", "MPI_LOCALNRANKS", "8"}, {7, 8}},
    {{"RANK", "3", "LOCAL_WORLD_SIZE", "2"}, {3, 2}},
    {{"SLURM_PROCID", "9", "SLURM_STEP_TASKS_PER_NODE", "4(x2),3"}, {9, 4}},
    {{"SLURM_PROCID", "9", "SLURM_STEP_TASKS_PER_NODE", "2,3"}, {9, 2}},
    /* the nearest launcher: an mpirun in a batch script, a torchrun of an mpirun */
    {{"SLURM_PROCID", "0", "SLURM_STEP_TASKS_PER_NODE", "1", "OMPI_COMM_WORLD_RANK", "5",
      "OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
     {5, 4}},
    {{"OMPI_COMM_WORLD_RANK", "1", "OMPI_COMM_WORLD_LOCAL_SIZE", "1", "RANK", "6",
      "LOCAL_WORLD_SIZE", "4"},
     {6, 4}},
    /* a variable alone, such as a program's own RANK, is no launcher */
    {{"RANK", "3"}, {0, 1}},
    {{"PMI_RANK", "3", "SLURM_PROCID", "4", "SLURM_STEP_TASKS_PER_NODE", "5"}, {4, 5}},
    /* what is no number, or none that counts ranks */
    {{"RANK", "first", "LOCAL_WORLD_SIZE", "2"}, {0, 1}},
    {{"RANK", "-1", "LOCAL_WORLD_SIZE", "2"}, {0, 1}},
    {{"RANK", "", "LOCAL_WORLD_SIZE", "2"}, {0, 1}},
    {{"RANK", "1x", "LOCAL_WORLD_SIZE", "2"}, {0, 1}},
    {{"RANK", "1", "LOCAL_WORLD_SIZE", "0"}, {0, 1}},
    {{"RANK", "99999999999999999999", "LOCAL_WORLD_SIZE", "2"}, {0, 1}},
};

TEST(the_nearest_launcher_counts)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const *at = cases[i].variables;
        for (; *at; at += 2) setenv(at[0], at[1], 1);
        const td_launch launch = td_launch_find();
        assert_int_equal(launch.rank, cases[i].expected.rank);
        assert_int_equal(launch.local, cases[i].expected.local);
        while (at > cases[i].variables) unsetenv(*(at -= 2));
    }
}

int main(void)
{
    clearenv();
    return test_run();
}
