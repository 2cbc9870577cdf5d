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

# has NAME: true if the shell finds a program of that name.
has() { command -v "$1" >/dev/null 2>&1; }

# is_cuda_root FOLDER: true if it holds a CUDA 13 toolkit with cuBLAS, headers included.
is_cuda_root() {
    [ -x "$1/bin/nvcc" ] && [ -e "$1/include/cublas_v2.h" ] &&
        [ -e "$1/include/cuda_profiler_api.h" ] && [ -e "$1/lib64/libcublas.so" ] &&
        [ -e "$1/lib64/libcudart.so" ] &&
        grep -q '^#define CUDART_VERSION *13' "$1/include/cuda_runtime_api.h" 2>/dev/null
}

# find_cuda: prints the root of the toolkit to use: the one that scripts/setup noted, else the one of
# the nvcc on the PATH, else /usr/local/cuda. False if there is none.
find_cuda() {
    local root nvcc
    if [ -r build/cuda-root ]; then
        read -r root <build/cuda-root
        if is_cuda_root "$root"; then
            echo "$root"
            return
        fi
    fi
    if nvcc=$(command -v nvcc); then
        root=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
        if is_cuda_root "$root"; then
            echo "$root"
            return
        fi
    fi
    is_cuda_root /usr/local/cuda && echo /usr/local/cuda
}

# use_cuda: puts the toolkit where Meson looks for it.
use_cuda() {
    CUDA_PATH=$(find_cuda) || die "no CUDA 13 toolkit; scripts/setup brings one"
    export CUDA_PATH
    export PATH="$CUDA_PATH/bin:$PATH"
}

# configure FOLDER OPTION...: configures a build folder unless it is configured already.
configure() {
    local folder=$1
    shift
    [ -f "$folder/build.ninja" ] && return
    say "configuring $folder"
    meson setup "$folder" "-Dtoolkit=$CUDA_PATH" "$@" >"$folder.log" 2>&1 || {
        tail -n 30 "$folder.log" >&2
        die "meson setup $folder failed; the whole output is in $folder.log"
    }
    mv "$folder.log" "$folder/setup.log"
}

# compile FOLDER: builds everything in it.
compile() { timed "building $1" build "$1" || die "building $1 failed"; }

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
