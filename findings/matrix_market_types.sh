#!/usr/bin/env bash
# scipy.io.mmwrite keeps six decimals of long double, and the integer part of half precision.
#
# Versions:  scipy 1.17.1, numpy 2.4.6 (their wheels from PyPI).
# Expected:  without the argument precision a file of the Matrix Market has digits enough to read the same numbers
#            again, as it has for float32 and float64; a longer type has no fewer digits than a shorter one.
# Seen:      a longdouble matrix is written with six digits after the point: 1e-7 as 0.000000, 1/3 as 0.333333. A
#            float16 matrix is written as one of integers, each cut toward 0: 0.999 becomes 0, also with precision=17.
#            There is no warning. field='real' gives right files for both.
# Why:       since SciPy 1.12 code in C++ writes these files, with the shortest digits that are read as the same
#            number for float32 and float64 alone. long double looks as printf's %f has it, and float16 as a type of
#            integers.
# Cost:      matrices saved in extended precision, to keep digits, come back with fewer than float32 has.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet --no-compile numpy==2.4.6 scipy==1.17.1
"$folder/bin/python" - <<'END'
import io

import numpy as np
import scipy.io


def written(matrix, **options):
    """The numbers of the file, and the matrix that is read from it."""
    file = io.BytesIO()
    scipy.io.mmwrite(file, matrix, **options)
    lines = file.getvalue().decode().splitlines()
    return lines[0].split()[3], lines[3:], scipy.io.mmread(io.BytesIO(file.getvalue()))


values = [[1e-7, 1 / 3, 0.999]]
for name in ("float16", "float32", "float64", "longdouble"):
    field, numbers, _ = written(np.array(values, name))
    print(f"{name}: field {field}, numbers {' '.join(numbers)}")
assert written(np.array(values, "longdouble"))[1] == ["0.000000", "0.333333", "0.999000"]
assert written(np.array(values, "float16"), precision=17)[:2] == ("integer", ["0", "0", "0"])
for name in ("float16", "longdouble"):
    assert (written(np.array(values, "float64").astype(name), field="real")[2].astype(name) ==
            np.array(values, "float64").astype(name)).all()
for name in ("float32", "float64"):
    assert (written(np.array(values, name))[2].astype(name) == np.array(values, name)).all()
END
