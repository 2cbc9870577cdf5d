"""Registers and spills of the kernels of a build folder, and how they differ from another's.

usage: registers.py [--arch 90a] [--jobs 2] [--renamed OLD=NEW]... BUILD [OTHER] [SOURCE...]

See scripts/registers --help.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys

# What ptxas -v says of one kernel: registers of a thread, bytes of spill stores and spill loads.
Usage = collections.namedtuple("Usage", "registers stores loads")

# Options that a compilation to PTX does not take, and how many arguments follow each.
DROPPED = {"-c": 0, "-MD": 0, "-MF": 1, "-o": 1}

# Names that the compiler made, or made of the sources' names; labels, which count functions;
# virtual registers, which it numbers as it comes across them.
NAME = re.compile(r"\b(?:_Z|__nv|_GLOBAL_|td_|\w*_cu_)[\w$]*|\$L__\w+|__local_depot\d+|%[a-z]+\d+")

# Where a function or a table of PTX begins.
BEGINS = re.compile(r"\n(?=\.(?:visible|weak|entry|func|global|const|extern|common))")

KERNEL = re.compile(
    r"Compiling entry function '(\w+)'.*?(\d+) bytes spill stores, "
    r"(\d+) bytes spill loads.*?Used (\d+) registers", re.DOTALL)


def commands(build):
    """source below kernels/ -> its entry of compile_commands.json"""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    found = {}
    for entry in entries:
        path = os.path.normpath(os.path.join(entry["directory"], entry["file"]))
        source = re.search(r"/kernels/(.*\.cu)$", path)
        if source and "/tests/" not in path:
            found[source[1]] = entry
    return found


def ptx_command(entry, arch, output):
    """The build's own command, but for PTX of one architecture, and a list of what it includes."""
    words = iter(shlex.split(entry["command"]))
    kept = []
    for word in words:
        if word in DROPPED:
            for _ in range(DROPPED[word]):
                next(words)
        elif word not in ("ccache", entry["file"]) and not word.startswith(("-gencode",
                                                                            "--threads")):
            kept.append(word)
    made = ["-ptx", f"-arch=compute_{arch}", "-MD", "-MF", output + ".d", "-o", output]
    return [*kept, *made, entry["file"]]


def is_fresh(output, directory):
    """True if a PTX file is newer than all that its source includes."""
    try:
        with open(output + ".d", encoding="utf-8") as file:
            needed = file.read().replace("\\\n", " ").split(":", 1)[1].split()
        made = os.path.getmtime(output)
        return all(os.path.getmtime(os.path.join(directory, path)) < made for path in needed)
    except (OSError, IndexError):
        return False


def make_ptx(entry, source, arch, build):
    name = source.replace("/", "-").replace(".cu", f"-{arch}.ptx")
    output = os.path.abspath(os.path.join(build, "registers", name))
    if not is_fresh(output, entry["directory"]):
        os.makedirs(os.path.dirname(output), exist_ok=True)
        subprocess.run(ptx_command(entry, arch, output), cwd=entry["directory"], check=True,
                       stderr=subprocess.DEVNULL)
    return output


def functions(text):
    """Functions and tables of PTX, sorted, without comments; names and registers only count."""
    lines = (re.sub(r"//.*", "", line).rstrip() for line in text.split("\n"))
    text = "\n".join(line for line in lines if line and ".file" not in line and ".loc" not in line)
    found = []
    for part in BEGINS.split(text):
        seen = {}
        found.append(NAME.sub(lambda m, s=seen: f"N{s.setdefault(m.group(), len(s))}", part))
    return sorted(found)


def plain_name(mangled):
    """A kernel's name as in the sources, with template arguments and without parameters."""
    text = subprocess.run(["c++filt", mangled], capture_output=True, text=True, check=True).stdout
    text = re.sub(r"\(anonymous namespace\)::|_GLOBAL__N__\w+::", "", text.strip())
    return re.sub(r"^void ", "", re.sub(r"\([^()]*\)( const)?$", "", text))


def usages(path, arch):
    """kernel -> Usage, as ptxas says of a PTX file."""
    command = ["ptxas", f"-arch=sm_{arch}", "-v", "-o", os.devnull, path]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    return {plain_name(name): Usage(int(registers), int(stores), int(loads))
            for name, stores, loads, registers in KERNEL.findall(said)}


def print_usages(source, found):
    for kernel, usage in sorted(found.items()):
        print(f"{usage.registers:9} {usage.stores:7} {usage.loads:7}  {source}: {kernel}")


def differences(before, after):
    """A line for each kernel that differs; kernels with new names that take the same are alike."""
    lost = sorted(before[kernel] for kernel in before.keys() - after.keys())
    new = sorted(after[kernel] for kernel in after.keys() - before.keys())
    if lost == new:
        after = {**{kernel: before[kernel] for kernel in before.keys() - after.keys()},
                 **{kernel: after[kernel] for kernel in after.keys() & before.keys()}}
    return [f"  {kernel}: {tuple(before.get(kernel, ())) or 'none'} -> "
            f"{tuple(after.get(kernel, ())) or 'none'}"
            for kernel in sorted(before.keys() | after.keys())
            if before.get(kernel) != after.get(kernel)]


def compare(source, paths, arch):
    """Says how the device code of one file differs in two builds; True if it takes as much."""
    texts = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            texts.append(functions(file.read()))
    if texts[0] == texts[1]:
        print(f"{source}: the same PTX, {len(texts[0])} functions and tables")
        return True
    before, after = (usages(path, arch) for path in paths)
    found = differences(before, after)
    if not found:
        print(f"{source}: other PTX; registers and spills of {len(after)} kernels are the same")
    else:
        print(f"{source}: (registers, bytes of spill stores, bytes of spill loads) differ")
        print("\n".join(found))
    return not found


def arguments():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--arch", default="90a")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--renamed", action="append", default=[])
    parser.add_argument("build")
    parser.add_argument("rest", nargs="*")
    options = parser.parse_args()
    rest = options.rest
    options.other = rest.pop(0) if rest and not rest[0].endswith(".cu") else None
    return options


def main():
    options = arguments()
    own = commands(options.build)
    wanted = options.rest or sorted(own)
    builds = [(options.build, own, {})]
    if options.other:
        old_names = {new: old for old, new in (pair.split("=") for pair in options.renamed)}
        builds.insert(0, (options.other, commands(options.other), old_names))
    else:
        print("registers  stores   loads  kernel")
    is_same = True
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = {}
        for source in wanted:
            names = [names.get(source, source) for _, _, names in builds]
            if any(name not in found for name, (_, found, _) in zip(names, builds)):
                print(f"{source}: not in every build folder")
                is_same = False
                continue
            jobs[source] = [pool.submit(make_ptx, found[name], name, options.arch, build)
                            for name, (build, found, _) in zip(names, builds)]
        for source, made in jobs.items():
            paths = [job.result() for job in made]
            if options.other:
                is_same = compare(source, paths, options.arch) and is_same
            else:
                print_usages(source, usages(paths[0], options.arch))
            sys.stdout.flush()
    return 0 if is_same else 1


if __name__ == "__main__":
    sys.exit(main())
