/* number_text.h - binary64 numbers as text, the same in every locale (printf's have the decimal
 * sign of the application's). Pure: no CUDA calls. */
#ifndef TD_NUMBER_TEXT_H
#define TD_NUMBER_TEXT_H

enum { TD_NUMBER_BYTES = 40 };

typedef struct {
    char text[TD_NUMBER_BYTES];
} td_number;

/* Three digits, as 1.23e-16; "nan" and "inf" for those. */
td_number td_number_short(double x);

/* All bits, as C's %a has them, which float.fromhex of Python and strtod of C read. */
td_number td_number_exact(double x);

#endif
