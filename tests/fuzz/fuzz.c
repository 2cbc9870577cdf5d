#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void need(int is_good, const char *what)
{
    if (is_good) return;
    perror(what);
    exit(1);
}

const char *fuzz_file(const uint8_t *data, size_t bytes)
{
    static int descriptor = -1;
    static char path[64];
    if (descriptor < 0) {
        descriptor = memfd_create("fuzz", MFD_CLOEXEC);
        need(descriptor >= 0 && fchmod(descriptor, 0600) == 0, "memfd_create");
        snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    }
    need(ftruncate(descriptor, 0) == 0, "ftruncate");
    for (size_t done = 0; done < bytes;) {
        const ssize_t more = pwrite(descriptor, data + done, bytes - done, (off_t)done);
        need(more > 0, "pwrite");
        done += (size_t)more;
    }
    return path;
}

/* What libFuzzer calls. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    fuzz_one(data, bytes);
    return 0;
}
