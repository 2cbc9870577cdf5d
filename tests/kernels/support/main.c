#include "tests/support/test.h"

#include <errno.h>

#include "device.h"

/* Of a program that runs on a device and has no other main. */
__attribute__((weak)) int main(void)
{
    device_require();
    return test_run(.name = program_invocation_short_name);
}
