#!/usr/bin/env bash
# With directed rounding half of a product is rounded the other way: OpenBLAS's threads do not take the caller's mode.
#
# Versions:  numpy 2.4.6 (its wheel from PyPI, with OpenBLAS 0.3.31), two threads or more.
# Expected:  after fesetround(FE_UPWARD) a product of positive matrices is an upper bound of the exact one: this is
#            how interval arithmetic bounds products by two calls of a fast library. With one thread it is.
# Seen:      with two threads the elements that the other thread computes, half of C, have the very bits of rounding
#            to nearest. Nothing tells one half from the other.
# Why:       the rounding mode belongs to a thread. OpenBLAS starts its threads when it is loaded, so they have the
#            mode of that moment for ever. Builds that copy it at each call exist (CONSISTENT_FPCSR), NumPy's is none.
# Cost:      bounds that are none, on machines with more cores than the one where they were tested.
set -euo pipefail

if [ "$(nproc)" -lt 2 ]; then
    echo "not seen: this takes two processors"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet --no-compile numpy==2.4.6

# share_of_nearest THREADS: prints how many per cent of C are as rounding to nearest makes them.
share_of_nearest() {
    OPENBLAS_CORETYPE=Nehalem OPENBLAS_NUM_THREADS=$1 "$folder/bin/python" - <<'END'
import ctypes

import numpy as np

upward, nearest = 0x800, 0  # FE_UPWARD and FE_TONEAREST of x86-64
a, b = np.random.default_rng(0).random((2, 400, 400))
reference = a @ b
mathematics = ctypes.CDLL("libm.so.6")
mathematics.fesetround(upward)
product = a @ b
mathematics.fesetround(nearest)
assert (product >= reference).all()
print(round(100 * np.mean(product == reference)))
END
}

one=$(share_of_nearest 1)
two=$(share_of_nearest 2)
echo "rounding upward, one thread: $one % of C have the bits of rounding to nearest; two threads: $two %"
# What was seen before is still so.
[ "$one" -lt 5 ] && [ "$two" -ge 40 ] && [ "$two" -le 60 ]
