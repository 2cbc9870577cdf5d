/* calibration.h - what `tandem calibrate` measured of a device: factors of the model, kept in a
 * file of the user's cache directory for each device, driver and version of Tandem. Pure: no CUDA
 * calls. */
#ifndef TD_CALIBRATION_H
#define TD_CALIBRATION_H

#include "../options/file.h"
#include "model.h"

/* The factors of each row; those without is_measured do not count. */
typedef struct {
    bool is_measured[TD_ROWS];
    signed char factors[TD_ROWS][TD_FACTORS];
} td_calibration;

/* The name of the file: $XDG_CACHE_HOME/tandem or ~/.cache/tandem, and what the device is called.
 * driver: the CUDA version that it supports, as cudaDriverGetVersion has it. False if the
 * environment names no folder, or the name is too long. */
bool td_calibration_path(const td_card *card, int driver, char path[TD_PATH_BYTES]);

/* Writes the file, with the folders that lead to it, in one step; false with errno set. */
bool td_calibration_write(const td_calibration *calibration, const td_card *card, int driver,
                          const char *path);

typedef enum {
    TD_CALIBRATION_READ,
    TD_CALIBRATION_NONE, /* no such file, or not to be read */
    /* not a regular file of this user's or root's that no other may write */
    TD_CALIBRATION_UNTRUSTED,
    TD_CALIBRATION_OTHER,   /* of another device, driver or version */
    TD_CALIBRATION_DAMAGED, /* not as td_calibration_write leaves it */
} td_calibration_status;

/* *line: of the file, where it is damaged. */
td_calibration_status td_calibration_read(td_calibration *calibration, const td_card *card,
                                          int driver, const char *path, int *line);

/* Puts the file's factors into the device's model, if there is one; a file that cannot be used gets
 * a warning. What the model then points to stays for the life of the process. */
void td_calibration_use(td_model *model, int driver);

#endif
