#!/usr/bin/env bash
# PyTorch's gradient of the matrix exponential is not linear: the larger the loss, the fewer of its digits are right.
#
# Versions:  torch 2.15.0 on the CPU (its wheel from PyPI; 2.9.1 does the same), binary64 and binary32.
# Expected:  a gradient is linear in the one that comes in. Twice the loss gives twice the gradient, and a power of two
#            moves no digit: so loss scaling is used, and torch.amp.GradScaler multiplies a loss by 65536.
# Seen:      the gradient of exp(A), A = diag(1/2, -1/4), for an incoming unit matrix begins with e^(1/2) = 1.6487. For 2^50
#            times as large an incoming one it begins with 2.1170 times 2^50, for 2^60 with 1 times 2^60, as if A were 0. Of a
#            full matrix of 4 x 4 and norm 1 and incoming ones of 2^10, 2^20, 2^30, 2^40 the gradient is off by some 1e-13,
#            1e-10, 1e-7, 1e-4 of its largest element. In binary32 GradScaler's 65536 leaves two digits. Nothing is said.
# Why:       the gradient is the corner block of exp [A' G; 0 A'] (Mathias, 1996), which PyTorch makes by its own
#            matrix_exp. That scales by the norm of the whole, of which G is the most, until it is small, and squares as
#            often: A is divided by the size of G, added to 1, and rounded away. G would have to be divided by its norm first.
# Cost:      digits in proportion to the loss, in flows and neural differential equations that learn by matrix exponentials.
#
# The wheel brings CUDA's libraries, which are not used: 6 GB of disk, and up to five minutes.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet --no-compile torch==2.15.0 numpy==2.4.6
"$folder/bin/python" - <<'END'
import torch


def gradient(a, incoming):
    a = a.clone().requires_grad_(True)
    torch.linalg.matrix_exp(a).backward(incoming)
    return a.grad


def change(a, g, s):
    """The gradient for 2^s G over 2^s less that for G, by its largest element."""
    small = gradient(a, g)
    return float((gradient(a, g * 2.0**s) / 2.0**s - small).abs().max() / small.abs().max())


torch.manual_seed(0)
a, g = torch.randn(2, 4, 4, dtype=torch.float64)
a /= torch.linalg.matrix_norm(a, 2)
changes = {s: change(a, g, s) for s in (10, 20, 30, 40)}
print("binary64, 2^s times the loss:", ", ".join(f"s = {s}: {by:.1e}" for s, by in changes.items()))
single = change(a.float(), g.float(), 16)
print(f"binary32, 65536 times the loss: {single:.1e}")
diagonal = torch.diag(torch.tensor([0.5, -0.25], dtype=torch.float64))
first = {s: float(gradient(diagonal, torch.eye(2) * 2.0**s)[0, 0] / 2.0**s) for s in (0, 50, 60)}
print("derivative of e^(1/2):", ", ".join(f"s = {s}: {x:.5f}" for s, x in first.items()))
assert changes[10] > 1e-13 and changes[20] > 1e-10 and changes[30] > 1e-7 and changes[40] > 1e-4 and single > 1e-3
assert abs(first[0] - 1.64872) < 1e-5 and first[50] > 2 and first[60] == 1
END
