#!/usr/bin/env bash
# A second right-hand side turns the exact answer to the first into infinity: OpenBLAS's solve does not divide.
#
# Versions:  numpy 2.4.6 (its wheel from PyPI, with OpenBLAS 0.3.31), for the kernels that OPENBLAS_CORETYPE names.
# Expected:  back substitution divides by the diagonal of a triangle. With the diagonal matrix diag(a), a x = a gives
#            a / a, which is 1 for all finite numbers but 0, and right-hand sides do not know of each other.
# Seen:      for one right-hand side all of x is 1, also for a = 1e-310. For two equal right-hand sides the element of
#            a = 1e-310 is infinite in both. Of a = 1 to 199, solved with the matrix itself as the right-hand sides,
#            eight elements of the diagonal are not 1: those of 49, 98, 103, 107, 161, 187, 196 and 197.
# Why:       for several right-hand sides dtrsm first stores the reciprocals of the diagonal, and multiplies by them.
#            1 / a overflows for a below 5.6e-309, and 49 (1/49) is below 1 in binary64. For one right-hand side
#            another routine runs, which divides.
# Cost:      a column of solutions depends on how many there are; a matrix that is scaled down too far gives
#            infinities where the solution is harmless.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet --no-compile numpy==2.4.6
for kernels in Prescott Nehalem; do
    echo "kernels $kernels:"
    OPENBLAS_CORETYPE=$kernels OPENBLAS_NUM_THREADS=1 "$folder/bin/python" - <<'END'
import numpy as np

small = np.array([1e-310, 1.0, 2.0])
one = np.linalg.solve(np.diag(small), small[:, None])
two = np.linalg.solve(np.diag(small), np.stack([small, small], axis=1))
print(f"one right-hand side: {one[:, 0]}; the first of two equal ones: {two[:, 0]}")
whole = np.diag(np.arange(1.0, 200.0))
wrong = np.flatnonzero(np.linalg.solve(whole, whole).diagonal() != 1) + 1
print(f"a x = a has another solution than 1 for a = {wrong.tolist()}")
assert (one == 1).all() and np.isinf(two[0]).all() and (two[1:] == 1).all()
assert wrong.tolist() == [49, 98, 103, 107, 161, 187, 196, 197]
END
done
