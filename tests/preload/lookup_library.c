/* lookup_library.c - library NUMBER of lookup_library.h. */
#include "lookup_library.h"

#include <dlfcn.h>
#include <stddef.h>

#define NAME(start, number)    NAME_OF(start, number)
#define NAME_OF(start, number) start##number

/* Every library has this one, and the first that is found counts. */
lookup_number_function lookup_number, NAME(lookup_number_, NUMBER),
    NAME(lookup_next_, NUMBER), lookup_next, lookup_default;

int lookup_number(void) { return NUMBER; }

/* One has this name alone. */
int NAME(lookup_number_, NUMBER)(void) { return NUMBER; }

int NAME(lookup_next_, NUMBER)(void)
{
    lookup_number_function *next = (lookup_number_function *)dlsym(RTLD_NEXT, "lookup_number");
    return next ? next() : 0;
}

int lookup_next(void) { return NAME(lookup_next_, NUMBER)(); }

/* 1 if RTLD_DEFAULT finds, for this library, what only library 3 has. */
int lookup_default(void) { return dlsym(RTLD_DEFAULT, "lookup_number_3") != NULL; }
