"""Products by how their matrices are aligned, natively and in modes, in turn on one device.

    alignment.py --out FILE [--library FILE] [--modes MODE,...] [--rounds N] [--only REGEX]
                 [--divide N]

Each shape is multiplied with every pair of operations and every layout: one in which cuBLAS's and
Tandem's kernels can copy 16 numbers at a time, and others in which the leading dimension of some of
A, B and C is that of a longer column by a few numbers, or their first number that many further on.
FILE gets a line for each: medians in milliseconds, and for each way the time over that of the first
layout. Operands are normal numbers. REGEX is for `TYPE M N K BATCH`, before N divides sizes."""
import argparse
import csv
import ctypes
import dataclasses
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import never_slower
from device import Device

BASE = 16  # numbers: all layouts have leading dimensions that are multiples of so many, and more
SQUARES = [(size, size, size, 1) for size in (512, 1024, 2048, 4096, 8192)]
THIN = [(4096, 4096, 64, 1), (4096, 4096, 256, 1), (8192, 8192, 512, 1), (16384, 1024, 1024, 1),
        (4096, 64, 4096, 1), (64, 4096, 4096, 1), (8192, 256, 4096, 1), (512, 512, 16384, 1)]
BATCHES = [(256, 256, 256, 64), (512, 512, 512, 32), (1024, 1024, 1024, 8)]
SHAPES = {"d": SQUARES + THIN + BATCHES,
          "z": SQUARES[:4] + [(4096, 4096, 256, 1), (4096, 64, 4096, 1), (64, 4096, 4096, 1),
                              (512, 512, 512, 16)]}


@dataclasses.dataclass(frozen=True)
class Layout:
    """Numbers by which leading dimensions are longer, and by which first elements are further."""
    a: int = 0
    b: int = 0
    c: int = 0
    at_a: int = 0
    at_b: int = 0
    at_c: int = 0

    def __str__(self):
        fields = dataclasses.asdict(self).items()
        return " ".join(f"{name}+{value}" for name, value in fields if value) or "aligned"


LAYOUTS = {
    "d": [Layout(), Layout(a=1), Layout(b=1), Layout(c=1), Layout(1, 1), Layout(1, 1, 1),
          Layout(2, 2, 2), Layout(4, 4, 4), Layout(8, 8, 8), Layout(at_a=1), Layout(at_b=1),
          Layout(at_c=1), Layout(0, 0, 0, 1, 1, 1), Layout(0, 0, 0, 2, 2, 2)],
    "z": [Layout(), Layout(a=1), Layout(b=1), Layout(c=1), Layout(1, 1), Layout(1, 1, 1),
          Layout(2, 2, 2), Layout(0, 0, 0, 1, 1, 1)]}


def operations(letter):
    return ["NN", "NT", "TN", "TT"] if letter == "d" else ["NN", "NC", "CN", "CC"]


class Bench:
    def __init__(self, xp, library, modes, folder):
        self.xp = xp
        self.device = Device(xp)
        self.ways = {"native": never_slower.Native(self.device)}
        copies = never_slower.Copies(self.device, library, folder)
        self.ways |= {mode: copies.load(TANDEM_MODE=mode) for mode in modes}
        size = never_slower.BUSY_BYTES if hasattr(xp, "cuda") else 1 << 16
        self.busy, self.busy_bytes = ctypes.c_void_p(), ctypes.c_size_t(size)
        self.device.check(self.device.cudart.cudaMalloc(ctypes.byref(self.busy), self.busy_bytes))

    def room(self, numbers, letter):
        made = self.xp.random.standard_normal(numbers * (2 if letter == "z" else 1))
        return self.device.address(made), made

    def call(self, shape, letter, ops, layout, rooms):
        """The arguments of cuBLAS's function, and its name."""
        m, n, k, batch = shape
        a, b, c = [(k, m) if ops[0] != "N" else (m, k), (n, k) if ops[1] != "N" else (k, n), (m, n)]
        size = 16 if letter == "z" else 8
        passed = []
        for (rows, columns), pad, at, room in zip(
                (a, b, c), (layout.a, layout.b, layout.c),
                (layout.at_a, layout.at_b, layout.at_c), rooms):
            leading = -(-rows // BASE) * BASE + pad
            passed.append((ctypes.c_void_p(room[0].value + at * size), leading,
                           ctypes.c_longlong(leading * columns)))
        codes = [{"N": 0, "T": 1, "C": 2}[op] for op in ops]
        one, zero = (ctypes.c_double * 2)(1, 0), (ctypes.c_double * 2)(0, 0)
        (a, lda, step_a), (b, ldb, step_b), (c, ldc, step_c) = passed
        prefix = f"cublas{letter.upper()}gemm"
        if batch == 1:
            return f"{prefix}_v2", (self.device.handle, *codes, m, n, k, one, a, lda, b, ldb, zero,
                                    c, ldc)
        return f"{prefix}StridedBatched", (self.device.handle, *codes, m, n, k, one, a, lda, step_a,
                                           b, ldb, step_b, zero, c, ldc, step_c, batch)

    def sample(self, way, name, arguments, count):
        device = self.device
        device.check(device.cudart.cudaMemsetAsync(self.busy, 0, self.busy_bytes, None))

        def work():
            for _ in range(count):
                device.check(getattr(way, name)(*arguments))
        return device.milliseconds(work) / count

    def times(self, name, arguments, rounds):
        for way in self.ways.values():
            self.device.check(getattr(way, name)(*arguments))
        ms = self.sample(self.ways["native"], name, arguments, 1)
        count = max(1, min(8, int(0.5 / max(ms, 0.01))))
        found = {mode: [] for mode in self.ways}
        for _ in range(rounds if ms < 5 else min(rounds, 3)):
            for mode, way in self.ways.items():
                found[mode].append(self.sample(way, name, arguments, count))
        return {mode: statistics.median(times) for mode, times in found.items()}

    def shape(self, shape, letter, rounds):
        """Lines of the table: of every pair of operations and layout."""
        m, n, k, batch = shape
        rooms = [self.room(batch * (x + 4 * BASE) * (y + 4 * BASE), letter)
                 for x, y in ((m, k), (k, n), (m, n))]
        for ops in operations(letter):
            first = None
            for layout in LAYOUTS[letter]:
                times = self.times(*self.call(shape, letter, ops, layout, rooms), rounds)
                first = first or times
                yield {"type": letter, "m": m, "n": n, "k": k, "batch": batch, "ops": ops,
                       "layout": str(layout)} | {
                           f"{mode} ms": f"{ms:.5f}" for mode, ms in times.items()} | {
                           f"{mode} factor": f"{ms / first[mode]:.3f}"
                           for mode, ms in times.items()}
        self.device.check(self.device.cudart.cudaDeviceSynchronize())
        self.device.release()


def wanted(only):
    """Types and shapes whose names fit."""
    return [(letter, shape) for letter, shapes in SHAPES.items() for shape in shapes
            if re.search(only, " ".join(map(str, (letter, *shape))))]


def measure(given):
    from sweep_kinds import xp
    with (tempfile.TemporaryDirectory() as folder,
          open(given.out, "w", newline="", encoding="utf-8") as file):
        bench, table = Bench(xp, given.library, given.modes, folder), None
        for letter, shape in wanted(given.only):
            small = (*(max(1, size // given.divide) for size in shape[:3]), shape[3])
            for line in bench.shape(small, letter, given.rounds):
                if not table:
                    table = csv.DictWriter(file, list(line), lineterminator="\n")
                    table.writeheader()
                table.writerow(line)
            file.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, metavar="FILE")
    parser.add_argument("--library", metavar="FILE", help="Tandem's preload library")
    parser.add_argument("--modes", default=["ozaki2"], metavar="MODE,...",
                        type=lambda text: text.split(","), help="default: ozaki2")
    parser.add_argument("--rounds", type=never_slower.positive(int), default=5, metavar="N")
    parser.add_argument("--only", type=never_slower.expression, default="", metavar="REGEX")
    parser.add_argument("--divide", type=never_slower.positive(int), default=1, metavar="N",
                        help="divide all sizes by N, for the host device")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(given)
        return
    library = never_slower.find_library(given.library)
    sys.exit(subprocess.run([sys.executable, __file__, *sys.argv[1:], "--measure", "--library",
                             library], env=never_slower.measuring_environment(),
                            check=False).returncode)


if __name__ == "__main__":
    main()
