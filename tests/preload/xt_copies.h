/* xt_copies.h - asynchronous copies from and to the host memory of a test: one of them may fail,
 * and those that nobody has waited for are counted, and those that write what others may still be
 * about to read. On the host device a copy is done at once, so that its bytes cannot tell; here it
 * is under way until its stream is waited for, or one that waits for an event behind it. */
#ifndef TESTS_PRELOAD_XT_COPIES_H
#define TESTS_PRELOAD_XT_COPIES_H

#include <stddef.h>

/* From now on copies are counted, and number `failing` of them fails; 0: none does. */
void copies_begin(int failing);

/* Has the copies counted that begin or end in this memory; nothing where none are counted. */
void copies_watch(const void *start, size_t bytes);

/* Returns how many copies were counted, and sets *under_way to those that nobody has waited for. */
int copies_end(int *under_way);

/* Of the copies that were counted last, how many wrote bytes that another one was to read which
 * they did not wait for. */
int copies_too_early(void);

#endif
