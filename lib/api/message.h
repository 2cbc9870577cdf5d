/* message.h - what tandem_last_message says: one line of the calling thread. */
#ifndef TD_MESSAGE_H
#define TD_MESSAGE_H

#include <stddef.h>

#include "../../include/tandem.h"

/* Sets the message, and returns the status. */
tandem_status td_fail(tandem_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Where a public function copies a text to: TANDEM_OK, or the message of what is wrong. */
tandem_status td_check_room(const char *text, size_t bytes, const size_t *needed);

/* Copies a text of `length` characters there, if it fits, says in *needed how many bytes it takes
 * with its end, and frees `made`. */
void td_hand_over(char *made, size_t length, char *text, size_t bytes, size_t *needed);

/* There is no message: at the start of each public function that may fail. */
void td_message_clear(void);

/* TANDEM_UNSUPPORTED, with its message, if another copy of Tandem was loaded before this one, which
 * does nothing then; else TANDEM_OK. */
tandem_status td_refuse_second_copy(void);

#endif
