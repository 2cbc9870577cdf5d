/* capture.h - what code under test writes to stderr, for cmocka tests. */
#ifndef TD_TEST_CAPTURE_H
#define TD_TEST_CAPTURE_H

#include <stddef.h>

enum { CAPTURE_BYTES = 1 << 16 };

/* Sends stderr to a file until capture_end. */
void capture_begin(void);

/* Gives stderr back. The text, valid until the next call; *lines (if not NULL) receives its number
 * of lines. */
const char *capture_end(int *lines);

/* The same of a text of so many lines: the test fails if there are others. */
#define capture_of(lines) capture_end_of(lines, __FILE__, __LINE__)
const char *capture_end_of(int lines, const char *file, int line);

/* The content of a file as a string, valid until the next call; NULL if it cannot be read. */
const char *read_text(const char *path);

/* The path of a new, empty folder, valid until the next call; remove_folder removes it with its
 * files. */
const char *make_folder(void);
void remove_folder(const char *path);

#endif
