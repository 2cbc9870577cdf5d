# shellcheck shell=bash
# toolkit.sh - CUDA toolkits that consist of wheels from PyPI; sourced after common.sh.

# One CUDA release: versions that belong together. Headers and libraries, and what nvcc consists of.
# shellcheck disable=SC2034 # used by scripts/setup
readonly library_wheels='
nvidia-cuda-crt==13.0.88
nvidia-cuda-runtime==13.0.96
nvidia-cuda-profiler-api==13.0.85
nvidia-cuda-cccl==13.0.85
nvidia-cublas==13.1.0.3'
# shellcheck disable=SC2034 # used by scripts/setup
readonly nvcc_wheels='
nvidia-cuda-nvcc==13.0.88
nvidia-nvvm==13.0.88
nvidia-cuda-culibos==13.0.85'

# For 64-bit Arm: where the toolkit is, where Debian's libraries say how to use them, and what has pip bring wheels.
# shellcheck disable=SC2034 # used by scripts/setup and scripts/aarch64
readonly aarch64_toolkit=build/cuda-aarch64 \
    aarch64_pkgconfig=/usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig \
    aarch64_wheels='--platform=manylinux2014_aarch64 --platform=manylinux_2_27_aarch64 --only-binary=:all:'

# wheels_to_bring ROOT WHEEL...: those that this toolkit does not consist of, one a line.
wheels_to_bring() {
    local root=$1
    shift
    printf '%s\n' "$@" | grep -vxFf <(cat "$root/wheels" 2>/dev/null) || true
}

# bring_toolkit ROOT OPTIONS WHEEL...: makes ROOT a toolkit that these wheels are part of, as pip finds them with these
# options: bin, include, lib64, nvvm. What a machine without a GPU cannot run is not kept: half a gigabyte, which
# nothing is linked to.
bring_toolkit() {
    local root=$1 options=$2 new=$1.new new_wheels=() library
    shift 2
    mapfile -t new_wheels < <(wheels_to_bring "$root" "$@")
    [ "${#new_wheels[@]}" = 0 ] && return
    rm -rf "$new"
    # shellcheck disable=SC2086 # one word each
    timed "bringing from PyPI into $root: ${new_wheels[*]}" fetch_wheels "$new" $options "${new_wheels[@]}" ||
        die "pip could not bring the CUDA wheels"
    [ -n "$(gpu_architectures)" ] || rm -f "$new"/nvidia/cu13/lib/lib{cublasLt,nvblas}.so.*
    mkdir -p "$root"
    cp -al "$new/nvidia/cu13/." "$root"
    rm -rf "$new"
    ln -sfn lib "$root/lib64"
    for library in cudart cublas cublasLt; do
        [ ! -e "$root/lib/lib$library.so.13" ] || ln -sf "lib$library.so.13" "$root/lib/lib$library.so"
    done
    printf '%s\n' "${new_wheels[@]}" >>"$root/wheels"
}
