#include "model.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "architectures.h"
#include "measured.h"
#include "tuning.h"

#define TD_NOBODY_KNOWS (-1.0)

/* ---- cards ---- */

#define CARD(name, major, minor, multiprocessors, megahertz, gigabytes)                            \
    {name, major, minor, multiprocessors, (megahertz)*1e6, (gigabytes)*1e9},
const td_card td_cards[] = {
#include "cards.def"
    {"", 0, 0, 0, 0.0, 0.0}};
#undef CARD

const td_card *td_card_known(const char *name)
{
    for (const td_card *c = td_cards; c->name[0]; c++)
        if (strcmp(c->name, name) == 0) return c;
    return NULL;
}

enum { MAJOR, MINOR, MULTIPROCESSORS, CLOCK, MEMORY_CLOCK, BUS_BITS };
const int td_card_attributes[TD_CARD_ATTRIBUTES] = {
    [MAJOR] = cudaDevAttrComputeCapabilityMajor,
    [MINOR] = cudaDevAttrComputeCapabilityMinor,
    [MULTIPROCESSORS] = cudaDevAttrMultiProcessorCount,
    [CLOCK] = cudaDevAttrClockRate,
    [MEMORY_CLOCK] = cudaDevAttrMemoryClockRate,
    [BUS_BITS] = cudaDevAttrGlobalMemoryBusWidth,
};

/* Virtual devices may say 0 of what they do not know. */
static double or_usual(double value, double usual) { return value > 0.0 ? value : usual; }

td_card td_card_of(const char *name, const int value[TD_CARD_ATTRIBUTES])
{
    const double kilo = 1e3, transfers = 2.0 / 8.0; /* bytes of a bit's line in a clock */
    td_card card = {.major = value[MAJOR],
                    .minor = value[MINOR],
                    .multiprocessors = value[MULTIPROCESSORS] > 0 ? value[MULTIPROCESSORS] : 1,
                    .hertz = or_usual(value[CLOCK] * kilo, 1.5e9),
                    .bytes_per_second =
                        or_usual(value[MEMORY_CLOCK] * kilo * value[BUS_BITS] * transfers, 5e11)};
    snprintf(card.name, sizeof card.name, "%s", name);
    return card;
}

td_rates td_rates_of(const td_card *card)
{
    const double memory_share = 0.8,
                 matrix_share = 0.92; /* of a plain copy, of cuBLAS's own products */
    const double clocks = 2.0 * card->multiprocessors * card->hertz;
    const td_architecture *a = td_architecture_of(10 * card->major + card->minor);
    return (td_rates){.launch = 4.5e-6,
                      .bytes = memory_share * card->bytes_per_second,
                      .fp32 = a->fp32 * clocks,
                      .fp64 = a->fp64 * clocks,
                      .matrix64 = a->matrix64 * clocks * matrix_share,
                      .int8 = a->int8 * clocks * a->share,
                      .multiprocessors = card->multiprocessors};
}

bool td_rates_have_much_binary64(const td_rates *rates)
{
    const double most = 2.0; /* binary32 operations in the time of one of binary64 */
    return rates->fp32 <= most * rates->fp64;
}

/* ---- ways ---- */

static td_way ways[TD_MOST_WAYS];
static int way_count;

static void add_way(const td_engine *engine, bool is_other)
{
    if (way_count == TD_MOST_WAYS) return;
    td_way *way = &ways[way_count++];
    way->engine = engine;
    way->parameter.is_other_way = is_other;
    snprintf(way->text, sizeof way->text, "%s%s%s", engine->name, is_other ? ":" : "",
             is_other ? engine->way : "");
}

static void list_ways(void)
{
    for (const td_engine *const *e = td_engines; *e; e++) {
        if ((*e)->is_choice) continue;
        add_way(*e, false);
        if ((*e)->way) add_way(*e, true);
    }
}

const td_way *td_ways(int *count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, list_ways);
    *count = way_count;
    return ways;
}

int td_way_of(const td_engine *engine, td_parameter parameter)
{
    int count, i = 0;
    const td_way *way = td_ways(&count);
    while (i < count - 1 &&
           (way[i].engine != engine || way[i].parameter.is_other_way != parameter.is_other_way))
        i++;
    return i;
}

int td_way_of_binary64(void)
{
    td_parameter parameter;
    return td_way_of(td_engine_parse("fp64", &parameter), parameter);
}

/* ---- timed routines ---- */

#define TIMED(id, text, kind, type) {text, kind, type},
const td_timed_routine td_timed_routines[TD_TIMED_COUNT] = {
#include "timed.def"
};
#undef TIMED

td_real_product td_timed_solve(int64_t order, int64_t vectors)
{
    return (td_real_product){.m = order, .n = vectors, .k = order, .batch = 1};
}

const char *td_row_text(int row)
{
    int count;
    return row < TD_MOST_WAYS ? td_ways(&count)[row].text
                              : td_timed_routines[row - TD_MOST_WAYS].text;
}

/* ---- factors ---- */

/* Where a size lies on an axis of so many sizes: between number `below` and the next, this far
 * on. */
typedef struct {
    int below;
    double on;
} place;

static place place_of(double log_size, double log_least, int sizes)
{
    const double at = fmin(fmax(log_size - log_least, 0.0), sizes - 1.0);
    const int below = at >= sizes - 2.0 ? sizes - 2 : (int)at;
    return (place){below, at - below};
}

static int single_at(int i, int j, int h)
{
    const int more = i > j ? i : j, less = i > j ? j : i;
    return (more * (more + 1) / 2 + less) * TD_SIZES + h;
}

/* Factors that count for a problem, and how much each does. */
enum { CORNERS = 8, MOST_TERMS = CORNERS + 2 };
typedef struct {
    int at[MOST_TERMS];
    double weight[MOST_TERMS];
} terms;

static terms terms_of(const td_real_product *p)
{
    enum { MANY = 16 }; /* a batch of so many is one in full */
    const double m = log2((double)p->m), n = log2((double)p->n), k = log2((double)p->k),
                 least = log2(TD_LEAST_SIZE);
    const place of[3] = {place_of(m, least, TD_SIZES), place_of(n, least, TD_SIZES),
                         place_of(k, least, TD_SIZES)};
    const double stacked = p->batch >= MANY ? 1.0 : log2((double)p->batch) / log2(MANY);
    terms t;
    for (int corner = 0; corner < CORNERS; corner++) {
        const int up[3] = {corner & 1, corner >> 1 & 1, corner >> 2};
        double weight = 1.0 - stacked;
        for (int x = 0; x < 3; x++) weight *= up[x] ? of[x].on : 1.0 - of[x].on;
        t.at[corner] = single_at(of[0].below + up[0], of[1].below + up[1], of[2].below + up[2]);
        t.weight[corner] = weight;
    }
    const place cube = place_of((m + n + k) / 3.0, log2(TD_LEAST_CUBE), TD_CUBES);
    for (int up = 0; up < 2; up++) {
        t.at[CORNERS + up] = TD_PAIRS * TD_SIZES + cube.below + up;
        t.weight[CORNERS + up] = stacked * (up ? cube.on : 1.0 - cube.on);
    }
    return t;
}

static double factor(const signed char *factors, const terms *t)
{
    double octaves = 0.0;
    if (!factors) return 1.0;
    for (int i = 0; i < MOST_TERMS; i++) octaves += t->weight[i] * factors[t->at[i]];
    return exp2(octaves / TD_OCTAVE);
}

td_real_product td_factor_problem(int at)
{
    const double multiplications = 0x1p30, most = 65535.0;
    td_real_product p = {.type = TD_BINARY64, .batch = 1};
    p.alpha.value.binary64 = 1.0;
    if (at >= TD_PAIRS * TD_SIZES) {
        const int64_t side = (int64_t)TD_LEAST_CUBE << (at - TD_PAIRS * TD_SIZES);
        p.m = p.n = p.k = side;
        p.batch = (int64_t)fmin(most, multiplications / (double)(side * side * side));
        if (p.batch < 16) p.batch = 16;
        return p;
    }
    int pair = at / TD_SIZES, i = 0;
    while (pair > i) pair -= ++i;
    p.m = (int64_t)TD_LEAST_SIZE << i;
    p.n = (int64_t)TD_LEAST_SIZE << pair;
    p.k = (int64_t)TD_LEAST_SIZE << at % TD_SIZES;
    return p;
}

/* The number of a size on its axis; TD_SIZES if it is between two of them, or beyond. */
static int number_of(int64_t size)
{
    int i = 0;
    while (i < TD_SIZES && (int64_t)TD_LEAST_SIZE << i != size) i++;
    return i;
}

int td_factor_at(const td_real_product *p)
{
    const int i = number_of(p->m), j = number_of(p->n), h = number_of(p->k);
    return i < TD_SIZES && j < TD_SIZES && h < TD_SIZES ? single_at(i, j, h) : -1;
}

int td_factor_of(double seconds, double by_rates)
{
    const double octaves = log2(seconds / by_rates) * TD_OCTAVE;
    return (int)lrint(fmin(fmax(octaves, -TD_MOST_FACTOR), TD_MOST_FACTOR));
}

/* ---- the model ---- */

bool td_model_is_measured(const td_model *model) { return model->factors[0] != NULL; }

void td_model_make(td_model *model, const td_card *card)
{
    memset(model, 0, sizeof *model);
    model->card = *card;
    model->rates = td_rates_of(card);
    for (int row = 0; row < TD_ROWS; row++)
        model->factors[row] = td_measured_find(card->name, card->multiprocessors, td_row_text(row));
    const bool is_host = strcmp(card->name, TD_HOST_CARD) == 0;
    snprintf(model->source, sizeof model->source,
             td_model_is_measured(model) ? "measured on another %s%s"
                                         : "that follow from the properties of %s%s",
             is_host ? TD_HOST_STANDS_FOR : card->name,
             is_host ? ", for which the host device stands" : "");
}

/* In one kernel memory and arithmetic overlap, but not wholly; kernels follow one another. */
static double seconds_of(const td_rates *r, const td_cost *c)
{
    const double hidden = c->is_one ? 0.7 : 0.0;
    const double busy = c->blocks < r->multiprocessors ? c->blocks / r->multiprocessors : 1.0;
    const double arithmetic =
        (c->fp32 / r->fp32 + c->fp64 / r->fp64 + c->matrix64 / r->matrix64 + c->int8 / r->int8) /
        busy;
    const double memory = c->bytes / r->bytes;
    return c->launches * r->launch + arithmetic + memory - hidden * fmin(arithmetic, memory);
}

double td_model_by_rates(const td_rates *rates, const td_engine *engine, td_parameter parameter,
                         const td_real_product *p)
{
    td_cost cost = {0};
    if (!engine->cost) return TD_NOBODY_KNOWS;
    engine->cost(p, parameter, &cost);
    return seconds_of(rates, &cost);
}

/* Matrices of a product whose columns 16 bytes do not align: of op(A) and op(B), and of all three
 * the elements. */
typedef struct {
    int factors;
    double elements;
} unaligned;

static unaligned unaligned_of(const td_real_product *p)
{
    const td_matrix *const x[] = {&p->a, &p->b, &p->c};
    const double sizes[] = {(double)p->m * (double)p->k, (double)p->k * (double)p->n,
                            (double)p->m * (double)p->n};
    unaligned u = {0, 0.0};
    for (int i = 0; i < 3 && !p->is_paired; i++) {
        if (td_matrix_is_aligned(x[i], p->batch)) continue;
        u.factors += i < 2;
        u.elements += sizes[i] * (double)p->batch;
    }
    return u;
}

/* True of the cards on which cuBLAS's products of such matrices were timed, and of their kind. */
static bool was_timed_unaligned(const td_card *card)
{
    static const char h100[] = "NVIDIA H100", h200[] = "NVIDIA H200";
    return strncmp(card->name, h100, strlen(h100)) == 0 ||
           strncmp(card->name, h200, strlen(h200)) == 0;
}

double td_model_native_unaligned(const td_model *model, const td_real_product *p)
{
    const unaligned u = unaligned_of(p);
    if (u.elements == 0.0 || p->routine != TD_PRODUCT || !was_timed_unaligned(&model->card))
        return 1.0;
    return u.factors == 2 ? td_tuned_native_unaligned_factors : td_tuned_native_unaligned;
}

/* What every mode but native takes before its product, and more for matrices that are not aligned:
 * these as if each were copied. */
static double seconds_to_unfold(const td_model *model, const td_engine *engine,
                                const td_real_product *p)
{
    const double copied = 2.0 * sizeof(double);
    if (engine == td_engines[0]) return 0.0;
    return (p->unfolded_bytes + copied * unaligned_of(p).elements) / model->rates.bytes;
}

double td_model_timed(const td_model *model, td_timed routine, const td_real_product *p)
{
    const terms t = terms_of(p);
    return factor(model->factors[TD_MOST_WAYS + routine], &t);
}

/* The factor of cuBLAS's routine that a product stands for; t: the product's terms. */
static double routine_factor(const td_model *model, const td_real_product *p, const terms *t)
{
    const td_kind kind = p->routine == TD_RANK_KX ? TD_RANK_K : p->routine;
    const td_type type = p->is_paired ? TD_COMPLEX_BINARY64 : TD_BINARY64;
    if (kind == TD_PRODUCT) return td_model_native_unaligned(model, p);
    for (int i = 0; i < TD_TIMED_COUNT; i++)
        if (td_timed_routines[i].kind == kind && td_timed_routines[i].type == type)
            return factor(model->factors[TD_MOST_WAYS + i], t);
    return 1.0;
}

/* Factors are of real products, which one kernel makes where that is faster; complex ones have
 * kernels apart. */
static double made_apart(const td_engine *engine, const td_real_product *p, double by_rates,
                         double by_factor)
{
    if (!p->is_paired || !engine->takes_prices) return by_factor;
    return fmax(by_factor, td_tuned_apart_share * by_rates);
}

double td_model_seconds(const td_model *model, const td_engine *engine, td_parameter parameter,
                        const td_real_product *p)
{
    const double seconds = td_model_by_rates(&model->rates, engine, parameter, p);
    if (seconds < 0.0) return seconds;
    const terms t = terms_of(p);
    const double of_routine = engine == td_engines[0] ? routine_factor(model, p, &t) : 1.0;
    const double by_factor = seconds * factor(model->factors[td_way_of(engine, parameter)], &t);
    return made_apart(engine, p, seconds, by_factor) * of_routine +
           seconds_to_unfold(model, engine, p);
}

void td_model_predict(const td_model *model, const td_real_product *p, double *seconds)
{
    int count;
    const td_way *way = td_ways(&count);
    const terms t = terms_of(p);
    for (int i = 0; i < count; i++) {
        seconds[i] = td_model_by_rates(&model->rates, way[i].engine, way[i].parameter, p);
        if (seconds[i] > 0.0)
            seconds[i] = made_apart(way[i].engine, p, seconds[i],
                                    seconds[i] * factor(model->factors[i], &t)) +
                         seconds_to_unfold(model, way[i].engine, p);
    }
    seconds[0] *= routine_factor(model, p, &t);
}
