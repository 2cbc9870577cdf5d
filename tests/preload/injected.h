/* injected.h - a program that is preloaded tries what becomes of it when calls fail: of the host
 * device's runtime, and allocations of Tandem's on the host. */
#ifndef INJECTED_H
#define INJECTED_H

#include <stdbool.h>

/* The first three as HOSTGPU_FAULT_ALLOCATION, _LAUNCH and _LOAD. */
enum {
    INJECTED_ALLOCATION,
    INJECTED_LAUNCH,
    INJECTED_LOAD,
    INJECTED_HOST_ALLOCATION,
    INJECTED_KINDS
};

/* From now on `count` calls of that kind fail, the next being number 1, from number `first` on. */
void inject(int kind, unsigned long long first, unsigned long long count);

/* How many of them have failed. */
unsigned long long injected(int kind);

/* Runs in a process of its own, during which such calls are to fail; ends by injected_end if all is
 * right, and by another status than 0 if not. */
typedef void injected_trial(int kind, unsigned long long first, unsigned long long count);
_Noreturn void injected_end(bool has_failed);

/* False without a host device, or without Tandem. */
bool injected_prepare(void);

/* Each call of each kind fails once, and from the first on all of them; in a process of its own
 * each time, as much happens once in a process. Prints "NAMEKIND: " and how many there are of each
 * kind, -1 if something went wrong; and for all of them the trial's status. */
void inject_everywhere(const char *name, injected_trial *trial);

#endif
