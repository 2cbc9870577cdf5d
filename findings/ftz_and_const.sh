#!/usr/bin/env bash
# With nvcc -ftz=true the word const decides whether a difference is 0.
#
# Versions:  CUDA 13.5: nvidia-cuda-nvcc, nvidia-nvvm, nvidia-cuda-crt and nvidia-cuda-runtime 13.5.37,
#            nvidia-cuda-cccl 13.3.5.0.6 (their wheels from PyPI). A g++ has to be there for nvcc's host pass.
# Expected:  -ftz=true, which is in -use_fast_math, has all binary32 operations take and return 0 for subnormal
#            numbers. What the compiler computes itself has the results of the instructions in whose place it stands.
# Seen:      for float a = 2e-38f, b = 1.9e-38f the code stores 0 for a - b. For const float a, b of the same values
#            it stores 1e-39. sqrtf(1e-40f) is stored as 1e-20, though the instruction for an unknown operand is
#            sqrt.rn.ftz, which takes it for 0.
# Why:       two parts of nvcc fold constants. The front end folds what C++ calls a constant expression, const
#            variables among it, by IEEE's rules. What it leaves is folded later: there differences, products and
#            quotients are flushed, but functions such as sqrtf are not.
# Cost:      a harmless const, a literal in place of a variable, or an inlined call with a known argument changes
#            results.
set -euo pipefail

if ! command -v g++ >/dev/null; then
    echo "not seen: nvcc takes a g++"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet --no-compile nvidia-cuda-nvcc==13.5.37 nvidia-nvvm==13.5.37 \
    nvidia-cuda-crt==13.5.37 nvidia-cuda-runtime==13.5.37 nvidia-cuda-cccl==13.3.5.0.6
PATH=$(echo "$folder"/lib/python3*/site-packages/nvidia/cu13/bin):$PATH
cd "$folder"

# compiled STATEMENT: the PTX of a kernel that gets x, p and q and runs the statement.
compiled() {
    echo "extern \"C\" __global__ void kernel(float *x, float p, float q) { $1 }" >kernel.cu
    nvcc -arch=compute_80 -ftz=true -ptx -o kernel.ptx kernel.cu
    cat kernel.ptx
}

# stored STATEMENT: the number that the kernel stores, which stands in the PTX as a whole number with its bits.
stored() {
    compiled "$1" | sed -n 's/.*mov\.[bu]32.*, \([0-9]*\);/\1/p' |
        python3 -c 'import struct; print("%.2g" % struct.unpack("f", struct.pack("I", int(input()))))'
}

variables=$(stored 'float a = 2e-38f, b = 1.9e-38f; x[0] = a - b;')
constants=$(stored 'const float a = 2e-38f, b = 1.9e-38f; x[0] = a - b;')
root=$(stored 'x[0] = sqrtf(1e-40f);')
unknown=$(compiled 'x[0] = p - q; x[1] = sqrtf(p);' | grep -oE '(sub|sqrt)\.[a-z.]*f32' | xargs)
echo "2e-38 - 1.9e-38: $variables as variables, $constants as constants; sqrtf(1e-40f): $root"
echo "instructions for unknown operands: $unknown"
# What was seen before is still so.
[ "$variables $constants $root" = "0 1e-39 1e-20" ] && [ "$unknown" = "sub.ftz.f32 sqrt.rn.ftz.f32" ]
