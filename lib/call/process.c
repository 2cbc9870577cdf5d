#include "process.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "../cuda/device.h"
#include "../cuda/workspace.h"
#include "../engines/factor/ahead.h"
#include "../engines/ozaki/branch.h"
#include "../engines/ozaki/cublas.h"
#include "../loader/host_device.h"
#include "../loader/images.h"
#include "../loader/loaded.h"
#include "../loader/originals.h"
#include "../loader/owners.h"
#include "../loader/site.h"
#include "../options/environment.h"
#include "../report/report.h"
#include "../report/timer.h"
#include "../verify/failures.h"
#include "../version.h"
#include "known.h"
#include "scope.h"
#include "site_table.h"

static td_options options;         /* from the environment */
static char first[TD_LOADED_PATH]; /* the copy of Tandem that this one stands aside for; "": none */
static pthread_once_t options_once = PTHREAD_ONCE_INIT, exit_once = PTHREAD_ONCE_INIT;

/* What a child of fork() must not find taken by a thread that it does not have. A thread that has
 * one of these takes none that is before it, and may take those of timer and report. */
static pthread_mutex_t *const guarded[] = {
    &td_scope_lock,  &td_failures_lock,   &td_devices_lock, &td_contexts_lock,
    &td_owners_lock, &td_site_table_lock, &td_sites_lock,   &td_known_lock};
enum { GUARDED = sizeof guarded / sizeof *guarded };

static void before_fork(void)
{
    for (int i = 0; i < GUARDED; i++) pthread_mutex_lock(guarded[i]);
    td_timer_before_fork();
    td_report_before_fork();
}

static void after_fork(bool is_child)
{
    td_report_after_fork(is_child);
    td_timer_after_fork(is_child);
    for (int i = GUARDED; i-- > 0;) pthread_mutex_unlock(guarded[i]);
}

static void in_parent(void) { after_fork(false); }

static void in_child(void)
{
    after_fork(true);
    td_images_after_fork();
    td_workspace_after_fork();
    td_branch_after_fork();
    td_cublas_after_fork();
    td_ahead_after_fork();
}

/* A program that finds no GPU ends before its first product. */
static void warn_without_driver(void)
{
#ifndef TD_HOSTGPU
    if (options.mode.engine->run && td_loaded_lacks_driver())
        td_log(TD_LOG_WARN, "no CUDA driver (libcuda.so.1) on this machine; `tandem run` uses the "
                            "host device where there is no GPU");
#endif
}

/* A program that finds another CUDA runtime first gets its memory there, where no device is. */
static void warn_of_other_runtime(void)
{
    char runtime[TD_HOST_DEVICE_PATH];
    if (td_host_device_is_hidden(runtime))
        td_log(TD_LOG_WARN,
               "the program's CUDA runtime is %s, not the host device's: start it by `tandem run`, "
               "or link Tandem before -lcudart",
               runtime);
}

/* Two copies of the library in one process: the second intercepts nothing, and leaves the report
 * to the first. */
static void stand_aside(void)
{
    Dl_info own;
    td_options defaults;
    td_log(TD_LOG_WARN, "%s is loaded already: %s stands aside", first,
           dladdr(&options, &own) ? own.dli_fname : "this copy of Tandem");
    td_options_set_defaults(&defaults);
    defaults.workspace = options.workspace;
    defaults.dlsym = false;
    options = defaults;
}

static void read_options(void)
{
    (void)td_options_read(&options,
                          td_environment()); /* says what is wrong, and then has the defaults */
    td_log_open(options.log.level, options.log.file[0] ? options.log.file : NULL);
    if (td_loaded_other_first(first)) {
        stand_aside();
        return;
    }
    warn_of_other_runtime();
    td_report_open(&options, TD_VERSION);
    warn_without_driver();
#ifdef TD_HOSTGPU
    td_report_set_host_device();
#endif
    (void)pthread_atfork(before_fork, in_parent, in_child);
}

static const td_options *options_from_start(void)
{
    pthread_once(&options_once, read_options);
    return &options;
}

const td_options *td_options_in_force(void)
{
    const td_options *o = td_scope_of_thread();
    return o ? o : td_scope_of_process(options_from_start());
}

const td_options *td_process_options(void) { return td_scope_of_process(options_from_start()); }

const char *td_process_stands_aside(void)
{
    (void)options_from_start();
    return first[0] ? first : NULL;
}

void td_process_count(void)
{
    (void)options_from_start();
    td_report_count_calls();
}

/* Verifying needs counts, whatever the process started with. */
static void count_if_verified(td_scope_status status, const td_options *now)
{
    if (status == TD_SCOPE_DONE && now->verify) td_process_count();
}

td_scope_status td_process_set(const char *settings, char why[TD_WHY_BYTES])
{
    const td_scope_status status = td_scope_set(options_from_start(), settings, why);
    count_if_verified(status, td_process_options());
    return status;
}

td_scope_status td_process_push(const char *settings, char why[TD_WHY_BYTES])
{
    const td_options *now = NULL;
    const td_scope_status status = td_scope_push(options_from_start(), settings, why, &now);
    count_if_verified(status, now);
    return status;
}

char *td_process_report(size_t *length)
{
    (void)options_from_start();
    td_timer_collect();
    return td_report_compose(length);
}

/* Registered after the CUDA runtime's own handlers, so that it runs before them. */
static void finish_at_exit(void)
{
    (void)atexit(td_process_finish);
    (void)at_quick_exit(td_process_finish);
}

void td_process_watch_exit(void) { pthread_once(&exit_once, finish_at_exit); }

void td_process_keep_report(void)
{
    if (!td_report_is_due()) return;
    td_timer_collect();
    td_report_write_so_far();
}

void td_process_keep_times(void) { td_timer_collect(); }

void td_process_finish(void)
{
    static atomic_flag finished = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&finished)) {
        td_report_write_late_calls();
        return;
    }
    td_timer_collect();
    td_report_write();
}
