#include "known.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "../engines/native_knows.h"
#include "../routine/mix.h"

/* ---- what decides ---- */

typedef struct {
    const td_options *options;
    const td_model *model;
    td_entry entry;
    td_branch_form branch; /* if the call, unlike what td_ask says, has not one of two bodies */
    td_problem call;       /* with addresses that stand for those of the program */
} key;

enum { MATRICES = 4, EVEN_BYTES = 256 };

/* What stands for address `which` of several: the number, from 1, of the first that is the same,
 * and the address modulo EVEN_BYTES. */
static void *stand_in(const void *const *addresses, int which)
{
    int first = 0;
    if (!addresses[which]) return NULL;
    while (addresses[first] != addresses[which]) first++;
    return (void *)((uintptr_t)(first + 1) * EVEN_BYTES + (uintptr_t)addresses[which] % EVEN_BYTES);
}

static void *only_stand_in(const void *address) { return stand_in(&address, 0); }

static void replace_matrices(td_problem *p)
{
    td_matrix *const matrix[MATRICES] = {&p->a, &p->b, &p->c, &p->addend};
    const void *data[MATRICES], *array[MATRICES];
    for (int i = 0; i < MATRICES; i++) {
        data[i] = matrix[i]->data;
        array[i] = matrix[i]->array;
    }
    for (int i = 0; i < MATRICES; i++) {
        matrix[i]->data = stand_in(data, i);
        matrix[i]->array = stand_in(array, i);
    }
}

/* What stands for a part of a scalar. */
static double part_stand_in(double x)
{
    const double other = 2.0;
    return x == 0.0 || fabs(x) == 1.0 ? x : other;
}

/* No decision asks more of a scalar than whether its parts are 0, 1 or -1: programs scale by what
 * they compute. Of its bytes only those of its type count. */
static void replace_scalar(td_scalar *s, td_type type)
{
    const td_scalar given = *s;
    const td_complex_binary64 *const z = &given.value.complex_binary64;
    memset(s, 0, sizeof *s);
    s->device = only_stand_in(given.device);
    if (type == TD_BINARY64)
        s->value.binary64 = part_stand_in(given.value.binary64);
    else if (type == TD_COMPLEX_BINARY64)
        s->value.complex_binary64 =
            (td_complex_binary64){part_stand_in(z->re), part_stand_in(z->im)};
    else
        s->value = given.value;
}

static void replace_others(td_problem *p)
{
    replace_scalar(&p->alpha, td_problem_type_of_alpha(p));
    replace_scalar(&p->beta, td_problem_type_of_beta(p));
    p->pivots = only_stand_in(p->pivots);
    p->tau = only_stand_in(p->tau);
    p->values = only_stand_in(p->values);
    p->info = only_stand_in(p->info);
    p->solver = only_stand_in(p->solver);
    p->stream = NULL;
    p->lent = (td_loan){0};
    p->enqueued = p->enqueued_by = p->caller = NULL;
    p->enqueued_by_bytes = 0;
}

static void make_key(key *k, const td_options *o, td_entry entry, const td_problem *p,
                     const td_model *model)
{
    memset(k, 0, sizeof *k);
    k->options = o;
    k->model = model;
    k->entry = entry;
    memcpy(&k->call, p, sizeof k->call);
    replace_matrices(&k->call);
    replace_others(&k->call);
}

/* Of what most calls differ in: a hash of all would take as long as the rest. */
static uint64_t hash_of(const key *k)
{
    const td_problem *p = &k->call;
    const uint64_t words[] = {
        (uint64_t)p->m,
        (uint64_t)p->n,
        (uint64_t)p->k,
        (uint64_t)p->batch,
        (uint64_t)p->a.ld,
        (uint64_t)p->b.ld,
        (uint64_t)p->c.ld,
        (uint64_t)(uintptr_t)p->a.data | (uint64_t)(uintptr_t)p->b.data << 16 |
            (uint64_t)(uintptr_t)p->c.data << 32,
        (uint64_t)k->entry | (uint64_t)p->kind << 16 | (uint64_t)p->type << 24 |
            (uint64_t)p->op_a << 28 | (uint64_t)p->op_b << 32 | (uint64_t)k->branch << 36,
    };
    uint64_t hash = (uint64_t)(uintptr_t)k->options ^ (uint64_t)(uintptr_t)k->model;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) hash = td_mix(hash, words[i]);
    return hash;
}

/* ---- memory ---- */

/* A decision has one of WAYS places, by its key's hash; an empty place has no key's options. Cut
 * into panels, one factorisation alone has some hundred different calls. Nobody waits for another
 * thread, as that would take as long as to decide. */
enum { SETS = 256, WAYS = 4 };
typedef struct {
    uint64_t hash;
    key of;
    td_decision decision;
} known;
static struct {
    known known[WAYS];
    unsigned oldest; /* the next to be forgotten */
} table[SETS];
pthread_mutex_t td_known_lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_same(const void *one, const void *other)
{
    return memcmp(one, other, sizeof(key)) == 0;
}

/* Under the lock; NULL: the key is not there. */
static known *find(const key *k, uint64_t hash)
{
    known *const set = table[hash % SETS].known;
    for (int i = 0; i < WAYS; i++)
        if (set[i].hash == hash && is_same(&set[i].of, k)) return &set[i];
    return NULL;
}

static bool recall(const key *k, uint64_t hash, td_decision *decision)
{
    if (pthread_mutex_trylock(&td_known_lock) != 0) return false;
    const known *const found = find(k, hash);
    if (found) *decision = found->decision;
    pthread_mutex_unlock(&td_known_lock);
    return found;
}

static void keep(const key *k, uint64_t hash, const td_decision *decision)
{
    if (pthread_mutex_trylock(&td_known_lock) != 0) return;
    known *place = find(k, hash);
    if (!place) place = &table[hash % SETS].known[table[hash % SETS].oldest++ % WAYS];
    place->hash = hash;
    memcpy(&place->of, k, sizeof place->of);
    place->decision = *decision;
    pthread_mutex_unlock(&td_known_lock);
}

bool td_known_find(const td_options *o, td_entry entry, const td_problem *p, const td_model *model,
                   td_decision *decision)
{
    key k;
    make_key(&k, o, entry, p, model);
    return recall(&k, hash_of(&k), decision);
}

td_decision td_known_decide(const td_options *o, const td_question *q, const td_model *model)
{
    key k;
    td_decision decision;
    make_key(&k, o, q->entry, q->called, model);
    if (td_native_knows(q->called)) k.branch = q->branch;
    const uint64_t hash = hash_of(&k);
    if (recall(&k, hash, &decision)) return decision;
    decision = td_policy_decide(o, q, model);
    keep(&k, hash, &decision);
    return decision;
}
