#include "verified.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>

#include "common.h"

bool tandem_find(tandem_functions *t)
{
    *(void **)&t->verify_symmetric = dlsym(RTLD_DEFAULT, "tandem_verify_symmetric");
    *(void **)&t->dgemm = dlsym(RTLD_DEFAULT, "tandem_dgemm");
    *(void **)&t->last_message = dlsym(RTLD_DEFAULT, "tandem_last_message");
    *(void **)&t->status_text = dlsym(RTLD_DEFAULT, "tandem_status_text");
    if (t->verify_symmetric && t->dgemm && t->last_message && t->status_text) return true;
    complain("there is no Tandem in this process: start it by `tandem run --mode native -- %s ...`",
             program_name);
    return false;
}

bool verified_make(int n, verified *v)
{
    *v = (verified){.n = n, .lower = host_matrix(n, 1), .upper = host_matrix(n, 1)};
    v->cluster = calloc((size_t)n, sizeof *v->cluster);
    if (v->lower && v->upper && v->cluster) return true;
    complain("no memory for %d intervals", n);
    return false;
}

void verified_free(verified *v)
{
    free(v->lower);
    free(v->upper);
    free(v->cluster);
    *v = (verified){0};
}

/* Half of interval i's width. */
static double radius(const verified *v, int i) { return v->upper[i] / 2.0 - v->lower[i] / 2.0; }

static double relative_radius(const verified *v, int i)
{
    return radius(v, i) / fabs(v->lower[i] / 2.0 + v->upper[i] / 2.0);
}

verified_summary verified_summarise(const verified *v)
{
    verified_summary s = {0};

    for (int i = 0, next; i < v->n; i = next) {
        for (next = i + 1; next < v->n && v->cluster[next] == v->cluster[i];) next++;
        const int members = next - i;
        s.separated += members == 1;
        s.clusters += members > 1;
        if (members > s.largest) s.largest = members;
        s.widest = fmax(s.widest, radius(v, i));
        s.relative = fmax(s.relative, relative_radius(v, i));
    }
    return s;
}

/* A single quote would end gnuplot's string. */
static bool is_plain(const char *path)
{
    for (; *path; path++)
        if (*path == '\'' || (unsigned char)*path < 0x20) return false;
    return true;
}

bool verified_plot(const verified *v, const char *title, const char *path)
{
    if (!is_plain(path)) {
        complain("--plot: the name of the file must have no quotes and no control characters");
        return false;
    }
    FILE *gnuplot = popen("gnuplot", "w");
    if (!gnuplot) {
        complain("--plot: gnuplot does not start");
        return false;
    }
    fprintf(gnuplot,
            "set terminal svg size 900,500 background 'white'\nset output '%s'\n"
            "set title '%s'\nset logscale y\nset format y '10^{%%L}'\nset xlabel 'eigenvalue'\n"
            "set ylabel 'radius of its interval'\nset grid\n"
            "plot '-' with points pointtype 7 pointsize 0.3 title 'separated', "
            "'-' with points pointtype 6 pointsize 0.6 title 'in clusters'\n",
            path, title);
    for (int in_cluster = 0; in_cluster < 2; in_cluster++) {
        fputs("nan nan\n", gnuplot); /* a set of no points is an error */
        for (int i = 0; i < v->n; i++) {
            const bool is_in = (i > 0 && v->cluster[i] == v->cluster[i - 1]) ||
                               (i + 1 < v->n && v->cluster[i] == v->cluster[i + 1]);
            if (is_in == (in_cluster == 1))
                fprintf(gnuplot, "%.17g %.17g\n", v->lower[i] / 2.0 + v->upper[i] / 2.0,
                        radius(v, i));
        }
        fputs("e\n", gnuplot);
    }
    if (pclose(gnuplot) == 0) return true;
    complain("--plot: gnuplot fails, or is not installed");
    return false;
}
