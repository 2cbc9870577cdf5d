/* outcome.h - how an emulated call ended, in one word that the device leaves in host memory:
 * reading it needs no lock, and waits for nothing. For host C and for kernels. */
#ifndef TD_OUTCOME_H
#define TD_OUTCOME_H

/* The word's fields, from its last bit on: how many bits each has. A field that has no room for
 * a number holds the most that it can. */
enum {
    /* Elements that were repaired outside of `tiles`, for each tile of C, rounded up. */
    TD_BITS_OF_SINGLES = 10,

    /* The share of C's tiles that binary64 made as a whole, of TD_OUTCOME_ALL. */
    TD_BITS_OF_TILES = 9,

    /* td_counters.work: 0 if nothing was estimated. */
    TD_BITS_OF_WORK = 7,

    /* td_counters.planes. */
    TD_BITS_OF_PLANES = 6,

    /* The call's number among those of its site. */
    TD_BITS_OF_TICKET = 32
};

/* All tiles of C, and only all; a tile has TD_ELEMENTS_OF_TILE elements, the square of TD_TILE
 * (../view/target.h). */
enum { TD_OUTCOME_ALL = (1 << TD_BITS_OF_TILES) - 1, TD_ELEMENTS_OF_TILE = 64 * 64 };

#endif
