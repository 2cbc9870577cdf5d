"""Every function that the CUDA toolkit's headers declare is there in the host device's libraries,
and no stub (a weak symbol) is in the way of what Tandem calls or intercepts.

usage: check_stand_ins.py INCLUDE TANDEM HOSTDEVICE CUBLAS CUBLASLT [CUSOLVER]
"""
import pathlib
import re
import subprocess
import sys

# Headers of each library, and the word before the names of functions in them.
HEADERS = {
    "libtandem-hostdevice": (["cuda_runtime_api.h"], "CUDARTAPI"),
    "libcublas": (["cublas_api.h", "cublas.h", "cublasXt.h"], "CUBLASWINAPI"),
    "libcublasLt": (["cublasLt.h"], "CUBLASWINAPI"),
    "libcusolver": (["cusolverDn.h", "cusolver_common.h"], "CUSOLVERAPI"),
}
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def declared(header, word):
    """Names in the header's text, whatever macros say, with those that it gives them for a default
    stream of each thread."""
    text = COMMENT.sub(" ", header.read_text(encoding="utf-8"))
    names = set(re.findall(rf"\b{word}\s+(\w+)\s*\(", text))
    for name, kind in re.findall(r"#\s*define\s+(\w+)\s+__CUDART_API_(PTDS|PTSZ)\(\1\)", text):
        if name in names:
            names.add(f"{name}_{kind.lower()}")
    return names


def symbols(library, *what):
    """Names and kinds of dynamic symbols."""
    done = subprocess.run(["nm", "-D", *what, library], stdout=subprocess.PIPE, text=True,
                          check=True)
    return {line.split()[-1].split("@")[0]: line.split()[-2] for line in done.stdout.splitlines()}


def main(include, tandem, *libraries):
    """Prints what is wrong."""
    wrong, stubs, count = [], set(), 0
    for library in map(pathlib.Path, libraries):
        name = library.name.partition(".")[0]
        headers, word = HEADERS[name]
        exported = symbols(library, "--defined-only")
        stubs |= {name for name, kind in exported.items() if kind == "W"}
        for header in headers:
            names = declared(pathlib.Path(include, header), word)
            count += len(names)
            if not names:
                wrong.append(f"{header}: no function is found in it")
            wrong += [
                f"{header}: {name} lacks {function}" for function in sorted(names - set(exported))
            ]
    for function in sorted(stubs & set(symbols(tandem, "--undefined-only"))):
        wrong.append(f"Tandem calls {function}, which is a stub")
    for function in sorted(stubs & set(symbols(tandem, "--defined-only"))):
        wrong.append(f"Tandem intercepts {function}, whose original is a stub")
    print(*wrong, f"{count} functions, {len(stubs)} of them stubs", sep="\n")
    return 1 if wrong or not stubs else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
