/* host_device.h - where the host device's libraries are, in a build of Tandem for it; a build for
 * GPUs has none. */
#ifndef TD_HOST_DEVICE_H
#define TD_HOST_DEVICE_H

#include <stdbool.h>

enum { TD_HOST_DEVICE_PATH = 4096 };

/* Sets their folder, with a slash at its end; "" if there is none. */
void td_host_device_folder(char folder[TD_HOST_DEVICE_PATH]);

/* True, with its path, if another CUDA runtime is found before the host device's: by Tandem, and so
 * by the program, too. */
bool td_host_device_is_hidden(char runtime[TD_HOST_DEVICE_PATH]);

#endif
