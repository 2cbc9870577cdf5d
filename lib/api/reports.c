/* reports.c - the public functions that count calls and tell what was counted. */
#include "../../include/tandem.h"
#include "../call/process.h"
#include "message.h"

tandem_status tandem_count_calls(void)
{
    td_message_clear();
    const tandem_status status = td_refuse_second_copy();
    if (status == TANDEM_OK) td_process_count();
    return status;
}

tandem_status tandem_report(char *text, size_t bytes, size_t *needed)
{
    size_t length = 0;
    td_message_clear();
    const tandem_status status = td_check_room(text, bytes, needed);
    if (status != TANDEM_OK) return status;
    char *report = td_process_report(&length);
    if (!report)
        return td_fail(TANDEM_NO_MEMORY,
                       "there is no report: no call of tandem_count_calls, or no memory");
    td_hand_over(report, length, text, bytes, needed);
    return TANDEM_OK;
}
