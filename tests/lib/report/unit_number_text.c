/* Numbers as text: three digits, and all bits. */
#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"
#include "lib/report/number_text.h"

TEST(three_digits_are_kept)
{
    assert_string_equal(td_number_short(0.0).text, "0.00e+00");
    assert_string_equal(td_number_short(-1.2345e-16).text, "-1.23e-16");
    assert_string_equal(td_number_short(9.999).text, "1.00e+01");
    assert_string_equal(td_number_short(1e300).text, "1.00e+300");
    assert_string_equal(td_number_short((double)INFINITY).text, "inf");
    assert_string_equal(td_number_short(-(double)INFINITY).text, "-inf");
    assert_string_equal(td_number_short((double)NAN).text, "nan");
}

TEST(all_bits_come_back)
{
    static const uint64_t bits[] = {0,
                                    1,
                                    0x8000000000000000,
                                    0x3ff0000000000000,
                                    0xbff123456789abcd,
                                    0x000fffffffffffff,
                                    0x0010000000000000,
                                    0x7fefffffffffffff,
                                    0x7ff0000000000000};
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        double x, y;
        memcpy(&x, &bits[i], sizeof x);
        y = strtod(td_number_exact(x).text, NULL);
        assert_memory_equal(&x, &y, sizeof x);
    }
    assert_string_equal(td_number_exact(1.5).text, "0x1.8000000000000p+0");
}

/* A comma is the decimal sign of some, if any such locale is installed. */
TEST(locales_change_nothing)
{
    if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "fr_FR.UTF-8")) skip();
    assert_string_equal(td_number_short(1.5).text, "1.50e+00");
    assert_string_equal(td_number_exact(1.5).text, "0x1.8000000000000p+0");
    setlocale(LC_ALL, "C");
}
