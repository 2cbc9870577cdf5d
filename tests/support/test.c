#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "random.h"

enum { TEXT_BYTES = 1024, MOST_TESTS = 64 };

static struct CMUnitTest tests[MOST_TESTS];
static int lines[MOST_TESTS], count; /* where they are in their file: ascending */

void test_add(int line, const char *name, CMUnitTestFunction test)
{
    int at = count++;
    if (count > MOST_TESTS) abort();
    for (; at > 0 && lines[at - 1] > line; at--) {
        tests[at] = tests[at - 1];
        lines[at] = lines[at - 1];
    }
    tests[at] = (struct CMUnitTest){.name = name, .test_func = test};
    lines[at] = line;
}

int test_run_group(test_group with)
{
    for (int i = 0; i < count; i++) {
        tests[i].setup_func = with.before;
        tests[i].teardown_func = with.after;
    }
    return _cmocka_run_group_tests(with.name ? with.name : with.file, tests, (size_t)count,
                                   with.set_up, with.tear_down);
}

void test_fail(const char *file, int line, const char *condition, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    print_error("%s:%d: not true: %s\n    %s\n", file, line, condition, text);
    _fail(file, line);
    __builtin_unreachable();
}

void test_at_most(const char *file, int line, const char *value_text, double value,
                  const char *bound_text, double bound, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list arguments;
    if (value <= bound) return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    print_error("%s:%d: %s is %g (%s), more than %s = %g (%s), %g times as much\n    %s\n", file,
                line, value_text, value, test_power(value), bound_text, bound, test_power(bound),
                value / bound, text);
    _fail(file, line);
}

void test_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

const char *test_power(double x)
{
    static _Thread_local char texts[8][24];
    static _Thread_local unsigned next;
    char *text = texts[next++ % 8];
    if (x == 0.0)
        snprintf(text, sizeof texts[0], "0");
    else
        snprintf(text, sizeof texts[0], "%s2^%.2f", x < 0.0 ? "-" : "", log2(fabs(x)));
    return text;
}

char *test_read_file(const char *path)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "r");
    CHECK(file, "no file %s", path);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

void *test_memory(size_t bytes)
{
    void *const p = malloc(bytes ? bytes : 1);
    CHECK(p, "no memory");
    return p;
}

void *test_zeros(size_t count, size_t bytes)
{
    void *const p = calloc(count ? count : 1, bytes);
    CHECK(p, "no memory");
    return p;
}

void test_drop_all(void *const *memory, size_t count)
{
    for (size_t i = 0; i < count; i++) free(memory[i]);
}

/* A variable without a value counts for none. */
static bool is_set(const char *variable)
{
    const char *const value = getenv(variable);
    return value && *value;
}

bool test_is_brief(void)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    return true;
#else
    return is_set("TEST_BRIEF");
#endif
}

bool test_takes_everything(void) { return is_set("TEST_EVERYTHING"); }

bool test_takes(int i, int step)
{
    return i % step == 0 || test_is_brief() || test_takes_everything();
}

/* As TEST_SEED says; without it another one in each process. */
static uint64_t seed_of_run(void)
{
    if (is_set("TEST_SEED")) return strtoull(getenv("TEST_SEED"), NULL, 10);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    test_random mixed = random_start((uint64_t)now.tv_sec << 32 ^ (uint64_t)now.tv_nsec << 2 ^
                                     (uint64_t)getpid() << 40);
    return random_bits(&mixed) >> 33;
}

uint64_t test_seed(void)
{
    static bool is_drawn;
    static test_random run;
    if (!is_drawn) {
        is_drawn = true;
        run = random_start(seed_of_run());
        test_note("TEST_SEED=%llu", (unsigned long long)run.state);
        fflush(stdout); /* a test that crashes has said it, too */
    }
    return random_bits(&run) >> 33;
}

void test_take_cases(int argc, char **argv, int *cases, uint64_t *first_seed)
{
    if (argc > 1) *cases = atoi(argv[1]);
    *first_seed = argc > 2 ? strtoull(argv[2], NULL, 10) : test_seed();
    test_note("%d cases from seed %llu", *cases, (unsigned long long)*first_seed);
}
