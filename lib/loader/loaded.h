/* loaded.h - whether the process has loaded cuBLAS, and in a way that lets preloaded functions
 * stand before it. Pure: no CUDA calls. */
#ifndef TD_LOADED_H
#define TD_LOADED_H

#include <stdbool.h>

typedef struct {
    char name[64];    /* file name of the cuBLAS that is loaded; "": none */
    char linked[256]; /* file name of an object that was linked to one; "": none */
} td_loaded;

td_loaded td_loaded_cublas(void);

/* True if something in the process can call the cuBLAS that is loaded. The host device's stand-in
 * is preloaded into every process, so that only what is linked to it counts there. */
bool td_loaded_is_used(const td_loaded *loaded, bool is_host_device);

/* Why no call of such a process was seen, as the end of a sentence. The host device's stand-in is
 * always loaded. sees_dlsym: functions that the process looks up are intercepted. */
enum { TD_LOADED_TEXT = 512 };
const char *td_loaded_explain(const td_loaded *loaded, bool is_host_device, bool sees_dlsym,
                              char text[TD_LOADED_TEXT]);

/* True, with its path, if another Tandem comes before this one in the search for functions. */
enum { TD_LOADED_PATH = 4096 };
bool td_loaded_other_first(char path[TD_LOADED_PATH]);

/* True if this build stands before dlsym. */
#ifdef TD_INTERPOSES_DLSYM
enum { TD_SEES_DLSYM = 1 };
#else
enum { TD_SEES_DLSYM = 0 };
#endif

/* True if the process has loaded cuBLAS, and there is no CUDA driver to run it. */
bool td_loaded_lacks_driver(void);

#endif
