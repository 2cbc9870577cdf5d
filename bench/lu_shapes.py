"""Prints the tables of kernels/batched_lu/shapes.cu from the CSV of `bench/lu --shapes`.

usage: lu_shapes.py FILE.csv

For each type the fastest shape of each order; of shapes within NEAR of each other, that of the
order before. It holds to halfway to the next order, rounded down to a multiple of 8, but not beyond
the most rows that the shape has room for. First shapes of factors, then vectors and lanes of
inverses in shared memory: TD_LU_MOST where all columns of a matrix are the fastest. From which
order strips are faster than these is another table there.
"""

import csv
import sys

NEAR = 1.03
MOST = {
    "lanes 8": 8, "lanes 16": 16, "lanes 24": 24, "lanes 32": 32, "lanes 36": 36, "lanes 48": 48,
    "warp": 64
}


def read(path, routine):
    times = {}
    with open(path) as lines:
        for row in csv.DictReader(line for line in lines if not line.startswith("#")):
            if row["routine"] == routine and row["shape"] not in ("table", "strips"):
                shape = row["shape"]
                together, is_of_vectors, lanes = shape.partition(" x ")
                if is_of_vectors and int(together) >= int(row["n"]):
                    shape = "TD_LU_MOST x " + lanes
                times.setdefault(row["type"], {}).setdefault(int(row["n"]),
                                                             {})[shape] = float(row["ms"])
    return times


def choose(by_order):
    chosen, before = [], None
    for n in sorted(by_order):
        shapes = by_order[n]
        best = min(shapes, key=shapes.get)
        before = before if shapes.get(before, float("inf")) <= NEAR * shapes[best] else best
        chosen.append((n, before))
    return chosen


def ranges(chosen):
    for (n, shape), (after, next_shape) in zip(chosen, chosen[1:] + [(None, None)]):
        if shape != next_shape:
            last = "TD_LU_MOST" if n <= 256 else "TD_LU_MOST_FACTORED"
            to = max(n, (n + after) // 2 // 8 * 8) if after else last
            yield min(to, MOST.get(shape, to)) if after else to, shape


def name_of(shape):
    together, is_of_vectors, lanes = shape.partition(" x ")
    if is_of_vectors:
        return "{%s, %s}" % (together, lanes)
    return "TD_LU_" + shape.upper().replace(" + ", "_").replace(" ", "_")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.split("\n\n")[1])
    for routine in ("getrf", "getri"):
        for kind, by_order in read(sys.argv[1], routine).items():
            rows = ["{%s, %s}" % (to, name_of(shape)) for to, shape in ranges(choose(by_order))]
            start = "    [TD_LU_%s] = {" % kind
            print(start + (",\n" + " " * len(start)).join(rows) + "},")


if __name__ == "__main__":
    main()
