#include "test.h"

#include <errno.h>

int main(void) { return test_run(.name = program_invocation_short_name); }
