#!/usr/bin/env python3
"""Writes the C source of a stand-in library's stubs (stub.h): one for every function that the CUDA
toolkit's headers declare, whichever of them the library has itself. So the functions of a new
toolkit are there without anybody's doing."""
import argparse
import pathlib
import re
import subprocess
import sys

STATUS = {
    "cublasStatus_t": "CUBLAS_STATUS_NOT_SUPPORTED",
    "cudaError_t": "cudaErrorNotSupported",
    "cusolverStatus_t": "CUSOLVER_STATUS_NOT_SUPPORTED",
}
LINE_MARKER = re.compile(r'# \d+ "(.*?)".*')
ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)|\[\[.*?\]\]", re.DOTALL)
FUNCTION = re.compile(r"(?:extern\s+)?(?P<type>[\w\s*]+?)\s*\b(?P<name>\w+)\s*\((?P<rest>.*)\)",
                      re.DOTALL)


def preprocess(command, header):
    """Lines of the preprocessed header, each with the file that it comes from."""
    name, _, macro = header.partition(":")
    define = [f"-D{macro}"] if macro else []
    done = subprocess.run([*command, *define, "-E", "-x", "c++", "-"], input=f"#include <{name}>\n",
                          text=True, stdout=subprocess.PIPE, check=True)
    at = ""
    for line in done.stdout.splitlines():
        marker = LINE_MARKER.fullmatch(line)
        if marker:
            at = marker[1]
        else:
            yield at, line


def statements(lines):
    """Declarations at file scope, without those that have a body, and with the name of the file
    that each ends in."""
    text, depth = "", 0
    for at, line in lines:
        for part in re.split(r"([{};])", line + "\n"):
            if part == "{" and text.strip() == 'extern "C"':
                text = ""
            elif part == ";" and depth == 0:
                yield at, text.strip()
                text = ""
            elif part == "}" and depth == 0:  # of extern "C"
                text = ""
            elif part == "}" and depth == 1 and text.partition("{")[0].rstrip()[-1:] == ")":
                # of a function
                text, depth = "", 0
            else:
                depth += {"{": 1, "}": -1}.get(part, 0)
                text += part


def functions(lines, prefix):
    """Name, type, arguments and declaring file of the functions whose names begin with the
    prefix."""
    for at, text in statements(lines):
        found = FUNCTION.fullmatch(ATTRIBUTE.sub("", text).strip())
        if not found or not re.match(prefix, found["name"]):
            continue
        words = found["type"].split()
        if not {"typedef", "static"} & set(words):
            yield found["name"], " ".join(words), found["rest"], at


def stub(name, returned, record):
    """The source line of a function."""
    if returned in STATUS:
        return f"HOSTGPU_STUB_STATUS({returned}, {name}, {STATUS[returned]}, {record})"
    kept = STATUS["cudaError_t" if name.startswith("cuda") else "cublasStatus_t"]
    if returned == "void":
        return f"HOSTGPU_STUB_VOID({name}, {kept}, {record})"
    return f"HOSTGPU_STUB_VALUE({returned}, {name}, {kept}, {record})"


def parse_arguments():
    """What the build says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--own", required=True,
                        help="header that declares the functions' types, and what keeps a status")
    parser.add_argument("--prefix", required=True,
                        help="regular expression that names of the library's functions begin with")
    parser.add_argument("--header", action="append", required=True,
                        help="HEADER or HEADER:MACRO, with the macro defined")
    parser.add_argument("--record", action="append", required=True,
                        help="[HEADER=]FUNCTION: what keeps the status of functions of that "
                        "header, or of all others")
    parser.add_argument("--output", required=True)
    parser.add_argument("--depfile", required=True)
    parser.add_argument("command", nargs="+", help="the C++ compiler, with its arguments, after --")
    return parser.parse_args()


def main():
    """Reads the headers, writes the source and what it depends on."""
    options = parse_arguments()
    records = dict(("", *r.split("="))[-2:] for r in options.record)
    own = {header.partition(":")[0] for header in options.header}
    stubs, files = {}, set()
    for header in options.header:
        lines = [(pathlib.Path(at), line) for at, line in preprocess(options.command, header)]
        files |= {str(at) for at, _ in lines if at.is_absolute()}
        declared = ((at.name, line) for at, line in lines if at.name in own)
        for name, returned, _, at in functions(declared, options.prefix):
            stubs[name] = stub(name, returned, records.get(at, records[""]))
    if not stubs:
        sys.exit(f"write_stubs.py: no name of a function begins with {options.prefix} in "
                 f"{', '.join(options.header)}")
    source = [
        "/* Written by hostgpu/write_stubs.py from the CUDA toolkit's headers. */",
        f'#include "{options.own}"', '#include "stub.h"', "",
        *(stubs[name] for name in sorted(stubs))
    ]
    pathlib.Path(options.output).write_text("\n".join(source) + "\n", encoding="utf-8")
    pathlib.Path(options.depfile).write_text(f"{options.output}: {' '.join(sorted(files))}\n",
                                             encoding="utf-8")


if __name__ == "__main__":
    main()
