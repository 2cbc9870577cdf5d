#!/usr/bin/env bash
# Symmetric 2 x 2 matrices with a NaN on the diagonal have finite eigenvalues in LAPACK.
#
# Versions:  numpy 2.4.6 (its wheel from PyPI, with the LAPACK of OpenBLAS 0.3.31).
# Expected:  NaN, or an error. NumPy raises LinAlgError for a symmetric matrix of order 3 with a NaN.
# Seen:      [[a, b], [b, NaN]] and [[NaN, b], [b, a]] have the eigenvalues -sqrt(2) |b| and sqrt(2) |b|, whatever a
#            is; no error is raised. In a stack of matrices nothing tells these from the others.
# Why:       LAPACK's routine for a 2 x 2 block compares the difference of the diagonal with 2 |b|: larger, smaller,
#            else equal. A NaN is neither larger nor smaller, so the formula for equal numbers is used, which has no a
#            in it. Then it asks whether the trace is negative or positive, and takes it for 0.
# Cost:      a stack of stress or covariance tensors of order 2 hides missing values behind numbers that look right.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet --no-compile numpy==2.4.6
OPENBLAS_NUM_THREADS=1 "$folder/bin/python" - <<'END'
import numpy as np

nan, want = float("nan"), [-3 * 2**0.5, 3 * 2**0.5]
found = np.linalg.eigvalsh(np.array([[[1, 3], [3, nan]], [[nan, 3], [3, -70]], [[1, 3], [3, 1]]]))
print(f"b = 3: eigenvalues {found[0]} of [[1, b], [b, NaN]], {found[1]} of [[NaN, b], [b, -70]]")
assert np.allclose(found, [want, want, [-2, 4]], rtol=1e-12)
try:
    np.linalg.eigvalsh(np.array([[1, 3, 0], [3, nan, 0], [0, 0, 1.0]]))
    raise SystemExit("order 3: no error")
except np.linalg.LinAlgError as error:
    print(f"order 3: {error}")
END
