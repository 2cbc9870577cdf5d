#include "parallel.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "../cuda/context.h"

typedef struct {
    void (*run)(void *of, int i);
    void *of;
    int i;
    pthread_t thread;
    bool is_running;
} task;

static void *run_task(void *of)
{
    const task *t = of;
    (void)td_capture_allow(); /* as in the thread of the call */
    t->run(t->of, t->i);
    return NULL;
}

/* With all signals blocked, as the threads inherit that. */
static void start(task *tasks, int count)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 0; i < count; i++)
        tasks[i].is_running = pthread_create(&tasks[i].thread, NULL, run_task, &tasks[i]) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void td_parallel(int count, void (*run)(void *of, int i), void *of)
{
    const int others = count - 1;
    task *tasks = others > 0 ? calloc((size_t)others, sizeof *tasks) : NULL;
    for (int i = 0; i < others && tasks; i++) tasks[i] = (task){.run = run, .of = of, .i = i + 1};
    if (tasks) start(tasks, others);
    if (count > 0) run(of, 0);
    for (int i = 0; i < others; i++) {
        if (tasks && tasks[i].is_running)
            (void)pthread_join(tasks[i].thread, NULL);
        else
            run(of, i + 1);
    }
    free(tasks);
}
