"""Writes the golden bits of all modes as rows of one C table: the file's name without its suffix,
and what a line holds.

usage: rows.py FOLDER OUTPUT DEPENDENCIES
DEPENDENCIES is a file for Ninja: the folder itself is among them, so that a new mode's file is
noticed.
"""

import pathlib
import sys

folder, output, dependencies = map(pathlib.Path, sys.argv[1:])
files = sorted(folder.glob("*.txt"))
with output.open("w", encoding="ascii") as out:
    for file in files:
        for line in file.read_text(encoding="ascii").splitlines():
            if line.startswith("{"):
                out.write(f'{{"{file.stem}", {line[1:]}\n')
dependencies.write_text(f"{output}: {' '.join(map(str, [folder, *files]))}\n", encoding="utf-8")
