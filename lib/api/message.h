/* message.h - what tandem_last_message says: one line of the calling thread. */
#ifndef TD_MESSAGE_H
#define TD_MESSAGE_H

#include "../../include/tandem.h"

/* Sets the message, and returns the status. */
tandem_status td_fail(tandem_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* There is no message: at the start of each public function that may fail. */
void td_message_clear(void);

#endif
