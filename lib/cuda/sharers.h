/* sharers.h - how many ranks use a device, as the ranks themselves count: each takes the first of
 * the device's numbers that is free, and the system gives it back when the process ends. Nobody
 * waits for anybody, and nothing is left behind. */
#ifndef TD_SHARERS_H
#define TD_SHARERS_H

/* Takes the device's lowest free number, from 0, for the rest of the process's life: ranks of the
 * same user have those below it. Returns 0, too, if they cannot be counted. Others see it only in
 * the same network namespace. */
int td_sharers_take_number(int ordinal);

#endif
