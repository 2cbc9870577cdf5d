/* outcome_word.h - the word that a device would leave of a call (kernels/device/outcome.h). */
#ifndef TEST_OUTCOME_WORD_H
#define TEST_OUTCOME_WORD_H

#include "lib/model/spent.h"

static inline unsigned long long outcome_word(td_outcome o)
{
    unsigned long long word = o.ticket;
    word = word << TD_BITS_OF_PLANES | o.planes;
    word = word << TD_BITS_OF_WORK | o.work;
    word = word << TD_BITS_OF_TILES | o.tiles;
    return word << TD_BITS_OF_SINGLES | o.singles;
}

#endif
