/* factors.h - how the measured factors of a way, or of a timed routine, are laid out. */
#ifndef TD_FACTORS_H
#define TD_FACTORS_H

/* What calls took, over what was predicted without these factors: in 32nds of an octave, at most
 * 127 either way. Of single products whose sizes of C are TD_LEAST_SIZE 2^i >= TD_LEAST_SIZE 2^j
 * and whose k is TD_LEAST_SIZE 2^h, at (i (i + 1) / 2 + j) TD_SIZES + h; and, after these, of
 * batches of cubes of TD_LEAST_CUBE 2^i. Between them, and beyond, the model interpolates in the
 * sizes' logarithms. */
enum {
    TD_LEAST_SIZE = 64,
    TD_SIZES = 9,
    TD_LEAST_CUBE = 16,
    TD_CUBES = 7,
    TD_PAIRS = TD_SIZES * (TD_SIZES + 1) / 2,
    TD_FACTORS = TD_PAIRS * TD_SIZES + TD_CUBES,
    TD_OCTAVE = 32,
    TD_MOST_FACTOR = 127
};

#endif
