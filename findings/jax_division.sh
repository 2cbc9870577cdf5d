#!/usr/bin/env bash
# JAX does not divide an array by a number: it multiplies by a reciprocal, which may be 0.
#
# Versions:  jax and jaxlib 0.10.2 on the CPU (their wheels from PyPI), binary64 and binary32.
# Expected:  IEEE division, correctly rounded, as it is in NumPy and in JAX for two arrays of one shape: x / x is 1.
# Seen:      513 of the numbers 1 to 1000 divided by 49 differ from IEEE's quotients. The mean of 49 ones is
#            0.9999999999999999. The first element of [1.7e308, 1] / 1.7e308 is 0, and so is that of [3e38, 1] / 3e38
#            in binary32. These are single operations outside jit. The same divisor as an array of the full shape
#            gives IEEE's quotients.
# Why:       XLA rewrites a division by a number that is broadcast as one division, 1 / c, and a product for each
#            element. That of a c above 2^1022 is subnormal (in binary32 above 2^126), and XLA's code for the CPU
#            flushes it to 0.
# Cost:      a last digit in half of all quotients; normalised data are 0 where the norm is near the top of the range.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet --no-compile numpy==2.4.6 scipy==1.17.1 jax==0.10.2 jaxlib==0.10.2 \
    ml-dtypes==0.6.0 opt-einsum==3.4.0
JAX_PLATFORMS=cpu JAX_ENABLE_X64=1 "$folder/bin/python" - <<'END'
import jax.numpy as jnp
import numpy as np

numbers = np.arange(1.0, 1001.0)
by_number = np.asarray(jnp.asarray(numbers) / 49.0)
by_array = np.asarray(jnp.asarray(numbers) / jnp.full(1000, 49.0))
wrong, right = np.count_nonzero(by_number != numbers / 49), np.count_nonzero(by_array != numbers / 49)
print(f"1 to 1000 over 49: {wrong} quotients are not IEEE's; over an array of 49s: {right}")
mean = float(jnp.mean(jnp.ones(49)))
print(f"mean of 49 ones: {mean!r}")
huge = float((jnp.array([1.7e308, 1]) / 1.7e308)[0])
huge_single = float((jnp.array([3e38, 1], jnp.float32) / jnp.float32(3e38))[0])
print(f"[1.7e308, 1] / 1.7e308 is {huge}, [3e38, 1] / 3e38 in binary32 is {huge_single}")
assert wrong > 500 and right == 0 and mean == 1 - 2**-53 and huge == 0 and huge_single == 0
END
