"""docs/attributes.md against the headers of a cuBLAS, and its libraries against the host device's:
what a new version brings is named.

usage: check_attributes.py PAGE WRAP_C COMPILER... [-- NEWEST HOST_DEVICE]
COMPILER finds the headers. PAGE may know more than them; if the headers are those of the newest
cuBLAS, whose libraries and the host device's are in two folders, it may not. Prints what differs,
and ends with 1 then.
"""
import pathlib
import re
import subprocess
import sys

# Enumerations whose every name is on the page, by header.
ENUMERATIONS = {
    "cublasLt.h": [
        "cublasLtMatmulDescAttributes_t", "cublasLtMatrixLayoutAttribute_t", "cublasLtOrder_t",
        "cublasLtPointerMode_t", "cublasLtBatchMode_t"
    ],
    "cublas_api.h": ["cublasMath_t", "cublasComputeType_t"],
}
# FP64 functions that cuBLAS exports and no header declares: of matrices of diagonal blocks.
UNDECLARED = {"cublasDbdmm", "cublasZbdmm"}


def preprocess(compiler, header):
    done = subprocess.run([*compiler, "-E", "-x", "c++", "-"],
                          input=f"#include <{header}>\n", text=True, stdout=subprocess.PIPE,
                          check=True)
    return "".join(line for line in done.stdout.splitlines(True) if not line.startswith("#"))


def enumerators(text, name):
    """Names of an enumeration, with their values as the text has them: None for others' names."""
    found = re.search(rf"typedef\s+enum\s*\w*\s*\{{([^}}]*)\}}\s*{name}\s*;", text)
    values, last = {}, -1
    for row in found[1].split(",") if found else []:
        key, _, value = (part.strip() for part in row.partition("="))
        if not key:
            continue
        is_number = re.fullmatch(r"-?\d+|0x[0-9a-fA-F]+", value)
        last = int(value, 0) if is_number else last + 1 if not value else None
        values[key] = last
        last = -1 if last is None else last
    return values


def known(page):
    """Names of the page, with their values."""
    return {name: int(value) for name, value in re.findall(r"\| `(\w+)` \| (\d+) \|", page)}


def pedantic_mask(text):
    """The bits of a math mode that say whether it is CUBLAS_PEDANTIC_MATH."""
    found = re.search(r"& (0x[0-9a-f]+)\) == CUBLAS_PEDANTIC_MATH", text)
    return int(found[1], 16) if found else None


def compare_headers(compiler, page, wrap, is_newest):
    """What the headers have that the page has not, and, if they are the newest, the other way."""
    here, there, wrong = known(page), {}, []
    for header, names in ENUMERATIONS.items():
        text = preprocess(compiler, header)
        for name in names:
            there.update(enumerators(text, name))
    for name, value in there.items():
        if name not in here:
            wrong.append(f"{name} is in the headers and not on the page")
        elif value is not None and here[name] != value:
            wrong.append(f"{name} is {value} in the headers and {here[name]} on the page")
    if is_newest:
        wrong += [f"{name} is on the page and not in the headers" for name in here.keys() - there]
    own, its = pedantic_mask(wrap), pedantic_mask(preprocess(compiler, "cublas_api.h"))
    if its is not None and own & ~its:
        wrong.append(f"a math mode is pedantic by the bits {its:#x}, and in wrap.c by {own:#x}")
    return wrong, len(there)


def symbols(folder, library, what):
    """Names of the library's dynamic symbols."""
    done = subprocess.run(["nm", "-D", what, pathlib.Path(folder, library)],
                          stdout=subprocess.PIPE, text=True, check=True)
    return {line.split()[-1].partition("@")[0] for line in done.stdout.splitlines()}


def compare_libraries(compiler, newest, host_device):
    """FP64 functions that are exported and not declared, and what the host device lacks of what
    headers declare or cuBLAS asks of cublasLt."""
    libraries = ("libcublas.so.13", "libcublasLt.so.13")
    exported, there = (set().union(*(symbols(folder, library, "--defined-only")
                                     for library in libraries)) for folder in (newest, host_device))
    text = "".join(
        preprocess(compiler, header)
        for header in ("cublas_api.h", "cublas.h", "cublasXt.h", "cublasLt.h"))
    declared = exported & set(re.findall(r"\b(cublas\w+)\s*\(", text))
    new = {name for name in exported - declared if re.match(r"cublas(Xt)?[DZ][a-z]", name)}
    needed = {
        name
        for name in symbols(newest, libraries[0], "--undefined-only") if name.startswith("cublas")
    }
    return [f"{name} is exported, and no header declares it" for name in sorted(new - UNDECLARED)
           ] + [f"the host device lacks {name}" for name in sorted((needed | declared) - there)]


def main(page, wrap, *rest):
    compiler = rest[:rest.index("--")] if "--" in rest else rest
    folders = rest[len(compiler) + 1:]
    texts = [pathlib.Path(path).read_text(encoding="utf-8") for path in (page, wrap)]
    wrong, count = compare_headers(compiler, *texts, bool(folders))
    if folders:
        wrong += compare_libraries(compiler, *folders)
    print(*wrong, f"{count} enumerators", sep="\n")
    return 1 if wrong or count < 60 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
