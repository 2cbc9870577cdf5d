"""The rows of bench/never_slower.py: which kinds of data meet which calls.

A row is one call of cuBLAS: a form (function), a type, a shape, and the kind of each operand. Every
kind of sweep_kinds.py meets each of GROUPS once, with a form, a shape, operations and scalars of
the group that a checksum of the names chooses; kinds of real_kinds.py meet one group of each type;
and there are calls that programs made (real_calls.csv), with random numbers."""
import csv
import dataclasses
import itertools
import zlib

DEVICE_SCALARS = "cublasDgemm_v2, scalars on the device"
CAPTURED, CAPTURED_COMPLEX = "cublasDgemm_v2, in a graph", "cublasZgemm_v2, in a graph"
SQUARE = [1024, 1536, 2048, 2560, 3000, 3072, 4096, 4097, 5000, 6144, 8192]
THIN = [(4096, 4096, 256), (4096, 4096, 512), (4096, 4096, 1024), (8192, 8192, 256),
        (8192, 8192, 512), (8192, 8192, 1024), (5000, 5000, 300)]
WIDE = [(16384, 1024, 1024), (1024, 15360, 16384), (100000, 512, 512), (12288, 12288, 512),
        (16384, 16384, 256), (512, 512, 100000), (2000, 8192, 2000)]
COMPLEX_SQUARE = [1024, 1200, 1536, 2048, 3000, 4096]
COMPLEX_THIN = [(8192, 8192, 256), (8192, 8192, 512), (4096, 4096, 512), (4096, 4096, 1024),
                (16384, 1024, 1024), (1024, 4096, 8192), (50000, 512, 512), (2049, 2049, 700)]
BATCHES = [(1200, 3), (1024, 16), (512, 64), (2048, 4), (777, 20)]
COMPLEX_BATCHES = [(1200, 3), (1024, 16), (512, 64)]
TRIANGLES = [(4096, 4096, 4096), (8192, 8192, 512), (4096, 4096, 512), (3000, 3000, 3000),
             (2048, 2048, 2048), (6144, 6144, 1024)]
LEFT_LOWER = "LLN"
CONTRACTED = {(1024, 15360, 16384)}  # as QR asks for them: op(A) is always a transpose


def cubes(orders):
    return [(n, n, n) for n in orders]


# What a kind meets once: forms with their types, and shapes of m, n, k and members.
GROUPS = {
    "real": ([("cublasDgemm_v2", "d"), ("cublasGemmEx", "d"), ("cublasDgemm_v2", "d"),
              (DEVICE_SCALARS, "d"), (CAPTURED, "d")], [(*s, 1) for s in cubes(SQUARE)]),
    "real thin": ([("cublasDgemm_v2", "d"), ("cublasGemmEx", "d")],
                  [(*s, 1) for s in THIN + WIDE]),
    "complex": ([("cublasZgemm_v2", "z"), ("cublasGemmEx", "z"), ("cublasZgemm_v2", "z"),
                 (CAPTURED_COMPLEX, "z")],
                [(*s, 1) for s in cubes(COMPLEX_SQUARE)]),
    "complex thin": ([("cublasZgemm_v2", "z")], [(*s, 1) for s in COMPLEX_THIN]),
    "real batch": ([("cublasDgemmStridedBatched", "d"), ("cublasDgemmBatched", "d")],
                   [(n, n, n, count) for n, count in BATCHES]),
    "complex batch": ([("cublasZgemmStridedBatched", "z"), ("cublasZgemmStridedBatched", "z"),
                       ("cublasZgemmBatched", "z")],
                      [(n, n, n, count) for n, count in COMPLEX_BATCHES]),
    "lt": ([("cublasLtMatmul", "d"), ("cublasLtMatmul", "z")],
           [(*s, 1) for s in cubes(COMPLEX_SQUARE) + COMPLEX_THIN]
           + [(n, n, n, count) for n, count in COMPLEX_BATCHES]),
    "level 3": ([("cublasDsyrk_v2", "d"), ("cublasZherk_v2", "z"), ("cublasDtrsm_v2", "d"),
                 ("cublasDsymm_v2", "d")], [(*s, 1) for s in TRIANGLES]),
}
UPDATES = ("cublasDsyrk_v2", "cublasZherk_v2")
UPDATES_OF_TWO = ("cublasDsyr2k_v2", "cublasZher2k_v2", "cublasDsyrkx", "cublasZherkx")
SOLVES = ("cublasDtrsm_v2", "cublasZtrsm_v2")
TRIANGULAR = ("cublasDtrmm_v2", "cublasZtrmm_v2", *SOLVES)
SYMMETRIC = ("cublasDsymm_v2", "cublasZsymm_v2", "cublasZhemm_v2")
WITH_TRIANGLE = TRIANGULAR + SYMMETRIC  # A is square, of the order m, or n at the right
OF_A_TRIANGLE = UPDATES + UPDATES_OF_TWO  # C is square, and one triangle of it is written
PAIR_GROUPS = ("real", "complex")
RECORDED = 40  # of the recorded calls
MOST_WORK = 1.2 * 8192 ** 3


@dataclasses.dataclass
class Row:
    """One call. op(A) is m x k and op(B) k x n; of updates n is m, and of those of one matrix op(B)
    is A's transpose. A triangle at the right is the right operand, and B the left one."""
    kind: str
    sides: str  # which operands are of the kind: left, right, both; the other is normal
    form: str
    type: str  # d or z
    op_a: str
    op_b: str
    m: int
    n: int
    k: int
    batch: int
    beta: int
    shape: str = ""  # for the drawing
    pad: int = 0  # numbers of each line in memory that no operand has
    skew: int = 0  # numbers before the first one of each operand
    place: str = LEFT_LOWER  # the triangle: Left or Right; Lower or Upper; Non-unit or Unit

    @property
    def function(self):
        return self.form.partition(",")[0]

    @property
    def ops(self):
        ops = self.op_a if self.form in OF_A_TRIANGLE else self.op_a + self.op_b
        return ops if self.place == LEFT_LOWER else f"{ops}:{self.place}"

    @property
    def is_at_right(self):
        return self.place[0] == "R"

    @property
    def reported(self):
        """What tells calls apart in the report, with m, n and k as the routine counts them."""
        m = 0 if self.form in OF_A_TRIANGLE else self.m
        k = 0 if self.form in WITH_TRIANGLE else self.k
        return self.function, m, self.n, k, self.batch

    @property
    def name(self):
        return ",".join(str(value) for value in (
            self.kind, self.sides, self.form.replace(",", ""), self.type, self.ops, self.m, self.n,
            self.k, self.batch, self.beta))


def choose(options, *words):
    return options[zlib.crc32(" ".join(map(str, words)).encode()) % len(options)]


def shape_title(letter, m, n, k, batch):
    size = f"{n}^3" if m == n == k else f"{m}x{n}x{k}"
    return f"{letter} {batch}x {size}" if batch > 1 else f"{letter} {size}"


def operations(form, letter, shape, *words):
    if shape in CONTRACTED:
        return "T", "N"
    if form in UPDATES:
        return choose(["N", "C" if letter == "z" else "T"], *words), "-"
    if form == "cublasDsymm_v2":
        return "N", "N"
    if form == "cublasDtrsm_v2":
        return choose("NT", *words), "N"
    return choose(["NN", "NN", "TN", "NT", "CN" if letter == "z" else "TT"], *words)


def make_row(kind, index, group, sides):
    """Forms and shapes take turns from kind to kind, so that all occur equally often."""
    forms, shapes = GROUPS[group]
    turn = zlib.crc32(group.encode()) + index
    form, letter = forms[turn % len(forms)]
    m, n, k, batch = shapes[(turn + turn // len(shapes) // len(forms)) % len(shapes)]
    if form in UPDATES:
        m, sides = n, "both"
    if form in WITH_TRIANGLE:
        k = m
    ops = operations(form, letter, (m, n, k), kind, group, "operations")
    beta = 0 if form == "cublasDtrsm_v2" else choose([0, 0, 1], kind, group, "beta")
    return Row(kind, sides, form, letter, *ops, m, n, k, batch, beta,
               shape_title(letter, m, n, k, batch))


def own_rows(kinds):
    """Each kind with each group."""
    for index, kind in enumerate(kinds):
        for group in GROUPS:
            sides = choose(["both", "both", "left", "right"], kind, group)
            yield make_row(kind, index, group, sides)


def pair_rows(kinds):
    """Kinds of real_kinds.py with one group of each type."""
    for index, kind in enumerate(kinds):
        for group in PAIR_GROUPS:
            yield make_row(kind, index, choose([g for g in GROUPS if g.startswith(group)], kind),
                           "both")


def recorded_rows(path):
    """The calls of the file that take the longest, but those of more work than MOST_WORK."""
    with open(path, encoding="utf-8") as file:
        calls = [{name: value if name.startswith("op") else int(value)
                  for name, value in line.items()} for line in csv.DictReader(file)]

    def work(call):
        return call["m"] * call["n"] * call["k"] * call["batch"]

    calls = sorted((call for call in calls if work(call) <= MOST_WORK), key=work, reverse=True)
    for call in calls[:2 * RECORDED:2]:
        form = "cublasDgemmStridedBatched" if call["batch"] > 1 else "cublasDgemm_v2"
        yield Row("recorded calls", "both", form, "d", call["op_a"], call["op_b"], call["m"],
                  call["n"], call["k"], call["batch"], call["beta"],
                  "d recorded")


def shrink(row, factor):
    """Every size divided by the factor, odd ones staying odd; for a device that is slow."""
    def smaller(size):
        return max(48, size // factor) + size % 2
    row.m, row.n, row.k = map(smaller, (row.m, row.n, row.k))
    row.batch = min(row.batch, 3)


def tell_apart(rows):
    """Changes n and k of rows that the report could not tell from others: it adds up its lines.

    Large sizes become smaller by multiples of 8, which leaves them aligned as they were."""
    used = set()
    for row in rows:
        m, n, k = row.m, row.n, row.k
        step = -8 if min(n, k) >= 256 else 1
        for i in itertools.count():
            if row.is_at_right:
                row.m = m + step * i
            elif row.form in WITH_TRIANGLE:
                row.n = n + step * i
            else:
                row.n, row.k = n + step * (i % 4), k + step * (i // 4)
            if row.form in OF_A_TRIANGLE:
                row.m = row.n
            if row.reported not in used:
                break
        used.add(row.reported)


def all_rows(kinds, pair_kinds, recorded, factor):
    rows = list(itertools.chain(own_rows(kinds), pair_rows(pair_kinds), recorded_rows(recorded)))
    if factor > 1:
        for row in rows:
            shrink(row, factor)
    tell_apart(rows)
    return rows
