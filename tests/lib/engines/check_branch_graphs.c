/* check_branch_graphs.c - graphs of the bodies of branches, and of small products' kernels: which
 * calls launch the graph of another call again, in the order of the stream and with the numbers and
 * scalars that there are then, and which do not. */
#include "tests/support/test.h"

#include "branch_case.h"
#include "lib/engines/ozaki/branch.h"
#include "tests/kernels/support/device.h"

/* Makes a call until its graph is launched again, which the first time must not be. */
static void repeat(const placed *x, td_prices prices)
{
    enum { MOST = 50 }; /* the host device's memory may be elsewhere at times */
    const unsigned long before = td_branch_repeats(td_device_current());
    const bool may_repeat = memory_comes_back();
    unsigned long repeats = before;
    for (int i = 0; i < (may_repeat ? (int)MOST : (int)TIMES_MADE) && repeats == before; i++) {
        restore(x);
        CHECK(run_priced(&x->call, prices, 0, NULL) == TD_RUN_DONE, "refused: %s",
              product_text(&x->p.of));
        repeats = td_branch_repeats(td_device_current());
        CHECK(i > 0 || repeats == before, "a new call was repeated: %s", product_text(&x->p.of));
    }
    CHECK(!may_repeat || repeats == before + 1, "no call was repeated: %s", product_text(&x->p.of));
}

/* The graph of a call is launched again for the same call, and not for one with another scalar. */
TEST(graphs_are_launched_again)
{
    const product of = product_varied("uniform", 150, 70, 200, 2);
    placed x = place_problem(&of), y = place_problem(&of);
    for (int i = 0; i < 2; i++) {
        names_call = is_short = true;
        repeat(&x, dear_native);
        names_call = is_short = false;
        test_matrix c = checked_result(&x.p, x.c);
        restore(&y);
        expect_equal(&of, &c, run_whole(&y, dear_native, 0), "one with that scalar");
        matrix_free(&c);
        x.call.alpha.value.binary64 = y.call.alpha.value.binary64 = 2.0 * of.alpha;
    }
    free_placed(&x);
    free_placed(&y);
}

/* A mode by name, whose kernels no condition precedes. */
static const td_prices no_prices = {0};

/* Has the call of x multiply the numbers of y, which are as many. */
static void run_with_numbers_of(const placed *x, const placed *y)
{
    copy_to_device(x->a, &y->p.a);
    copy_to_device(x->b, &y->p.b);
    copy_to_device(x->c, &y->p.c);
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK(run_priced(&x->call, no_prices, 0, NULL) == TD_RUN_DONE, "refused: %s",
          product_text(&x->p.of));
}

/* Of small products of a mode by name all kernels are one graph when they have been made twice: its
 * bits are those of the first call, and numbers that have changed meanwhile are read anew. */
TEST(small_products_are_launched_again)
{
    static const char *const kinds[] = {"uniform", "wide 2", "zeros", "both signs"};
    for (int which = 0; which < 8; which += test_is_brief() ? 3 : 1) {
        const product of = product_varied(kinds[which % 4], 150, 70, 200, which),
                      other = product_varied(kinds[(which + 1) % 4], 150, 70, 200, which);
        placed x = place_problem(&of), y = place_problem(&other);
        test_matrix first = run_whole(&x, no_prices, 0);
        repeat(&x, no_prices);
        test_matrix again = checked_result(&x.p, x.c);
        expect_equal(&of, &again, first, "the first call");
        matrix_free(&again);
        run_with_numbers_of(&x, &y);
        test_matrix changed = checked_result(&y.p, x.c);
        expect_equal(&other, &changed, run_whole(&y, no_prices, 0), "a first call");
        matrix_free(&changed);
        free_placed(&x);
        free_placed(&y);
    }
}

/* Makes so many calls in turn, as often as has the graphs of few launched again; returns how many
 * were. */
static int repeats_of(const placed *x, int calls)
{
    enum { ROUNDS = 4 };
    const unsigned long before = td_branch_repeats(td_device_current());
    td_product call = x->call;
    for (int i = 0; i < ROUNDS * calls; i++) {
        call.alpha.value.binary64 = 1.0 + i % calls;
        CHECK(run_priced(&call, no_prices, 0, NULL) == TD_RUN_DONE, "refused: %s",
              product_text(&x->p.of));
    }
    CHECK_CUDA(cudaDeviceSynchronize());
    return (int)(td_branch_repeats(td_device_current()) - before);
}

/* Describing a graph is dearer than launching its kernels: it is for calls that come again soon. */
TEST(graphs_are_for_few_calls)
{
    enum { FEW = 8, MANY = 17, MOST = 20 };
    const product of = product_varied("uniform", 40, 30, 50, 2);
    placed x = place_problem(&of);
    const int many = repeats_of(&x, MANY);
    CHECK(many == 0, "%d of many calls were repeated", many);
    bool is_repeated = false; /* the host device's memory may be elsewhere at times */
    for (int i = 0; i < MOST && !is_repeated; i++)
        is_repeated = repeats_of(&x, FEW) > 0 || !memory_comes_back();
    CHECK(is_repeated, "none of few calls was repeated");
    free_placed(&x);
}

/* C = alpha A B and B = alpha A C in turn, whose magnitudes grow from each to the next; the host
 * waits for none. `tells_apart`: no call has the limit of another, so that none is repeated. */
static test_matrix run_chain(const placed *x, bool tells_apart)
{
    enum { ROUNDS = 12 };
    const size_t limit = td_device_current()->workspace_bytes;
    for (int i = 0; i < 2 * ROUNDS; i++) {
        td_product call = x->call;
        if (i % 2) call.b = x->call.c, call.c = x->call.b;
        CHECK(run_priced(&call, no_prices, limit - (tells_apart ? (size_t)i : 0), NULL) ==
                  TD_RUN_DONE,
              "refused: %s", product_text(&x->p.of));
    }
    CHECK_CUDA(cudaMemcpyAsync(x->c, x->b, x->p.b.count * sizeof(double), cudaMemcpyDeviceToDevice,
                               x->call.stream));
    return checked_result(&x->p, x->c);
}

/* Takes a chain's result. Where the host device's memory is elsewhere for each call, as it may be
 * while others have the processor, the chain is made anew. */
static void expect_repeated_chain(const product *of, test_matrix want)
{
    enum { MOST = 20 };
    const unsigned long before = td_branch_repeats(td_device_current());
    bool is_repeated = false;
    for (int i = 0; i < MOST && !is_repeated; i++) {
        placed x = place_problem(of);
        test_matrix chain = run_chain(&x, false);
        expect_equal(of, &chain, matrix_copy(&want), "calls that are not repeated");
        matrix_free(&chain);
        free_placed(&x);
        is_repeated = td_branch_repeats(td_device_current()) > before || !memory_comes_back();
    }
    CHECK(is_repeated, "no call was repeated: %s", product_text(of));
    matrix_free(&want);
}

/* A graph that is launched again reads what work before it in the stream has written, and work
 * behind it reads what it has written. Large orders are for a GPU, where work takes time: the chain
 * of order 500 takes nine tenths of the host device's time. */
TEST(graphs_are_in_the_order_of_the_stream)
{
    static const int orders[] = {24, 60, 128, 255, 500};
    const int most = test_takes_everything() ? 500 : test_is_brief() ? 60 : 255;
    for (int i = 0; i < 5 && orders[i] <= most; i++) {
        product of = product_plain("uniform", orders[i], orders[i], orders[i]);
        of.alpha = 0.75 + i;
        of.seed = (uint64_t)i;
        placed y = place_problem(&of);
        const unsigned long before = td_branch_repeats(td_device_current());
        test_matrix apart = run_chain(&y, true);
        CHECK(td_branch_repeats(td_device_current()) == before, "other calls were repeated: %s",
              product_text(&of));
        expect_repeated_chain(&of, apart);
        free_placed(&y);
    }
}

/* A call that the program makes by an algorithm of its own is another one by another algorithm. */
TEST(algorithms_tell_calls_apart)
{
    const product of = with_zeros(3);
    placed x = place_problem(&of);
    names_call = is_short = true;
    for (algorithm = 1; algorithm <= 2; algorithm++) {
        repeat(&x, free_native);
        test_matrix c = checked_result(&x.p, x.c);
        expect_native(&of, &c);
        matrix_free(&c);
    }
    algorithm = 0;
    names_call = is_short = false;
    free_placed(&x);
}
