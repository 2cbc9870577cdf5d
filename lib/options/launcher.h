/* launcher.h - what mpirun, srun or torchrun says of this process in variables of its own: its
 * rank, and how many ranks there are on this machine. Pure: no CUDA calls. */
#ifndef TD_LAUNCHER_H
#define TD_LAUNCHER_H

typedef struct {
    long rank;  /* of this process among all of the program; 0 without a launcher */
    long local; /* how many ranks the launcher started on this machine; 1 without a launcher */
} td_launch;

/* What the launcher that is nearest to this process says in the environment. */
td_launch td_launch_find(void);

#endif
