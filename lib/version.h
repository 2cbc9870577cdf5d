/* version.h - the version as text. */
#ifndef TD_VERSION_H
#define TD_VERSION_H

#include "../include/tandem.h"

#define TD_STRING(x) #x
#define TD_VERSION_OF(major, minor, patch)                                                         \
    TD_STRING(major) "." TD_STRING(minor) "." TD_STRING(patch)
#define TD_VERSION TD_VERSION_OF(TANDEM_VERSION_MAJOR, TANDEM_VERSION_MINOR, TANDEM_VERSION_PATCH)

#endif
