/* test.h - cmocka and the checks that all tests share. A check names its condition, never an
 * operator: a NaN fails. */
#ifndef TEST_H
#define TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Defines a test: TEST(name) { ... }. Those of a program run in the order of its file. */
#define TEST(name)                                                                                 \
    static void name(void **test_state);                                                           \
    __attribute__((constructor)) static void test_add_##name(void)                                 \
    {                                                                                              \
        test_add(__LINE__, #name, name);                                                           \
    }                                                                                              \
    static void name(__attribute__((unused)) void **test_state)

void test_add(int line, const char *name, CMUnitTestFunction test);

/* How tests are run: the name of their group, and what is called round all of them and round each;
 * NULL: nothing. */
typedef struct {
    const char *file, *name;
    CMFixtureFunction set_up, tear_down, before, after;
} test_group;

/* Runs all tests of the program, again each time it is called: test_run(.name = "df"). Returns how
 * many failed. A program without main has one that does no more. */
int test_run_group(test_group with);
#define test_run(...) test_run_group((test_group){.file = __FILE__, ##__VA_ARGS__})

enum { TEST_SKIPPED = 77 }; /* exit status of a program that found nothing to test, for Meson */

/* Fails the running test with file, line, condition and the printf-like text after it. */
#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) test_fail(__FILE__, __LINE__, #condition, __VA_ARGS__);                  \
    } while (0)

/* CHECK that value <= bound; fails if either is NaN. */
#define CHECK_AT_MOST(value, bound, ...)                                                           \
    do {                                                                                           \
        const double test_value = (value), test_bound = (bound);                                   \
        test_at_most(__FILE__, __LINE__, #value, test_value, #bound, test_bound, __VA_ARGS__);     \
    } while (0)

__attribute__((format(printf, 4, 5), noreturn)) void
test_fail(const char *file, int line, const char *condition, const char *format, ...);

__attribute__((format(printf, 7, 8))) void test_at_most(const char *file, int line,
                                                        const char *value_text, double value,
                                                        const char *bound_text, double bound,
                                                        const char *format, ...);

/* True where a test leaves out what repeats a path with other numbers: under sanitizers, and with
 * TEST_BRIEF in the environment, for processors that are emulated. */
bool test_is_brief(void);

/* How many of so many random cases run: a tenth in a brief test. */
static inline int test_cases(int count) { return test_is_brief() ? count / 10 : count; }

/* True if TEST_EVERYTHING is in the environment, as `scripts/test --all` has it: a test then leaves
 * out nothing. Otherwise it may leave out what takes a path of the code that others take, too. */
bool test_takes_everything(void);

/* True if case `i` runs of those that differ in numbers alone: every step-th, and all with
 * TEST_EVERYTHING, or in a brief test, which chooses for itself. */
bool test_takes(int i, int step);

/* Before the inner loop of a reference, which is not what is tested: no sanitizer looks at each
 * element, of which there are more than of all else. */
#define TEST_UNWATCHED __attribute__((no_sanitize("address", "undefined")))

/* One line on stdout, for results that somebody may want to follow over time. */
__attribute__((format(printf, 1, 2))) void test_note(const char *format, ...);

/* A seed for random numbers below 2^31, another one at each call and in each run. What the first
 * call prints as TEST_SEED gives, in the environment, all seeds of a run again. */
uint64_t test_seed(void);

/* The arguments of a test of random cases, [CASES [SEED]]: CASES in the place of what is given, and
 * without SEED a fresh one. Says what will be run. */
void test_take_cases(int argc, char **argv, int *cases, uint64_t *first_seed);

/* A file's first 64 KiB; valid until the next call. */
char *test_read_file(const char *path);

/* Memory as malloc gives it, and as calloc does; where there is none, the test fails. */
void *test_memory(size_t bytes);
void *test_zeros(size_t count, size_t bytes);

/* Frees each of some pieces of memory: test_drop(a, b). */
#define test_drop(...)                                                                             \
    test_drop_all((void *[]){__VA_ARGS__}, sizeof((void *[]){__VA_ARGS__}) / sizeof(void *))
void test_drop_all(void *const *memory, size_t count);

/* "2^-43.2"; "0" for zero. The text lives until the eighth next call of the same thread. */
const char *test_power(double x);

#endif
