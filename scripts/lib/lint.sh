# shellcheck shell=bash
# lint.sh - checks of the sources themselves; sourced by scripts/test after common.sh. Each check prints
# what it found and ends with 0 (clean), 1 (not clean) or 77 (its tool is missing here).

# project_files SUFFIX...: the project's own files with these name endings.
project_files() {
    local suffix
    for suffix; do
        find bench examples hostgpu include interpose kernels lib python tests tools -name "*.$suffix"
    done | sort
}

check_format() {
    local major
    has clang-format || return 77
    major=$(clang-format --version | sed -n 's/.*version \([0-9]*\)\..*/\1/p')
    # shellcheck disable=SC2154 # from common.sh
    if [ "$major" != "$clang_format_major" ]; then
        echo "format not checked: clang-format is version $major, .clang-format is for $clang_format_major"
        return 77
    fi
    project_files c h cu | xargs clang-format --dry-run -Werror
}

# check_columns: no line of code or comment has more than 100 columns; a table of measurements has as many as it takes.
check_columns() {
    local long
    long=$(project_files c h cu cpp def in py | grep -v '^lib/model/measured.def$' |
        xargs grep -nE '^.{101,}' scripts/lib/*.py)
    [ -z "$long" ] && return
    echo "lines of more than 100 columns:"
    cut -c1-120 <<<"$long"
    return 1
}

# check_types: what the package for Python says of its types holds, by pyproject.toml.
check_types() {
    has mypy || return 77
    mypy --cache-dir build/mypy
}

# Tests and benches: faults of form, in a tenth of the time. The analyzer's paths are for what runs in other people's
# programs; sizes of tests are ints that fit, they count in whole numbers where that is meant, compare bits, and subtract
# what is equal.
readonly light_checks='-clang-analyzer-*,-misc-no-recursion,-misc-redundant-expression,'\
'-bugprone-implicit-widening-of-multiplication-result,-bugprone-misplaced-widening-cast,-bugprone-integer-division,'\
'-bugprone-suspicious-memory-comparison'

# built_c_files BUILD FOLDER...: the C files in these folders that the build compiles; says which it does not.
built_c_files() {
    local build=$1 file
    shift
    find "$@" -name '*.c' | sort | while read -r file; do
        if grep -q "\"file\": \".*/$file\"" "$build/compile_commands.json"; then
            echo "$file"
        else
            echo "not checked, as $build does not build it: $file" >&2
        fi
    done
}

# nodes_arguments COUNT: has the analyzer explore so many states of a function at most.
nodes_arguments() { printf -- '--extra-arg=%s ' -Xclang -analyzer-config -Xclang "max-nodes=$1"; }

# tidy BUILD ARGUMENT...: clang-tidy, by the commands that check_tidy leaves in BUILD/tidy, on the files of its input,
# eight by each process: starting one takes a quarter of a file's time.
tidy() {
    xargs -n 8 -P "$(nproc)" clang-tidy --quiet --warnings-as-errors='*' -p "$1/tidy" "${@:2}" >>"$1/tidy.log" 2>&1
}

# check_tidy BUILD NODES: clang-tidy on the C files, unless it found these very files clean before; NODES as for
# nodes_arguments.
check_tidy() {
    local build=$1 nodes=$2 state clean=true
    has clang-tidy || return 77
    state=$({
        echo "$nodes"
        clang-tidy --version
        project_files c h | xargs sha256sum .clang-tidy
    } | sha256sum)
    [ "$(cat "$build/tidy-clean" 2>/dev/null)" = "$state" ] && return
    : >"$build/tidy.log"
    mkdir -p "$build/tidy"
    # Without what gcc alone knows.
    sed 's/ -mtls-dialect=gnu2//' "$build/compile_commands.json" >"$build/tidy/compile_commands.json"
    # shellcheck disable=SC2046 # arguments are words
    built_c_files "$build" examples hostgpu interpose lib tools | tidy "$build" $(nodes_arguments "$nodes") ||
        clean=false
    built_c_files "$build" bench tests | tidy "$build" "--checks=$light_checks" --extra-arg=-Wno-sign-conversion || clean=false
    if [ "$clean" = false ]; then
        grep -E '(error|warning):' "$build/tidy.log" | sort -u
        echo "the whole output is in $build/tidy.log"
        return 1
    fi
    echo "$state" >"$build/tidy-clean"
}
