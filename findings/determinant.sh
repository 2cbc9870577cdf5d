#!/usr/bin/env bash
# numpy.linalg.det is an exponential of a sum of logarithms: it rounds even the determinants of diagonal matrices.
#
# Versions:  numpy 2.4.6 and scipy 1.17.1 (their wheels from PyPI).
# Expected:  after LU the determinant is the product of the diagonal of U. A diagonal matrix needs no elimination, so
#            diag(3, 5, 7) has 105 and diag(2^500, 2^500) has 2^1000, without any rounding. SciPy's det returns these.
# Seen:      NumPy's det returns 104.99999999999997 for the first, and a number that is off by more than 100 units in
#            the last place for the second.
# Why:       det adds the logarithms of the pivots, as slogdet does, and takes the exponential of the sum. An error of
#            half a unit in the last place of a sum near 700 is a relative error of 5e-14 in its exponential: the
#            larger or smaller the determinant is, the fewer digits of it are right, whatever the condition of the
#            matrix.
# Cost:      three digits, in a result whose errors are commonly put down to the elimination.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet --no-compile numpy==2.4.6 scipy==1.17.1
"$folder/bin/python" - <<'END'
import numpy as np
import scipy.linalg

odd, powers = np.diag([3.0, 5.0, 7.0]), np.diag([2.0**500, 2.0**500])
units = abs(np.linalg.det(powers) - 2.0**1000) / np.spacing(2.0**1000)
print("det of diag(3, 5, 7): NumPy", float(np.linalg.det(odd)), "SciPy", float(scipy.linalg.det(odd)))
print(f"det of diag(2^500, 2^500): NumPy is {units:.0f} units in the last place from 2^1000,",
      "SciPy is 2^1000" if scipy.linalg.det(powers) == 2.0**1000 else "SciPy is not")
assert np.linalg.det(odd) != 105 and units > 100
assert scipy.linalg.det(odd) == 105 and scipy.linalg.det(powers) == 2.0**1000
END
