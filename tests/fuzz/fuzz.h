/* fuzz.h - what the fuzzers share. Each one is a source with fuzz_one, and a folder of inputs of
 * its name. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Hands an input to the reader that is tested. It must not crash, leak or read what is not there,
 * whatever the input. */
void fuzz_one(const uint8_t *data, size_t bytes);

/* A file with this content, which only its owner may write, for readers that take a path; the same
 * name each time. */
const char *fuzz_file(const uint8_t *data, size_t bytes);

#endif
