/* cmocka_all.h - cmocka.h with the headers that it wants before it. */
#ifndef TD_TEST_CMOCKA_ALL_H
#define TD_TEST_CMOCKA_ALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
