/* route.c - the part of a product that routes are asked of, and which row of each stage is taken
 * (route_rows.c). */
#include "route.h"

#include <stdio.h>
#include <string.h>

#include "../../kernels/residue/moduli.h"
#include "architectures.h"
#include "../routine/sizes.h"

/* ---- cases ---- */

bool td_route_is_aligned(const td_matrix *x, int64_t batch)
{
    return !x->array && (batch == 1 || x->stride >= 0) && td_matrix_is_aligned(x, batch);
}

td_route_terms td_route_terms_of(const td_real_product *p, td_parameter parameter,
                                 const td_traits *device)
{
    return (td_route_terms){
        .device = *device,
        .is_aligned = td_route_is_aligned(&p->a, p->batch) && td_route_is_aligned(&p->b, p->batch),
        .without = parameter.without_routes,
    };
}

/* Complex products have half the rows and half of k, and two planes a modulus. */
void td_route_set_product(td_route_case *c)
{
    c->type = TD_PANEL_RESIDUE;
    c->rows = td_round_up(c->m >> c->is_complex, TD_LINE_GROUP);
    c->depth = td_round_up(c->k_count >> c->is_complex, TD_K_PAD);
    c->planes = c->most << c->is_complex;
}

/* Every field is assigned on its own: a new one that is forgotten here stays what it was, and the
 * test of routes finds that. */
void td_route_case_begin(td_route_case *c, int64_t m, int64_t n, int64_t k, int64_t batch,
                         const td_route_terms *terms)
{
    c->m = m;
    c->n = n;
    c->k = k;
    c->batch = batch;
    c->k_pass = td_round_up(td_smaller(k, TD_RESIDUE_K), TD_K_PAD);
    c->k_count = td_smaller(k, c->k_pass);
    c->least = TD_COMMON_MODULI;
    c->most = TD_COMMON_MODULI;
    c->is_complex = false;
    c->kind = TD_FINISH_ROUND;
    c->reads_c = false;
    c->has_unwanted = false;
    c->region = (td_region){.kind = TD_REGION_ALL};
    c->terms = *terms;
    memset(&c->route, 0, sizeof c->route);
    c->row = NULL;
    td_route_set_product(c);
}

td_route_case td_route_case_of(const td_real_product *p, td_parameter parameter,
                               td_finish_kind kind, const td_traits *device)
{
    const td_route_terms terms = td_route_terms_of(p, parameter, device);
    td_route_case c;
    td_route_case_begin(&c, p->m, p->n, p->k, p->batch, &terms);
    c.least = parameter.count;
    c.most = parameter.is_given ? parameter.count : TD_MAX_MODULI;
    c.is_complex = parameter.is_complex;
    c.kind = kind;
    c.reads_c = p->beta.device || p->beta.value.binary64 != 0.0;
    c.region = td_real_region(p);
    td_route_set_product(&c);
    return c;
}

/* ---- choosing ---- */

/* The first row that serves and costs least, of those whose bit `without` has not; NULL: there is
 * none. */
static const td_route_row *cheapest(td_stage stage, const td_route_case *given, uint64_t without)
{
    const td_route_row *best = NULL;
    td_route_case c = *given;
    double least = 0.0;
    for (int i = 0; i < TD_ROUTE_ROWS; i++) {
        const td_route_row *row = &td_route_rows[i];
        c.row = row;
        if (row->stage != stage || without >> i & 1 || !row->serves(&c)) continue;
        const double own = row->cost(&c);
        if (best && own >= least) continue;
        best = row;
        least = own;
    }
    return best;
}

int td_route_choose(td_stage stage, const td_route_case *c)
{
    const td_route_row *row = cheapest(stage, c, c->terms.without);
    if (!row) row = cheapest(stage, c, 0);
    return row->value;
}

td_route td_route_of_case(const td_route_case *given)
{
    td_route_case c = *given;
    for (int stage = 0; stage < TD_STAGES; stage++)
        c.route.of[stage] = td_route_choose((td_stage)stage, &c);
    return c.route;
}

int td_route_slices(int64_t m, int64_t n, int64_t k_pass, int64_t batch, uint64_t without)
{
    td_route_case c;
    td_route_case_begin(&c, m, n, k_pass, batch, &(td_route_terms){.without = without});
    c.k_pass = k_pass;
    return td_route_choose(TD_STAGE_SLICES, &c);
}

td_gemm_route td_route_gemm(const td_panels *panels, const td_route_terms *terms)
{
    td_route_case c;
    td_route_case_begin(&c, panels->m, panels->n, panels->k, panels->batch, terms);
    c.type = panels->type;
    c.rows = panels->m;
    c.depth = panels->k;
    c.planes = panels->planes;
    c.route.of[TD_STAGE_SLICES] = panels->slices;
    return (td_gemm_route)td_route_choose(TD_STAGE_GEMM, &c);
}

td_binary64_launch td_route_binary64(int64_t m, int64_t n, int64_t k, int64_t batch,
                                     const td_route_terms *terms)
{
    td_route_case c;
    td_route_case_begin(&c, m, n, k, batch, terms);
    const int tiles = td_route_choose(TD_STAGE_REPAIR_TILES, &c);
    c.route.of[TD_STAGE_REPAIR_TILES] = tiles;
    const int shares = td_route_choose(TD_STAGE_REPAIR_SHARES, &c);
    c.route.of[TD_STAGE_REPAIR_SHARES] = shares;
    return (td_binary64_launch){.route = (td_binary64_route)td_route_choose(TD_STAGE_REPAIR, &c),
                                .tiles = tiles,
                                .blocks = (int)td_route_binary64_blocks(&c),
                                .shares = shares};
}

td_traits td_traits_of_card(const td_card *card)
{
    const td_rates rates = td_rates_of(card);
    const td_architecture *a = td_architecture_of(10 * card->major + card->minor);
    return (td_traits){.multiprocessors = card->multiprocessors,
                       .shared_bytes = a->kibibytes << 10,
                       .has_tma = a->has_tma,
                       .has_wgmma = a->has_wgmma,
                       .has_much_binary64 = td_rates_have_much_binary64(&rates)};
}

/* ---- for people ---- */

const char *const td_stage_names[TD_STAGES] = {"measure",       "split", "round", "slices",
                                               "gemm",          "crt",   "fuse",  "repair-tiles",
                                               "repair-shares", "repair"};

const char *td_route_name(td_stage stage, int value)
{
    for (int i = 0; i < TD_ROUTE_ROWS; i++)
        if (td_route_rows[i].stage == stage && td_route_rows[i].value == value)
            return td_route_rows[i].name;
    return "?";
}

const char *td_route_print(const td_route *route, char text[TD_ROUTE_TEXT])
{
    size_t used = 0;
    for (int stage = 0; stage < TD_STAGES && used < TD_ROUTE_TEXT; stage++)
        used += (size_t)snprintf(text + used, TD_ROUTE_TEXT - used, "%s%s %s", stage ? ", " : "",
                                 td_stage_names[stage],
                                 td_route_name((td_stage)stage, route->of[stage]));
    return text;
}
