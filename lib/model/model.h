/* model.h - predicted times of products, by cuBLAS and by every mode, on a device. What a mode's
 * row says that a product costs becomes seconds by rates that the device's properties give, and by
 * factors that were measured: kept here for some devices, or by `tandem calibrate` for the user's
 * own. It depends on the problem, the device and the calibration alone. Pure: no CUDA calls; safe
 * in any thread. docs/auto.md says more. */
#ifndef TD_MODEL_H
#define TD_MODEL_H

#include "../routine/mode.h"
#include "../routine/solve_steps.h"
#include "factors.h"

/* A device, as CUDA describes it. */
typedef struct {
    char name[256];
    int major, minor; /* compute capability */
    int multiprocessors;
    double hertz, bytes_per_second; /* clock of the multiprocessors; of device memory */
} td_card;

/* The attributes that describe one: as a cudaDeviceAttr and a CUdevice_attribute have them. */
enum { TD_CARD_ATTRIBUTES = 6 };
extern const int td_card_attributes[TD_CARD_ATTRIBUTES];

/* A card with these values of those attributes. */
td_card td_card_of(const char *name, const int value[TD_CARD_ATTRIBUTES]);

/* What the host device calls itself. Its own properties say nothing of a GPU: it stands for another
 * card of cards.def. */
#define TD_HOST_CARD       "Tandem host device (no GPU)"
#define TD_HOST_STANDS_FOR "NVIDIA GeForce RTX 4090"

/* The card of cards.def with this name; NULL if there is none. */
const td_card *td_card_known(const char *name);
extern const td_card td_cards[]; /* all of them; ends with an empty name */

/* What a card makes in a second, at best. Operations: a multiply-add counts two. */
typedef struct {
    double launch; /* seconds from one short kernel to the next */
    double bytes, fp32, fp64, matrix64, int8;
    double multiprocessors;
} td_rates;

td_rates td_rates_of(const td_card *card);

/* True of a card whose binary64 operations are at least half as fast as its binary32 ones: those
 * for data centres. */
bool td_rates_have_much_binary64(const td_rates *rates);

/* ---- ways to compute a product: every mode, in each of its ways, without a number ---- */

typedef struct {
    const td_engine *engine;
    td_parameter parameter;
    char text[TD_MODE_TEXT]; /* as in TANDEM_MODE */
} td_way;

/* The first is native; *count of them. The same array for the life of the process. */
enum { TD_MOST_WAYS = 24 };
const td_way *td_ways(int *count);

/* Seconds of a call by one way, and how that way cuts it, if it is a solve. */
typedef struct {
    double seconds;
    td_solve_cut cut;
} td_way_forecast;

/* The number of the way that computes as an engine does with a parameter (a number of moduli
 * apart). */
int td_way_of(const td_engine *engine, td_parameter parameter);

/* The way of mode fp64, whose sums are those of binary64. */
int td_way_of_binary64(void);

/* ---- routines that are timed beside products (timed.def) ---- */

#define TIMED(id, text, kind, type) TD_TIMED_##id,
typedef enum {
#include "timed.def"
    TD_TIMED_COUNT
} td_timed;
#undef TIMED

typedef struct {
    const char *text;
    td_kind kind;
    td_type type;
} td_timed_routine;
extern const td_timed_routine td_timed_routines[TD_TIMED_COUNT];

/* The product that has a triangular solve's sizes, and twice its operations. */
td_real_product td_timed_solve(int64_t order, int64_t vectors);

/* ---- factors: a row for each way, and after TD_MOST_WAYS of them for each timed routine ---- */

enum { TD_ROWS = TD_MOST_WAYS + TD_TIMED_COUNT };

/* The way or routine of a row; "" if no way has that number. */
const char *td_row_text(int row);

/* The product that factor number `at` belongs to: a cube's batch has about 2^30 multiplications. */
td_real_product td_factor_problem(int at);

/* The number of the factor that belongs to a single product; -1 if it lies between others. */
int td_factor_at(const td_real_product *p);

/* The factor of a product that took so many seconds. */
int td_factor_of(double seconds, double by_rates);

/* ---- the model ---- */

enum { TD_SOURCE_BYTES = 512 };
typedef struct {
    td_card card;
    td_rates rates;
    const signed char *factors[TD_ROWS]; /* TD_FACTORS each; NULL: all 0 */
    char source[TD_SOURCE_BYTES];        /* where the figures are from: "measured on ..." */
} td_model;

/* A model by the card's properties, and by the factors kept here if there are any for it. */
void td_model_make(td_model *model, const td_card *card);

/* True if native products were timed on such a device: then predictions are not the card's
 * properties alone. */
bool td_model_is_measured(const td_model *model);

/* Seconds of a product of binary64 matrices in one of the ways; engine and parameter may have a
 * number. Native's are those of the routine that the product stands for. A negative number if
 * nobody can say. */
double td_model_seconds(const td_model *model, const td_engine *engine, td_parameter parameter,
                        const td_real_product *p);

/* Seconds of such a product in every way; `seconds` has TD_MOST_WAYS elements. */
void td_model_predict(const td_model *model, const td_real_product *p, double *seconds);

/* How many times as long as predicted a timed routine takes that is such a product: 1 if it was not
 * measured. */
double td_model_timed(const td_model *model, td_timed routine, const td_real_product *p);

/* How many times as long as others a native product takes whose columns 16 bytes do not align: 1 of
 * other routines, of complex matrices, and on cards that were not measured. */
double td_model_native_unaligned(const td_model *model, const td_real_product *p);

/* What the rates alone say, without factors. */
double td_model_by_rates(const td_rates *rates, const td_engine *engine, td_parameter parameter,
                         const td_real_product *p);

#endif
