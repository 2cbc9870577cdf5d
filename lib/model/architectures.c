#include "architectures.h"

#include <stddef.h>

#define ARCHITECTURE(...) {__VA_ARGS__},
static const td_architecture rows[] = {
#include "architectures.def"
};

const td_architecture *td_architecture_of(int capability)
{
    size_t i = 0;
    while (i + 1 < sizeof rows / sizeof *rows && rows[i + 1].capability <= capability) i++;
    return &rows[i];
}
