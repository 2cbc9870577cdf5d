"""Tables of programs.py side by side: usage: compare.py NATIVE.csv OTHER.csv ...

A column of milliseconds for each file, and for each but the first how many times as fast, and its
error in units of the first's.
"""

import csv
import pathlib
import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        return {(line["framework"], line["work"]): (float(line["ms"]), float(line["error"]))
                for line in csv.DictReader(file)}


def main(paths):
    names, tables = [pathlib.Path(path).stem for path in paths], [read(path) for path in paths]
    print(f"| {'work':32} | {names[0] + ', ms':>14} |" +
          "".join(f" {name + ', ms':>14} | times as fast | error |" for name in names[1:]))
    print("|---|---|" + "---|---|---|" * (len(names) - 1))
    for key, (native, error) in tables[0].items():
        line = f"| {' '.join(key):32} | {native:14.3f} |"
        for table in tables[1:]:
            ms, other = table.get(key, (float("nan"), float("nan")))
            times = other / error if error else float("nan")
            line += f" {ms:14.3f} | {native / ms:13.2f} | {times:5.2f} |"
        print(line)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1:])
