/* lookup_library.h - libraries, numbered 1 to 3, that look functions up for whoever calls them. Program and library 1 and 2
 * are linked; 3 is opened. */
#ifndef LOOKUP_LIBRARY_H
#define LOOKUP_LIBRARY_H

typedef int lookup_number_function(void);

/* The number that the function lookup_number has after this library, in the dynamic linker's order; 0 if there is none. */
lookup_number_function lookup_next_1, lookup_next_2;

#endif
