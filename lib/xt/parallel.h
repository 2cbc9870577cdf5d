/* parallel.h - the same function for several numbers at a time, each in a thread of its own. What a
 * call does for a device keeps a thread waiting wherever memory is pageable. Pure: no CUDA calls.
 */
#ifndef TD_PARALLEL_H
#define TD_PARALLEL_H

/* Runs run(of, i) for i = 0 .. count - 1 and returns when all have returned. Number 0 is the
 * calling thread's, as is any for which the system has no thread. The threads get no signals of the
 * program's. */
void td_parallel(int count, void (*run)(void *of, int i), void *of);

#endif
