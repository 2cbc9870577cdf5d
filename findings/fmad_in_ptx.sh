#!/usr/bin/env bash
# PTX that nvcc -fmad=false writes has half-precision products and sums that the assembler fuses all the same.
#
# Versions:  CUDA 13.5: nvidia-cuda-nvcc, nvidia-nvvm, nvidia-cuda-crt, nvidia-cuda-runtime and nvidia-cuda-nvdisasm
#            13.5.37, nvidia-cuda-cccl 13.3.5.0.6 (their wheels from PyPI). A g++ has to be there for nvcc's host
#            pass.
# Expected:  after -fmad=false each instruction of the PTX says by .rn that it is rounded alone, whoever assembles it:
#            so it is for float and double.
# Seen:      for __half, a * b + c is mul.f16 and add.f16 without .rn. Assembled by nvcc itself they stay two
#            instructions, HMUL2 and HADD2. The same PTX, written by nvcc -fmad=false -ptx and assembled by ptxas, has
#            one HFMA2. That of double stays DMUL and DADD in both.
# Why:       cuda_fp16.h has the operators in inline assembly, which the compiler does not look into. nvcc passes the
#            flag on to ptxas, and a fat binary keeps it beside the PTX, but the text of a .ptx file does not have it.
# Cost:      the bits of kernels in half precision depend on whether a binary or a .ptx file is loaded. __hmul_rn and
#            __hadd_rn are the ones that say .rn.
set -euo pipefail

if ! command -v g++ >/dev/null; then
    echo "not seen: nvcc takes a g++"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet --no-compile nvidia-cuda-nvcc==13.5.37 nvidia-nvvm==13.5.37 \
    nvidia-cuda-crt==13.5.37 nvidia-cuda-runtime==13.5.37 nvidia-cuda-nvdisasm==13.5.37 nvidia-cuda-cccl==13.3.5.0.6
PATH=$(echo "$folder"/lib/python3*/site-packages/nvidia/cu13/bin):$PATH
cd "$folder"
cat >sums.cu <<'END'
#include <cuda_fp16.h>
extern "C" __global__ void sums(__half *x, double *y)
{
    x[0] = x[0] * x[1] + x[2];
    y[0] = y[0] * y[1] + y[2];
}
END

# arithmetic CUBIN: its instructions for half and double numbers, in alphabetical order.
arithmetic() { nvdisasm -c "$1" | grep -oE '\b(HFMA2|HMUL2|HADD2|DFMA|DMUL|DADD)\b' | sort | xargs; }

nvcc -arch=sm_80 -fmad=false -cubin -o whole.cubin sums.cu
nvcc -arch=compute_80 -fmad=false -ptx -o sums.ptx sums.cu
ptxas -arch=sm_80 -o parts.cubin sums.ptx
whole=$(arithmetic whole.cubin)
parts=$(arithmetic parts.cubin)
echo "nvcc -fmad=false to machine code: $whole"
echo "nvcc -fmad=false to PTX, then ptxas: $parts"
echo "in the PTX: $(grep -oE '(mul|add)\.(rn\.)?f(16|64)' sums.ptx | sort | xargs)"
# What was seen before is still so.
[ "$whole" = "DADD DMUL HADD2 HMUL2" ] && [ "$parts" = "DADD DMUL HFMA2" ]
