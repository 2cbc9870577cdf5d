/* route.h - which kernels make a product by residues, and repair any product: one row of a table
 * for each stage, by the product's sizes and the device's traits alone. How many moduli there are
 * is for the data to choose, on the device; a route only says what is launched. Pure: no CUDA
 * calls; safe in any thread. */
#ifndef TD_ROUTE_H
#define TD_ROUTE_H

#include "../../kernels/crt/finish_types.h"
#include "../../kernels/igemm/plane_gemm.h"
#include "../../kernels/routes.h"
#include "../routine/mode.h"
#include "model.h"

/* What of a device decides which kernels serve, and which of these are faster. */
typedef struct td_traits {
    int multiprocessors;
    int shared_bytes; /* the most shared memory of a block */
    bool has_tma;     /* the tensor memory accelerator, and code for it: sm_90 and later */
    bool has_wgmma;   /* tensor cores' instructions for four warps, and code for them: sm_90a */
    bool has_much_binary64; /* binary64 operations are at least half as fast as binary32's */
} td_traits;

/* Those of a card, for which this library has code. */
td_traits td_traits_of_card(const td_card *card);

/* Those of the current device (traits.c, which alone of these calls CUDA). What a device does not
 * say counts as what fewest kernels serve. */
td_traits td_traits_current(void);

/* In the order in which they are chosen; a stage's rows may ask what was chosen before. */
typedef enum {
    TD_STAGE_MEASURE,
    TD_STAGE_SPLIT,
    TD_STAGE_ROUND,
    TD_STAGE_SLICES,
    TD_STAGE_GEMM,
    TD_STAGE_CRT,
    TD_STAGE_FUSE,
    TD_STAGE_REPAIR_TILES,
    TD_STAGE_REPAIR,
    TD_STAGES
} td_stage;
extern const char *const td_stage_names[TD_STAGES];

/* What is launched: for each stage the value that the chosen row has, a td_measure_route and so
 * on; for TD_STAGE_SLICES the number of slices of k, each with residues of its own, which are
 * added up; for TD_STAGE_REPAIR_TILES that of td_binary64_launch.tiles, and for TD_STAGE_REPAIR a
 * td_binary64_route. */
typedef struct td_route {
    int of[TD_STAGES];
} td_route;

/* What the routes of all parts of a product have in common. */
typedef struct {
    td_traits device;
    bool is_aligned;  /* the tensor memory accelerator can copy from both operands */
    uint64_t without; /* td_parameter.without_routes */
} td_route_terms;

td_route_terms td_route_terms_of(const td_problem *p, td_parameter parameter,
                                 const td_traits *device);

/* A part of a product, in one pass over k. */
typedef struct {
    int64_t m, n, k, batch; /* of the part; k of the product */
    int64_t k_pass;         /* the most elements of k of a pass, a multiple of TD_K_PAD */
    int64_t k_count;        /* those of this pass */
    int least, most;        /* moduli */
    bool is_complex;        /* moduli are those of complex products, two int8 products each */
    td_finish_kind kind;
    bool reads_c;      /* beta may be other than 0 */
    bool has_unwanted; /* only some tiles of the region are wanted */
    td_region region;  /* of C */

    td_panel_type type;  /* of the int8 product of this pass */
    int64_t rows, depth; /* its rows of C and elements of k, padded */
    int planes;

    td_route_terms terms;
    td_route route; /* of the stages before */
} td_route_case;

/* A row of THE table. `serves` says whether the kernel can make such a part, `cost` what it takes
 * beside the others of its stage, in a unit of that stage's: of those that serve the first that
 * costs least is taken. */
typedef struct {
    td_stage stage;
    int value; /* td_route.of[stage] */
    const char *name;
    bool (*serves)(const td_route_case *c);
    double (*cost)(const td_route_case *c);
} td_route_row;
enum { TD_ROUTE_ROWS = 36 };
extern const td_route_row td_route_rows[TD_ROUTE_ROWS];

/* The case of a whole binary64 product in one part, and in its first pass over k; the parameter is
 * td_moduli_of's (../model/cost.h). */
td_route_case td_route_case_of(const td_problem *p, td_parameter parameter, td_finish_kind kind,
                               const td_traits *device);

/* Sets what the int8 products of a pass are like: type, rows, depth and planes. */
void td_route_set_product(td_route_case *c);

/* The value of one stage: c->route has those before. If no row serves without those that c leaves
 * out, all rows count. */
int td_route_choose(td_stage stage, const td_route_case *c);

/* All stages of a case, whose `route` does not count. */
td_route td_route_of_case(const td_route_case *c);

/* The number of slices of k of such a part: enough to fill a large device, and the same on every
 * one. */
int td_route_slices(int64_t m, int64_t n, int64_t k_pass, int64_t batch, uint64_t without);

/* Who multiplies such panels. */
td_gemm_route td_route_gemm(const td_panels *panels, const td_route_terms *terms);

/* How sums in binary64 repair such a part of any product, or make all of it. */
td_binary64_launch td_route_binary64(int64_t m, int64_t n, int64_t k, int64_t batch,
                                     const td_route_terms *terms);

/* The name of a stage's value; and all, for people: "measure tma, split tma, ...". */
const char *td_route_name(td_stage stage, int value);
enum { TD_ROUTE_TEXT = 320 };
const char *td_route_print(const td_route *route, char text[TD_ROUTE_TEXT]);

/* Logs the route of a lowered product on the current device, as the product of real lines that it
 * is unfolded to; once for each of their shapes (../engines/ozaki/route_log.c). */
void td_route_log(const td_engine *engine, const td_problem *product, td_parameter parameter);

#endif
