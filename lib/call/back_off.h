/* back_off.h - what strategy adaptive makes of how the calls of one site ended: where emulation
 * lost, the next calls stay native, and after 2, 4, 8, ... of them one is tried. Pure: no CUDA
 * calls. */
#ifndef TD_BACK_OFF_H
#define TD_BACK_OFF_H

#include <stdbool.h>
#include <stdint.h>

/* The first and the most calls that stay native before a trial. The worst call that was measured
 * took 2.4 of native's time: one such trial in 257 calls adds half a hundredth to their time. And
 * a site whose data become good has lost no more than what 256 calls might have gained. */
enum { TD_LEAST_BACK_OFF = 2, TD_MOST_BACK_OFF = 256 };

typedef struct {
    uint32_t since;    /* the least number of a call whose end is still news */
    uint16_t wait;     /* calls that stay native before the next trial */
    uint16_t back_off; /* how many did, or do, before it */
    enum { TD_UNHEARD, TD_WON, TD_LOST } last; /* how the last call ended, as far as is known */
} td_back_off;

/* A site of which nothing is known, whose next emulated call has the number `next`. */
td_back_off td_back_off_begin(uint32_t next);

/* True if the end of the call with this number is news: a call that began before the last one that
 * was heard of says nothing. A graph's call has the number that it was captured with. */
bool td_back_off_is_news(td_back_off b, uint32_t ticket);

/* After the call with this number, whose end is news. */
td_back_off td_back_off_hear(td_back_off b, uint32_t ticket, bool has_lost);

/* True if the next call would be a trial. is_safe: it may be emulated while nothing is known; else
 * calls are tried one at a time until one has won. */
bool td_back_off_is_due(td_back_off b, bool is_safe);

/* Whether the next call is emulated, and what is known then. may_try: it can be a trial. One that
 * is due and cannot leaves all as it is, and stays native. The calls after a trial wait longer at
 * once: it may end late, or never. */
bool td_back_off_ask(td_back_off *b, bool is_safe, bool may_try);

/* All of it in one word, to be swapped at a time. */
uint64_t td_back_off_pack(td_back_off b);
td_back_off td_back_off_unpack(uint64_t word);

#endif
