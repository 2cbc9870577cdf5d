"""Which folder may include which: interpose -> the layers of lib -> kernels, and never back.

usage: check_arrows.py SOURCE_ROOT

Every #include "..." of these folders must lead to where the table says. Of lib and tools no two
modules (a .c file with its header) include one another, not even by way of others. Only one file
reads the environment. The folders of tests/kernels and tests/lib are those of kernels and lib.
kernels/meson.build names the kernels that are not the same for two generations of GPUs.
"""

import os
import re
import sys

# The folders of kernels as data flow through them: headers of a folder are for itself and for those
# after it.
STAGES = ("device arithmetic view unfold measure select residue igemm crt slice fused multifloat "
          "repair batched_lu solve factor eigen verify sample").split()


def rows_of_stages():
    for place, stage in enumerate(STAGES):
        before = [f"kernels/{name}" for name in STAGES[: place + 1]]
        yield f"kernels/{stage}", before + ["include", "kernels/routes.h"]


# The folders of lib, from the ground up: headers of a folder are for itself and for those after it.
LAYERS = "routine options loader cuda model report engines verify eigen call xt api".split()


def rows_of_layers():
    for place, layer in enumerate(LAYERS):
        below = [f"lib/{name}" for name in LAYERS[: place + 1]]
        yield f"lib/{layer}", below + ["lib/version.h", "include", "kernels"]


# Folder: the folders whose headers it may include, with single files named. A folder stands for all
# that is in it.
ARROWS = {
    **dict(rows_of_stages()),
    "kernels/device": ["kernels/device", "hostgpu/kernel.h"],
    "kernels": [],  # routes.h, which needs nothing
    "lib": ["include"],  # version.h
    **dict(rows_of_layers()),
    # Wrappers know no engine.
    "interpose": ["interpose", "include"] + [f"lib/{name}" for name in LAYERS if name != "engines"],
    "include": ["include"],
}

# What points up all the same, with the reason.
EXCEPTIONS = {
    # The loader asks which folder the host device's libraries lie in.
    "lib/loader/host_device.c": ["hostgpu/executor.h"],
}

SOURCE = re.compile(r"\.(c|h|cu|cpp)$")
# What else has one place: the environment, which counts for nothing in programs with more rights
# than their user's.
ENVIRONMENT = re.compile(r'\b(?:secure_)?getenv\b|(?<!")\benviron\b')
READS_ENVIRONMENT = "lib/options/environment.c"
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.MULTILINE)


def is_in(path, places):
    return any(path == place or path.startswith(place + "/") for place in places)


def folder_of(path):
    """The row of the table that a file belongs to: the longest."""
    return max((folder for folder in ARROWS if is_in(path, [folder])), key=len)


def sources(root, folders):
    for folder in folders:
        for at, _, names in os.walk(os.path.join(root, folder)):
            for name in sorted(filter(SOURCE.search, names)):
                yield os.path.relpath(os.path.join(at, name), root)


def includes(root, path):
    """What a file includes: from its own folder, or from the root where that has such a file."""
    with open(os.path.join(root, path), encoding="utf-8") as file:
        for name in INCLUDE.findall(file.read()):
            near = os.path.normpath(os.path.join(os.path.dirname(path), name))
            yield near if os.path.exists(os.path.join(root,
                                                      near)) or not is_in(path, ["tools"]) else name


def wrong_arrows(root):
    count = 0
    for path in sources(root, ("kernels", "lib", "interpose", "include")):
        count += 1
        folder = folder_of(path)
        with open(os.path.join(root, path), encoding="utf-8") as file:
            if path != READS_ENVIRONMENT and ENVIRONMENT.search(file.read()):
                yield f"{path}: only {READS_ENVIRONMENT} reads the environment"
        for header in includes(root, path):
            if not os.path.exists(os.path.join(root, header)):
                yield f"{path}: {header} does not exist"
            elif not is_in(header, ARROWS[folder] + EXCEPTIONS.get(path, [])):
                yield (f"{path}: must not include {header}; {folder} may include: "
                       f"{', '.join(ARROWS[folder])}")
    if count < 50:
        yield f"{root} holds only {count} sources: is it Tandem's source folder?"


def module_of(path):
    """A .c file and its header are one; so are a header x_internal.h and x."""
    return os.path.splitext(path)[0].removesuffix("_internal")


def circles(root):
    """Modules of which each includes the next, and the last the first."""
    arrows = {}
    for path in sources(root, ("lib", "tools")):
        to = arrows.setdefault(module_of(path), set())
        to |= {module_of(header) for header in includes(root, path)} - {module_of(path)}
    done = set()

    def walk(module, way):
        if module in way:
            yield f"these include one another: {' -> '.join(way[way.index(module):] + [module])}"
        elif module not in done:
            for header in sorted(arrows.get(module, ())):
                yield from walk(header, way + [module])
            done.add(module)

    for module in sorted(arrows):
        yield from walk(module, [])


# What tests of several folders share.
SUPPORT = "support"


def strange_tests(root):
    """Folders of tests that are not called as a folder of sources, and tests in none."""
    for folder in ("kernels", "lib"):
        tests = f"tests/{folder}"
        for name in sorted(os.listdir(os.path.join(root, tests))):
            if os.path.isdir(os.path.join(root, tests, name)):
                if name != SUPPORT and not os.path.isdir(os.path.join(root, folder, name)):
                    yield f"{tests}/{name} tests {folder}/{name}, which is not there"
            elif SOURCE.search(name):
                yield f"{tests}/{name} must be in a folder that is called as one of {folder}/"


# A condition that is not the same for an sm_80 as for an sm_90a.
IS_HOPPER = re.compile(r"__CUDA_ARCH__ *[<>=]=? *9\d\d|__CUDA_ARCH_FEAT_SM90_ALL")
# Every kernel includes it: what it tells apart is compiled for both with the files of the list.
INCLUDED_BY_ALL = "kernels/device/portable.h"


def with_headers(root, path):
    """The file, and all that it includes, also by way of others."""
    found, to_do = {INCLUDED_BY_ALL}, [path]
    while to_do:
        path = to_do.pop()
        if path not in found:
            found.add(path)
            to_do += includes(root, path)
    return found - {INCLUDED_BY_ALL}


def wrong_architectures(root):
    """Files that the list of kernels/meson.build lacks, or has for no reason."""
    with open(os.path.join(root, "kernels/meson.build"), encoding="utf-8") as file:
        listed = re.search(r"^told_apart = \[(.*?)^\]", file.read(), re.MULTILINE | re.DOTALL)
    listed = {f"kernels/{name}" for name in re.findall(r"'(\S+)'", listed.group(1))}
    for path in filter(lambda path: path.endswith(".cu"), sources(root, ["kernels"])):
        texts = []
        for name in with_headers(root, path):
            with open(os.path.join(root, name), encoding="utf-8") as file:
                texts.append(file.read())
        if any(map(IS_HOPPER.search, texts)) != (path in listed):
            yield f"{path} must {'not ' * (path in listed)}be in told_apart of kernels/meson.build"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    lines = [
        line for find in (wrong_arrows, circles, strange_tests, wrong_architectures)
        for line in find(sys.argv[1])
    ]
    print("\n".join(lines) or "every #include points down, and tests mirror the sources")
    sys.exit(1 if lines else 0)
