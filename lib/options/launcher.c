#include "launcher.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "environment.h"

/* Launchers start one another: a batch system an mpirun, and that a torchrun. The nearest to the
 * program comes first. Each sets both of its variables. */
static const struct {
    const char *rank, *local;
} launchers[] = {
    {"RANK", "LOCAL_WORLD_SIZE"},                           /* torchrun */
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"}, /* mpirun of Open MPI */
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"},   /* mpirun of MVAPICH2 */
    {"PMI_RANK", "MPI_LOCALNRANKS"},                        /* mpiexec of MPICH and Intel */
    {"SLURM_PROCID", "SLURM_STEP_TASKS_PER_NODE"},          /* srun */
};

/* The number that a variable begins with: srun's are lists such as "4(x2),3", one count a node, of
 * which the first one counts. False if the variable is not set, or begins with none. */
static bool read_number(const char *name, long least, long *number)
{
    const char *text = td_environment_value(name);
    if (!text || !isdigit((unsigned char)text[0])) return false;
    char *end;
    errno = 0;
    *number = strtol(text, &end, 10);
    return !errno && *number >= least && (*end == '\0' || *end == '(' || *end == ',');
}

td_launch td_launch_find(void)
{
    td_launch launch;
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (read_number(launchers[i].rank, 0, &launch.rank) &&
            read_number(launchers[i].local, 1, &launch.local))
            return launch;
    return (td_launch){.rank = 0, .local = 1};
}
