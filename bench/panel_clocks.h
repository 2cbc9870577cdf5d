/* panel_clocks.h - what of a panel's factorisation has taken how many clocks. */
#ifndef BENCH_PANEL_CLOCKS_H
#define BENCH_PANEL_CLOCKS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A kernel that has marks (kernels/device/marks.h), and the names of these. */
typedef struct {
    const char *routine;
    int names;
    const char *const *name;
    const bool *of_column; /* true where a mark comes once or more a column */

    int (*columns)(bool is_complex, int rows); /* of what is run at a time */

    /* Runs it on a matrix on the device; `work` has room for whatever it writes beside it. False if
     * that fails. */
    bool (*run)(bool is_complex, int rows, void *a, void *work);

    /* Takes the clocks of the runs since it was called last. */
    bool (*take)(unsigned long long *clocks);
} clocked;

/* Of a list of names: the element of TD_MARKS (kernels/device/marks.h). */
#define MARK(name, of_column) MARK_##name,

enum { MOST_NAMES = 16 };
extern const clocked clocked_lu, clocked_qr;

#ifdef __cplusplus
}
#endif

#endif
