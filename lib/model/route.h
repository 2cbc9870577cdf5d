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

/* The traits of a card, for which this library has code. */
td_traits td_traits_of_card(const td_card *card);

/* The traits of the current device (traits.c, which alone of these calls CUDA). What a device does
 * not say counts as what fewest kernels serve. */
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
    TD_STAGE_REPAIR_SHARES,
    TD_STAGE_REPAIR,
    TD_STAGES
} td_stage;
extern const char *const td_stage_names[TD_STAGES];

/* What is launched: for each stage the value that the chosen row has, a td_measure_route and so
 * on; for TD_STAGE_SLICES the number of slices of k, each with residues of its own, which are
 * added up; for TD_STAGE_REPAIR_TILES and TD_STAGE_REPAIR_SHARES those of td_binary64_launch, and
 * for TD_STAGE_REPAIR a td_binary64_route. */
typedef struct td_route {
    int of[TD_STAGES];
} td_route;

/* What the routes of all parts of a product have in common. */
typedef struct {
    td_traits device;
    bool is_aligned;  /* both operands are aligned (td_route_is_aligned) */
    uint64_t without; /* td_parameter.without_routes */
} td_route_terms;

/* True if the tensor memory accelerator can copy from an operand of so many members: from
 * addresses, and over steps, that are multiples of 16 bytes. */
bool td_route_is_aligned(const td_matrix *x, int64_t batch);

td_route_terms td_route_terms_of(const td_real_product *p, td_parameter parameter,
                                 const td_traits *device);

/* A part of a product, in one pass over k: FIELD(type, name) for each field of td_route_case. */
#define TD_ROUTE_CASE(FIELD)                                                                       \
    FIELD(int64_t, m) /* rows of C of the part */                                                  \
    FIELD(int64_t, n) /* columns of C of the part */                                               \
    FIELD(int64_t, k) /* elements of k of the whole product */                                     \
    FIELD(int64_t, batch)                                                                          \
    FIELD(int64_t, k_pass)  /* the most elements of k of a pass, a multiple of TD_K_PAD */         \
    FIELD(int64_t, k_count) /* elements of k of this pass */                                       \
    FIELD(int, least)       /* the fewest moduli that a member may have */                         \
    FIELD(int, most)        /* the most moduli that a member may have */                           \
    FIELD(bool, is_complex) /* moduli are those of complex products, two int8 products each */     \
    FIELD(td_finish_kind, kind)                                                                    \
    FIELD(bool, reads_c)       /* beta may be other than 0 */                                      \
    FIELD(bool, has_unwanted)  /* only some tiles of the region are wanted */                      \
    FIELD(td_region, region)   /* of C */                                                          \
    FIELD(td_panel_type, type) /* of the int8 product of this pass */                              \
    FIELD(int64_t, rows)       /* of C of the int8 product, padded */                              \
    FIELD(int64_t, depth)      /* elements of k of the int8 product, padded */                     \
    FIELD(int, planes)         /* of the int8 product */                                           \
    FIELD(td_route_terms, terms)                                                                   \
    FIELD(td_route, route) /* of the stages before; 0 where nothing is chosen yet */               \
    FIELD(const struct td_route_row *, row) /* that is asked */
typedef struct {
#define FIELD(type, name) type name;
    TD_ROUTE_CASE(FIELD)
#undef FIELD
} td_route_case;

/* A row of THE table. `serves` says whether the kernel can make such a part, `cost` what it takes
 * beside the others of its stage, in a unit of that stage's: of those that serve the first that
 * costs least is taken. Both find the row that they are asked of in c->row. */
typedef struct td_route_row {
    td_stage stage;
    int value; /* td_route.of[stage] */
    const char *name;
    bool (*serves)(const td_route_case *c);
    double (*cost)(const td_route_case *c);
} td_route_row;
enum { TD_ROUTE_ROWS = 39 };
extern const td_route_row td_route_rows[TD_ROUTE_ROWS];

/* Blocks that sums in binary64 have for one member: at least one, and no more than shares of tiles.
 */
int64_t td_route_binary64_blocks(const td_route_case *c);

/* Sets every field of a case: a part of m x n elements of C and `batch` members of a real product
 * of TD_COMMON_MODULI moduli in its first pass over k, of which all of C is written, rounded, and
 * not read. Whoever knows more of the part sets what differs, and then td_route_set_product. */
void td_route_case_begin(td_route_case *c, int64_t m, int64_t n, int64_t k, int64_t batch,
                         const td_route_terms *terms);

/* The case of a whole binary64 product in one part, and in its first pass over k; the parameter is
 * td_moduli_of's (../model/cost.h). */
td_route_case td_route_case_of(const td_real_product *p, td_parameter parameter,
                               td_finish_kind kind, const td_traits *device);

/* Sets what the int8 products of a pass are like (type, rows, depth and planes) by the other fields
 * of the case. */
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
void td_route_log(const td_engine *engine, const td_product *product, td_parameter parameter);

#endif
