/* reports.c - the public functions that count calls and tell what was counted. */
#include <stdlib.h>
#include <string.h>

#include "../../include/tandem.h"
#include "../call/process.h"
#include "message.h"

tandem_status tandem_count_calls(void)
{
    td_message_clear();
    td_process_count();
    return TANDEM_OK;
}

tandem_status tandem_report(char *text, size_t bytes, size_t *needed)
{
    size_t length = 0;
    td_message_clear();
    if (!needed) return td_fail(TANDEM_INVALID_VALUE, "needed is NULL; it must point to a size_t");
    if (!text && bytes)
        return td_fail(TANDEM_INVALID_VALUE, "text is NULL; it must have room for %zu bytes",
                       bytes);
    char *report = td_process_report(&length);
    if (!report)
        return td_fail(TANDEM_NO_MEMORY,
                       "there is no report: no call of tandem_count_calls, or no memory");
    *needed = length + 1;
    if (length < bytes) memcpy(text, report, length + 1);
    free(report);
    return TANDEM_OK;
}
