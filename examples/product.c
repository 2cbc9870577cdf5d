#include "product.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "wide.h"

enum { SAMPLES = 24 };

int product_rows_a(const product *p) { return p->trans_a == 'N' ? p->m : p->k; }
int product_columns_a(const product *p) { return p->trans_a == 'N' ? p->k : p->m; }
int product_rows_b(const product *p) { return p->trans_b == 'N' ? p->k : p->n; }
int product_columns_b(const product *p) { return p->trans_b == 'N' ? p->n : p->k; }

static double *random_matrix(int rows, int columns, double phi, random_stream *random)
{
    double *x = host_matrix(rows, columns);

    if (!x) return NULL;
    for (ptrdiff_t i = 0, count = (ptrdiff_t)rows * columns; i < count; i++) {
        x[i] = random_uniform(random) - 0.5;
        if (phi != 0.0) x[i] *= exp(phi * random_normal(random));
    }
    return x;
}

bool operands_make(const product *p, double phi, long seed, operands *o)
{
    random_stream random = {(uint64_t)seed};

    o->a = random_matrix(product_rows_a(p), product_columns_a(p), phi, &random);
    o->b = random_matrix(product_rows_b(p), product_columns_b(p), phi, &random);
    o->c = random_matrix(p->m, p->n, phi, &random);
    if (!o->a || !o->b || !o->c) {
        operands_free(o);
        return false;
    }
    if (p->beta == 0.0)
        for (ptrdiff_t i = 0, count = (ptrdiff_t)p->m * p->n; i < count; i++) o->c[i] = NAN;
    return true;
}

void operands_free(operands *o)
{
    free(o->a);
    free(o->b);
    free(o->c);
    *o = (operands){NULL, NULL, NULL};
}

/* |computed - exact| of element (i, j), relative to |alpha| |A| |B| + |beta| |C0| there. */
static double element_error(const product *p, const operands *o, int i, int j, double computed)
{
    ptrdiff_t rows_a = product_rows_a(p), rows_b = product_rows_b(p);
    const double *a = p->trans_a == 'N' ? o->a + i : o->a + i * rows_a;
    const double *b = p->trans_b == 'N' ? o->b + j * rows_b : o->b + j;
    ptrdiff_t step_a = p->trans_a == 'N' ? rows_a : 1, step_b = p->trans_b == 'N' ? 1 : rows_b;
    wide sum = 0, scale = 0;

    for (ptrdiff_t l = 0; l < p->k; l++) {
        wide term = (wide)a[l * step_a] * (wide)b[l * step_b];
        sum += term;
        scale += wide_magnitude(term);
    }
    sum *= (wide)p->alpha;
    scale *= wide_magnitude((wide)p->alpha);
    if (p->beta != 0.0) {
        wide term = (wide)p->beta * (wide)o->c[i + (ptrdiff_t)j * p->m];
        sum += term;
        scale += wide_magnitude(term);
    }
    wide error = wide_magnitude((wide)computed - sum);
    return error == 0 ? 0.0 : (double)(error / scale);
}

/* Samples of [0, size): the sample-th of SAMPLES evenly spread places, both ends among them. */
static int sample_place(int sample, int samples, int size)
{
    return samples < 2 ? 0 : (int)((long)sample * (size - 1) / (samples - 1));
}

double product_error(const product *p, const operands *o, const double *c)
{
    int rows = p->m < SAMPLES ? p->m : SAMPLES, columns = p->n < SAMPLES ? p->n : SAMPLES;
    double worst = 0.0;

    for (int t = 0; t < columns; t++) {
        int j = sample_place(t, columns, p->n);
        for (int s = 0; s < rows; s++) {
            int i = sample_place(s, rows, p->m);
            double error = element_error(p, o, i, j, c[i + (ptrdiff_t)j * p->m]);
            if (isnan(error)) return error;
            if (error > worst) worst = error;
        }
    }
    return worst;
}
