#include "back_off.h"

td_back_off td_back_off_begin(uint32_t next)
{
    return (td_back_off){.since = next, .back_off = TD_LEAST_BACK_OFF / 2, .last = TD_UNHEARD};
}

/* Numbers begin anew after 2^32: the nearer way round counts. */
bool td_back_off_is_news(td_back_off b, uint32_t ticket)
{
    return ticket - b.since <= UINT32_MAX / 2;
}

static uint16_t at_least(uint16_t value, uint16_t least) { return value > least ? value : least; }

td_back_off td_back_off_hear(td_back_off b, uint32_t ticket, bool has_lost)
{
    b.since = ticket;
    if (!has_lost) return (td_back_off){ticket, 0, TD_LEAST_BACK_OFF / 2, TD_WON};
    if (b.last == TD_LOST) return b; /* as was expected of a trial */
    b.last = TD_LOST;
    b.wait = at_least(b.wait, TD_LEAST_BACK_OFF);
    b.back_off = at_least(b.back_off, TD_LEAST_BACK_OFF);
    return b;
}

static bool is_free(td_back_off b, bool is_safe)
{
    return b.last == TD_WON || (b.last == TD_UNHEARD && is_safe);
}

bool td_back_off_is_due(td_back_off b, bool is_safe) { return !is_free(b, is_safe) && b.wait == 0; }

bool td_back_off_ask(td_back_off *b, bool is_safe, bool may_try)
{
    if (is_free(*b, is_safe)) return true;
    if (b->wait > 0) {
        b->wait--;
        return false;
    }
    if (!may_try) return false;
    if (b->back_off < TD_MOST_BACK_OFF) b->back_off = (uint16_t)(2 * b->back_off);
    b->wait = b->back_off;
    return true;
}

uint64_t td_back_off_pack(td_back_off b)
{
    return (uint64_t)b.since << 32 | (uint64_t)b.back_off << 16 | (uint64_t)b.wait << 2 |
           (uint64_t)b.last;
}

td_back_off td_back_off_unpack(uint64_t word)
{
    return (td_back_off){.since = (uint32_t)(word >> 32),
                         .back_off = (uint16_t)(word >> 16 & UINT16_MAX),
                         .wait = (uint16_t)(word >> 2 & (UINT16_MAX >> 2)),
                         .last = word & 3};
}
