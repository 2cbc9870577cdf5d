#!/usr/bin/env bash
# NumPy's product of complex arrays is not commutative, and z times its conjugate is not real.
#
# Versions:  numpy 2.4.6 (its wheel from PyPI), on a processor that has AVX2 and FMA3.
# Expected:  both z w and w z are (ac - bd) + (ad + bc)i with four rounded products, so they are the same numbers, and
#            the imaginary part of z conj(z), which is ab - ab, is 0. So it is for Python's complex numbers, and for
#            NumPy's own scalars.
# Seen:      for arrays of normal random numbers some 30 % of the elements of z w and of w z differ, and z conj(z) has
#            an imaginary part that is not 0 in each element. With the loops for AVX2 and AVX-512 turned off by
#            NumPy's documented variable, the same program finds no difference at all.
# Why:       the loops for vectors round one of the two products of each sum, and fuse the other with the addition.
#            The rounding error of the first is what is left of ab - ab. Whether an element goes through these loops
#            depends on the processor, and on whether it was in an array when it was multiplied.
# Cost:      a test whether a matrix is Hermitian, or a sum of squares real, fails for one form of the same data.
set -euo pipefail

if ! grep -qw fma /proc/cpuinfo || ! grep -qw avx2 /proc/cpuinfo; then
    echo "not seen: this processor has no AVX2 or no FMA3"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet --no-compile numpy==2.4.6

# count_differences: prints how many of 1000 elements break a rule, for arrays and for NumPy's scalars.
count_differences() {
    "$folder/bin/python" -W ignore - <<'END'
import numpy as np

random = np.random.default_rng(1)
z, w = random.standard_normal((2, 1000)) + 1j * random.standard_normal((2, 1000))
print(
    np.count_nonzero(z * w != w * z),
    np.count_nonzero((z * z.conj()).imag),
    sum(a * b != b * a for a, b in zip(z, w)),
    sum((a * a.conj()).imag != 0 for a in z))
END
}

read -r swapped conjugate scalars_swapped scalars_conjugate < <(count_differences)
read -r plain_swapped plain_conjugate _ < <(NPY_DISABLE_CPU_FEATURES="X86_V3 X86_V4" count_differences)
echo "arrays of 1000: z w and w z differ in $swapped elements, z conj(z) is not real in $conjugate"
echo "the same as NumPy's scalars: $scalars_swapped and $scalars_conjugate"
echo "arrays, without the loops for AVX2 and AVX-512: $plain_swapped and $plain_conjugate"
# What was seen before is still so.
[ "$swapped" -gt 200 ] && [ "$conjugate" -gt 950 ] && [ "$scalars_swapped$scalars_conjugate" = 00 ] &&
    [ "$plain_swapped$plain_conjugate" = 00 ]
