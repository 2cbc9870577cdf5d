/* init.c - what happens when the library is loaded and when the process ends. */
#include "../lib/call/dispatch.h"
#include "../lib/call/process.h"

/* Says what is wrong with the environment at once, not at the first product; names of files
 * count from where the process is now. */
__attribute__((constructor)) static void start(void) { td_dispatch_open(); }

/* For programs that made no product: others have written the report already, but for the calls of
 * exit handlers and destructors that ran after that. */
__attribute__((destructor)) static void finish(void) { td_process_finish(); }
