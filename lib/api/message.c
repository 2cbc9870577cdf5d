#include "message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../call/process.h"

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

tandem_status td_refuse_second_copy(void)
{
    const char *first = td_process_stands_aside();
    if (!first) return TANDEM_OK;
    return td_fail(TANDEM_UNSUPPORTED,
                   "%.200s is loaded already, and this copy of Tandem stands aside", first);
}

tandem_status td_check_room(const char *text, size_t bytes, const size_t *needed)
{
    if (!needed) return td_fail(TANDEM_INVALID_VALUE, "needed is NULL; it must point to a size_t");
    if (!text && bytes)
        return td_fail(TANDEM_INVALID_VALUE, "text is NULL; it must have room for %zu bytes",
                       bytes);
    return TANDEM_OK;
}

void td_hand_over(char *made, size_t length, char *text, size_t bytes, size_t *needed)
{
    *needed = length + 1;
    if (length < bytes) memcpy(text, made, length + 1);
    free(made);
}
