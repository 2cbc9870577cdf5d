#!/usr/bin/env bash
# A solution of two small equations is wrong without a word: OpenBLAS's LU does not divide by pivots below 2.2e-308.
#
# Versions:  numpy 2.4.6 (its wheel from PyPI, with OpenBLAS 0.3.31), for the kernels that OPENBLAS_CORETYPE names.
# Expected:  4 x + y = 5 and 2 x + 3 y = 5 have the solution x = y = 1, and so they have with all numbers times 1e-309:
#            these are below the normal range, but have 50 bits each. Gauss's elimination takes 1/2 of the first
#            equation from the second. LAPACK's own dgetf2 divides column by column where a reciprocal would overflow.
# Seen:      x = 0.833 and y = 1.667, for which the second equation is wrong by a third. Times 2^60 the same matrix
#            gives 1 and 1. The logarithm of the determinant is that of 12, not of 10, and as complex numbers the
#            equations have the solution NaN. Nothing warns of it.
# Why:       where a pivot is smaller than the least normal number, OpenBLAS's getrf leaves the column below it as it
#            is: it takes 2e-309 itself for the quotient, which is 1/2. Of complex pivots a reciprocal overflows.
# Cost:      all digits of solutions, inverses and determinants of matrices in units that are too large, or of
#            well-conditioned blocks of products of many small factors.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet --no-compile numpy==2.4.6
for kernels in Prescott Nehalem; do
    echo "kernels $kernels:"
    OPENBLAS_CORETYPE=$kernels OPENBLAS_NUM_THREADS=1 "$folder/bin/python" - <<'END'
import numpy as np

a, b = np.array([[4e-309, 1e-309], [2e-309, 3e-309]]), np.array([5e-309, 5e-309])
large = 2.0**60
x, right = np.linalg.solve(a, b), np.linalg.solve(a * large, b * large)
ratio = np.exp(np.linalg.slogdet(a)[1] - np.linalg.slogdet(a * large)[1] + 2 * np.log(large))
narrow = np.linalg.solve(a.astype(complex), b.astype(complex))
print(f"x = {x}; times 2^60: {right}; as complex numbers: {narrow}")
print(f"A x / b = {a @ x / b}; the determinant is {ratio:.4f} times the right one")
assert np.allclose(right, 1, rtol=1e-12) and np.allclose(x, [5 / 6, 5 / 3], rtol=1e-12)
assert abs(ratio - 1.2) < 1e-9 and np.isnan(narrow).all()
END
done
