/* regions.c - the public functions that change what is in force while a process runs. */
#include <stdio.h>
#include <string.h>

#include "../../include/tandem.h"
#include "../call/process.h"
#include "message.h"

/* What is wrong with an argument, before anything is read from it. */
static tandem_status check(const char *name, const char *text)
{
    td_message_clear();
    if (!text) return td_fail(TANDEM_INVALID_VALUE, "%s is NULL; it must be a text", name);
    return td_refuse_second_copy();
}

static tandem_status status_of(td_scope_status status, const char *why)
{
    switch (status) {
    case TD_SCOPE_DONE:
        return TANDEM_OK;
    case TD_SCOPE_NO_MEMORY:
        return td_fail(TANDEM_NO_MEMORY, "%s", why);
    case TD_SCOPE_REFUSED:
        break;
    }
    return td_fail(TANDEM_INVALID_VALUE, "%s", why);
}

tandem_status tandem_set(const char *settings)
{
    char why[TD_WHY_BYTES];
    const tandem_status status = check("settings", settings);
    return status == TANDEM_OK ? status_of(td_process_set(settings, why), why) : status;
}

tandem_status tandem_set_mode(const char *mode)
{
    char settings[TD_SETTINGS_BYTES];
    const tandem_status status = check("mode", mode);
    if (status != TANDEM_OK) return status;
    if (strpbrk(mode, " =") ||
        snprintf(settings, sizeof settings, "mode=%s", mode) >= (int)sizeof settings)
        return td_fail(TANDEM_INVALID_VALUE,
                       "mode is '%.200s'; allowed: one of those that `tandem modes` lists", mode);
    return tandem_set(settings);
}

tandem_status tandem_push(const char *settings)
{
    char why[TD_WHY_BYTES];
    const tandem_status status = check("settings", settings);
    return status == TANDEM_OK ? status_of(td_process_push(settings, why), why) : status;
}

tandem_status tandem_pop(void)
{
    char why[TD_WHY_BYTES];
    td_message_clear();
    return status_of(td_scope_pop(why), why);
}

tandem_status tandem_get(const char *option, char *value, size_t bytes)
{
    char whole[TD_OPTION_TEXT_BYTES];
    td_message_clear();
    if (!option) return td_fail(TANDEM_INVALID_VALUE, "option is NULL; it must be a text");
    if (!value) return td_fail(TANDEM_INVALID_VALUE, "value is NULL; it must have room for a text");
    const td_option_id id = td_option_find(option);
    if (id == TD_OPTION_COUNT)
        return td_fail(TANDEM_INVALID_VALUE,
                       "option is '%.200s'; allowed: mode, accuracy and the other names that "
                       "`tandem options` lists, without TANDEM_ and in small letters",
                       option);
    td_option_print(td_options_in_force(), id, whole, sizeof whole);
    if (strlen(whole) >= bytes)
        return td_fail(TANDEM_INVALID_VALUE, "bytes is %zu; the value of %s takes %zu", bytes,
                       option, strlen(whole) + 1);
    strcpy(value, whole);
    return TANDEM_OK;
}
