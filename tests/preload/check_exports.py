"""Every function of the public header is one that the library exports, and no other tandem_
function is.

usage: check_exports.py HEADER LIBRARY
"""

import re
import subprocess
import sys


def main(header, library):
    with open(header, encoding="utf-8") as file:
        declared = set(re.findall(r"^TANDEM_API[^(]*?(tandem_\w+)\(", file.read(), re.MULTILINE))
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True,
                             text=True, check=True).stdout
    exported = {line.split()[-1].split("@")[0] for line in symbols.splitlines()}
    exported = {name for name in exported if name.startswith("tandem_")}
    for name in sorted(declared ^ exported):
        print(f"{name}: " +
              ("declared, not exported" if name in declared else "exported, not declared"))
    return 0 if declared and declared == exported else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
