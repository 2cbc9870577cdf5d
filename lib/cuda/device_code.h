/* device_code.h - which of a library's device code a device runs: a binary as it is, or PTX, which
 * its driver compiles when the library's kernels are first loaded. Pure: no CUDA calls. */
#ifndef TD_DEVICE_CODE_H
#define TD_DEVICE_CODE_H

#include <stdbool.h>

/* What libtandem.so says of itself: this, then the names of its device code with commas between, as
 * Meson's option `archs` has them: 90a is a binary for 9.0 alone, ptx80 PTX for 8.0 and later. */
#define TD_DEVICE_CODE_MARK "tandem has device code for: "
extern const char td_device_code_built[]; /* the mark, and this library's; nothing behind the mark
                                             in the host device's */

typedef struct {
    int capability; /* 10 major + minor of the code that is taken; 0: none runs on the device */
    bool is_ptx;
} td_device_code;

/* Of `archs`, what the driver takes for a device of this compute capability (10 major + minor): the
 * newest binary that it runs, else the newest PTX. With `ptx_only` no binary counts, as the driver
 * has it under CUDA_FORCE_PTX_JIT=1. */
td_device_code td_device_code_for(const char *archs, int capability, bool ptx_only);

/* True if this process's environment has the driver ignore binaries. */
bool td_device_code_is_forced(void);

/* Says in words what code a device runs, for the log and for `tandem doctor`; with what the driver
 * compiles, where it keeps that. Returns text. */
enum { TD_DEVICE_CODE_TEXT = 4400 };
const char *td_device_code_print(td_device_code code, char text[TD_DEVICE_CODE_TEXT]);

#endif
