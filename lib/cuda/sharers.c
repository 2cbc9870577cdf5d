#include "sharers.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../options/file.h"
#include "context.h"

enum { MOST_NUMBERS = 256, UUID_TEXT = 2 * sizeof(cudaUUID_t) + 1 };

static void print_uuid(const cudaUUID_t *uuid, char text[UUID_TEXT])
{
    for (size_t i = 0; i < sizeof uuid->bytes; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", (unsigned char)uuid->bytes[i]);
}

/* A name without a file, by which one socket at a time can be called. */
static socklen_t name_of(const char *uuid, int number, struct sockaddr_un *name)
{
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    const int length = snprintf(name->sun_path + 1, sizeof name->sun_path - 1,
                                "tandem-device-%u-%s-%d", (unsigned)getuid(), uuid, number);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

/* The first free number, kept by a socket that stays open; -1 if there is none. */
static int take_number(const char *uuid)
{
    const td_file_standard taken = td_file_take_standard();
    const int held = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    td_file_leave_standard(&taken);
    for (int number = 0; held >= 0 && number < MOST_NUMBERS; number++) {
        struct sockaddr_un name;
        const socklen_t length = name_of(uuid, number, &name);
        if (bind(held, (const struct sockaddr *)&name, length) == 0) return number;
        if (errno != EADDRINUSE) break;
    }
    if (held >= 0) (void)close(held);
    return -1;
}

int td_sharers_take_number(int ordinal)
{
    struct cudaDeviceProp props;
    char uuid[UUID_TEXT];
    if (!td_cuda_ok(cudaGetDeviceProperties(&props, ordinal))) return 0;
    print_uuid(&props.uuid, uuid);
    const int number = take_number(uuid);
    return number < 0 ? 0 : number;
}
