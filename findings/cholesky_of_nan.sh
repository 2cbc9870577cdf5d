#!/usr/bin/env bash
# OpenBLAS's Cholesky accepts a NaN as positive; the LAPACK that is compiled into the same library does not.
#
# Versions:  numpy 2.4.6, scipy-openblas32 0.3.34.481.3 (their wheels from PyPI).
# Expected:  dpotrf says by info > 0 which leading minor is not positive. LAPACK's sources test each pivot for <= 0 or
#            NaN. So a matrix with a NaN is refused, and numpy.linalg.cholesky raises LinAlgError, its only test.
# Seen:      in one library, on one matrix with a NaN on the diagonal in row 2, dpotrf returns info = 0, and dpotrf2,
#            by which LAPACK's own dpotrf works, returns info = 2. NumPy raises nothing, and returns a factor with
#            NaN.
# Why:       OpenBLAS puts its own dpotrf in the place of LAPACK's, and that tests for <= 0 alone, which a NaN is not.
# Cost:      programs that try Cholesky to learn whether a matrix is positive definite, and add to the diagonal until
#            it is, take a matrix with NaN for a good one here and for a bad one with another LAPACK.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet --no-compile numpy==2.4.6 scipy-openblas32==0.3.34.481.3
OPENBLAS_NUM_THREADS=1 "$folder/bin/python" - <<'END'
import ctypes
import os

import numpy as np
import scipy_openblas32

library = ctypes.CDLL(os.path.join(scipy_openblas32.get_lib_dir(), "libscipy_openblas.so"))
matrix = 4 * np.eye(3)
matrix[1, 1] = np.nan


def info_of(routine):
    copy, order, info = matrix.copy(order="F"), ctypes.c_int(3), ctypes.c_int(-1)
    getattr(library, f"scipy_{routine}_")(b"L", ctypes.byref(order), copy.ctypes.data_as(ctypes.c_void_p),
                                          ctypes.byref(order), ctypes.byref(info), ctypes.c_size_t(1))
    return info.value


print(f"OpenBLAS: info of dpotrf is {info_of('dpotrf')}, of dpotrf2 {info_of('dpotrf2')}")
factor = np.linalg.cholesky(matrix)
print(f"NumPy: no error, and a factor with {np.isnan(factor).sum()} NaN")
assert (info_of("dpotrf"), info_of("dpotrf2")) == (0, 2) and np.isnan(factor).any()
END
