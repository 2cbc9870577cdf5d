/* In place of cusolver.c where the headers of cuSOLVER are missing. */
#include "common.h"
#include "solver.h"

static bool refuse(void)
{
    complain("cuSOLVER: this program was built without it");
    return false;
}

bool eigenvectors_cusolver(int n, const double *a, double *x)
{
    (void)n;
    (void)a;
    (void)x;
    return refuse();
}

bool eigenpairs_cusolver(int n, const double *a, const double *b, double *x, double *d,
                         double *seconds)
{
    (void)n;
    (void)a;
    (void)b;
    (void)x;
    (void)d;
    (void)seconds;
    return refuse();
}
