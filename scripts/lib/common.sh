# shellcheck shell=bash
# common.sh - what the scripts share; sourced by them from the project's root folder.

# shellcheck disable=SC2034 # used by lint.sh
readonly clang_format_major=14 # the version whose layout .clang-format stands for

say() { printf '==> %s\n' "$*"; }

die() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# no_arguments USAGE ARGUMENT...: for a script that takes --help and nothing else.
no_arguments() {
    local usage=$1
    shift
    case "$#:${1-}" in
    0:) ;;
    1:--help | 1:-h)
        echo "$usage"
        exit
        ;;
    *)
        echo "$usage" >&2
        exit 2
        ;;
    esac
}

# source_archive VERSION FOLDER: FOLDER/tandem-VERSION.tar.gz of what git has in the last commit.
source_archive() { git archive --format=tar.gz --prefix="tandem-$1/" --output="$2/tandem-$1.tar.gz" HEAD; }

# minutes SECONDS: 3 min 5 s.
minutes() { printf '%d min %d s' $(($1 / 60)) $(($1 % 60)); }

# timed NAME COMMAND...: says what begins, runs the command, and says how long it took.
timed() {
    local name=$1 start=$SECONDS status=0
    shift
    say "$name"
    "$@" || status=$?
    say "$name took $(minutes $((SECONDS - start)))"
    return "$status"
}

# quietly LOG COMMAND...: what the command prints goes into a file.
quietly() {
    local log=$1
    shift
    "$@" >"$log" 2>&1 </dev/null
}

# has NAME: true if the shell finds a program of that name.
has() { command -v "$1" >/dev/null 2>&1; }

# python_with_pip: prints a python3 that has pip. False if there is none.
python_with_pip() {
    local python
    for python in python3 /usr/bin/python3; do
        if "$python" -m pip --version >/dev/null 2>&1; then
            echo "$python"
            return
        fi
    done
    return 1
}

# fetch_wheels FOLDER WHEEL...: unpacks wheels there; pip shows its own progress on a terminal.
fetch_wheels() {
    local folder=$1 quiet=--quiet python
    shift
    [ -t 1 ] && quiet=
    python=$(python_with_pip)
    # shellcheck disable=SC2086 # one word or none
    PIP_ROOT_USER_ACTION=ignore "$python" -m pip install $quiet --disable-pip-version-check \
        --no-deps --no-cache-dir --no-compile --target "$folder" "$@"
}

# gpu_architectures: the architectures of this machine's GPUs as -Darchs takes them, nothing without a GPU.
gpu_architectures() {
    has nvidia-smi || return 0
    nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
        sed -n 's/^\([0-9]*\)\.\([0-9]\)$/\1\2/p' | sed 's/^90$/90a/' | sort -u | paste -sd, -
}

# is_cuda_root FOLDER [nvcc]: true if it holds a CUDA 13 toolkit's headers and libraries, cuBLAS among them; with
# nvcc: and the compiler.
is_cuda_root() {
    [ -e "$1/include/cublas_v2.h" ] && [ -e "$1/include/crt/host_defines.h" ] &&
        [ -e "$1/include/cuda_profiler_api.h" ] && [ -e "$1/lib64/libcublas.so" ] &&
        [ -e "$1/lib64/libcudart.so" ] && { [ "${2-}" != nvcc ] || [ -x "$1/bin/nvcc" ]; } &&
        grep -q '^#define CUDART_VERSION *13' "$1/include/cuda_runtime_api.h" 2>/dev/null
}

# find_cuda [nvcc]: prints the root of the toolkit to use: the one that scripts/setup noted, else the one of
# the nvcc on the PATH, else /usr/local/cuda. False if there is none.
find_cuda() {
    local root
    for root in "$(cat build/cuda-root 2>/dev/null)" "$(nvcc_root)" /usr/local/cuda; do
        if [ -n "$root" ] && is_cuda_root "$root" "$@"; then
            echo "$root"
            return
        fi
    done
    return 1
}

# nvcc_root: the root that the nvcc on the PATH belongs to.
nvcc_root() {
    local nvcc
    nvcc=$(command -v nvcc) && dirname "$(dirname "$(readlink -f "$nvcc")")"
}

# use_cuda [nvcc]: puts the toolkit where Meson looks for it.
use_cuda() {
    CUDA_PATH=$(find_cuda "$@") || die "no CUDA 13 toolkit; scripts/setup brings one"
    export CUDA_PATH
    export PATH="$CUDA_PATH/bin:$PATH"
}

# configure FOLDER OPTION...: configures a build folder, or configures it anew if that was with other options: then
# Ninja builds again what they change and nothing else.
configure() {
    local folder=$1 log=$1.log
    local options="-Dtoolkit=$CUDA_PATH ${*:2}" again=()
    if [ -f "$folder/build.ninja" ]; then
        [ "$(cat "$folder/options" 2>/dev/null)" = "$options" ] && return
        again=(--reconfigure)
    fi
    # shellcheck disable=SC2086 # options are words
    timed "configuring $folder" quietly "$log" meson setup "${again[@]}" "$folder" $options || {
        tail -n 30 "$log" >&2
        die "meson setup $folder failed; the whole output is in $log"
    }
    mv "$log" "$folder/setup.log"
    echo "$options" >"$folder/options"
}

# compile FOLDER [TARGET...]: builds everything in it, or these targets.
compile() { timed "building $1" build "$@" || die "building $1 failed"; }

# build FOLDER TARGET...: Ninja's own line of progress on a terminal; elsewhere a line for every tenth.
build() {
    local folder=$1
    shift
    if [ -t 1 ]; then
        ninja -C "$folder" "$@"
    else
        ninja -C "$folder" "$@" | awk -v 'FS=[][/]' '
            /^\[[0-9]+\/[0-9]+\]/ { tenth = int(10 * $2 / $3); if (tenth == last) next; last = tenth }
            !/^ninja: Entering/ { print; fflush() }'
    fi
}
