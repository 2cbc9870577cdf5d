#define _GNU_SOURCE 1
#include "environment.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

char *const *td_environment(void)
{
    static char *const none[] = {NULL};
    return environ && !getauxval(AT_SECURE) ? environ : none;
}

const char *td_environment_value(const char *name) { return secure_getenv(name); }

bool td_environment_has(long process, const char *setting)
{
    enum { ROOM = 1 << 20 };
    char path[64];
    size_t length = 0;
    ssize_t more = 1;
    bool is_found = false;
    snprintf(path, sizeof path, "/proc/%ld/environ", process);
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    char *text = descriptor < 0 ? NULL : malloc(ROOM);
    while (text && more > 0) {
        more = read(descriptor, text + length, ROOM - 1 - length);
        if (more > 0) length += (size_t)more;
    }
    if (text) text[length] = '\0';
    for (const char *at = text; at && at < text + length && !is_found; at += strlen(at) + 1)
        is_found = strcmp(at, setting) == 0;
    free(text);
    if (descriptor >= 0) close(descriptor);
    return is_found;
}
