#define _GNU_SOURCE 1
#include "environment.h"

#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

char *const *td_environment(void)
{
    static char *const none[] = {NULL};
    return environ && !getauxval(AT_SECURE) ? environ : none;
}

const char *td_environment_value(const char *name) { return secure_getenv(name); }
