#include "message.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char last_message[1024];

const char *tandem_last_message(void) { return last_message; }

tandem_status td_fail(tandem_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_message, sizeof last_message, format, arguments);
    va_end(arguments);
    return status;
}

void td_message_clear(void) { last_message[0] = '\0'; }
