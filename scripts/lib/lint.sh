# shellcheck shell=bash
# lint.sh - checks of the sources themselves; sourced by scripts/test after common.sh. Each check prints
# what it found and ends with 0 (clean), 1 (not clean) or 77 (its tool is missing here).

# project_files SUFFIX...: the project's own files with these name endings.
project_files() {
    local suffix
    for suffix; do
        find bench examples hostgpu include interpose kernels lib tests tools -name "*.$suffix"
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

# check_tidy BUILD: clang-tidy on the C files, unless it found these very files clean before.
check_tidy() {
    local build=$1 state
    has clang-tidy || return 77
    state=$({
        clang-tidy --version
        project_files c h | xargs sha256sum .clang-tidy
    } | sha256sum)
    [ "$(cat "$build/tidy-clean" 2>/dev/null)" = "$state" ] && return
    find examples hostgpu interpose lib tools -name '*.c' -print0 |
        xargs -0 -n 1 -P "$(nproc)" clang-tidy --quiet --warnings-as-errors='*' -p "$build" \
            >"$build/tidy.log" 2>&1 || {
        grep -E '(error|warning):' "$build/tidy.log" | sort -u
        echo "the whole output is in $build/tidy.log"
        return 1
    }
    echo "$state" >"$build/tidy-clean"
}
