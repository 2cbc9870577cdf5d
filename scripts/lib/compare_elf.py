"""That a library for 64-bit Arm needs and exports what one for x86-64 does.

usage: compare_elf.py AARCH64_LIBRARY X86_64_LIBRARY

Prints what one has and the other has not, and ends with 1 then. The dynamic linker, which each
processor has under a name of its own, is left aside.
"""
import re
import subprocess
import sys


def read(option, library):
    return subprocess.run(["readelf", "--wide", option, library], capture_output=True, text=True,
                          check=True, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}).stdout


def machine(library):
    return re.search(r"Machine: +(.*)", read("--file-header", library)).group(1)


def needed(library):
    names = re.findall(r"\(NEEDED\).*\[(.*)\]", read("--dynamic", library))
    return {name for name in names if not name.startswith("ld-linux-")}


def exports(library):
    rows = (line.split() for line in read("--dyn-syms", library).splitlines())
    return {
        row[7]
        for row in rows if len(row) == 8 and row[4] in ("GLOBAL", "WEAK") and row[6] != "UND"
    }


def main(aarch64, x86_64):
    faults = []
    for library, want in ((aarch64, "AArch64"), (x86_64, "Advanced Micro Devices X86-64")):
        if machine(library) != want:
            faults.append(f"{library} is for {machine(library)}, not {want}")
    for what, of in (("needs", needed), ("exports", exports)):
        ours, theirs = of(aarch64), of(x86_64)
        if not theirs:
            faults.append(f"{x86_64} {what} nothing")
        for name in sorted(ours ^ theirs):
            faults.append(f"{name}: {what} by {aarch64 if name in ours else x86_64} alone")
        print(f"{aarch64} {what} {len(ours)}")
    print("\n".join(faults) if faults else f"as {x86_64} does")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
