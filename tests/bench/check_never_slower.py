"""bench/never_slower on the host device: usage: check_never_slower.py TANDEM BENCH

CuPy is missing here: a module that cannot be imported stands in its place. With the word `forms`
instead of TANDEM it is the process in which calls are checked, under Tandem in mode native."""

import csv
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TANDEM, BENCH = sys.argv[1], pathlib.Path(sys.argv[2])
COLUMNS = ("row mode kind sides shape form type m n k batch ops beta pad skew native_ms ms ratio "
           "spread rounds error ran moduli repaired tiles").split()
ONLY = r"^(normal|powers of a band|kernel K K),|^recorded calls,.*,NT,"
MODES = ["auto", "ozaki2"]

try:
    import numpy as np
except ImportError:
    print("skipped: there is no NumPy")
    sys.exit(77)

FOLDER = tempfile.TemporaryDirectory()
pathlib.Path(FOLDER.name, "cupy.py").write_text("raise ImportError('no cupy here')\n")
sys.path[:0] = [FOLDER.name, str(BENCH)]
import never_slower  # noqa: E402
import sweep_grid  # noqa: E402
import sweep_kinds  # noqa: E402
import sweep_random  # noqa: E402
import sweep_rows  # noqa: E402

RECORDED = BENCH / "real_calls.csv"
PAIRS = sweep_kinds.real_kinds.PLAIN


def operated(stored, operation):
    return {"N": stored, "T": stored.T, "C": stored.conj().T}[operation]


def half(row, a, without):
    """The triangle of a matrix that the row names, `without` 0 or 1 diagonals of it."""
    return np.tril(a, -without) if row.place[1] == "L" else np.triu(a, without)


def from_triangle(row, stored):
    """The matrix for which a stored triangle stands."""
    if row.form in sweep_rows.TRIANGULAR:
        is_unit = row.place[2] == "U"
        return operated(half(row, stored, is_unit) + is_unit * np.eye(len(stored)), row.op_a)
    is_hermitian, beside = "hemm" in row.form, half(row, stored, 1)
    other = beside.conj().T if is_hermitian else beside.T
    return beside + other + np.diag(np.diag(stored.real if is_hermitian else stored))


def expected(row, a, b, c):
    """What one member's call leaves in C; `a` is op(A), or the triangle as it is stored."""
    if row.form in sweep_rows.OF_A_TRIANGLE:
        made = a @ (a.conj().T if row.op_b == "-" else b)
        made = made + made.conj().T if "r2k" in row.form else made
        if "herkx" in row.form:  # takes the result for a Hermitian one
            np.fill_diagonal(made, made.diagonal().real)
        return np.where(half(row, np.ones((row.n, row.n)), 0) > 0, made + row.beta * c, c)
    if row.form in sweep_rows.WITH_TRIANGLE:
        a = from_triangle(row, a)
    if row.form in sweep_rows.SOLVES:
        return np.linalg.solve(a.T, b.T).T if row.is_at_right else np.linalg.solve(a, b)
    return (b @ a if row.is_at_right else a @ b) + row.beta * c


class Forms:
    """The calls of cuBLAS that the sweep makes, beside NumPy's products."""

    def __init__(self):
        from device import Device
        self.device = Device(np)

    def check(self, row):
        import sweep_calls
        drawn = {}

        def draw(side, member):
            shape = {"left": (row.m, row.k), "right": (row.k, row.n)}[side]
            maker = sweep_kinds.Maker(row.type, *shape, side == "left", member + 7)
            return drawn.setdefault((side, member), maker.normal())

        call = sweep_calls.prepare(self.device, np, row, draw)
        set_mode = self.device.cublas.cublasSetPointerMode_v2
        self.device.check(set_mode(self.device.handle, call.scalars))
        library = self.device.lt.library if "Lt" in row.form else self.device.cublas
        for _ in range(2):  # the second call adds to the result of the first one
            if call.restore:
                call.restore()
            self.device.check(call.make(library))
        self.device.check(set_mode(self.device.handle, 0))
        call.release()
        return self.largest_error(row, call, drawn)

    def fetch(self, row, result):
        """The members of C as they are stored, without what lies between their columns."""
        numbers = np.zeros(result.members * result.stride - row.skew, dtype=result.array.dtype)
        self.device.fetch(result.address, numbers)
        of_member = [numbers[i * result.stride:][:row.n * result.rows] for i in range(row.batch)]
        return [member.reshape(row.n, result.rows)[:, :row.m] for member in of_member]

    def largest_error(self, row, call, drawn):
        c = self.fetch(row, call.result)
        worst = 0.0
        for i in range(row.batch):
            a, b = drawn["left", i % 4], drawn.get(("right", i % 4))
            a, b = (b, a) if row.is_at_right else (a, b)
            if row.form in sweep_rows.WITH_TRIANGLE:
                a = call.left.array[0].T
            result = np.zeros((row.m, row.n))
            for _ in range(2):
                result = expected(row, a, b, result)
            worst = max(worst, abs(c[i].T - result).max() / abs(result).max())
        return worst


def check_forms():
    forms, bad = Forms(), []
    rows = {(row.form, row.type, row.ops, row.beta, row.batch > 1, row.pad, row.skew): row
            for row in sweep_rows.all_rows(sweep_kinds.KINDS, PAIRS, RECORDED, 64)
            + sweep_random.draw_rows({}, 200, 1, 64)}
    for row in rows.values():
        error = forms.check(row)
        if not error < 1e-13:
            bad.append(f"{row.name}: {error}")
    print(f"{len(rows)} calls")
    sys.exit("\n".join(bad) or 0)


class Kinds(unittest.TestCase):
    def test_shapes_and_numbers(self):
        for title, make in sweep_kinds.KINDS.items():
            for letter, shape in (("d", (300, 70)), ("z", (60, 250)), ("z", (120, 120))):
                for inner in (0, 1):
                    with self.subTest(title, letter=letter, shape=shape, inner=inner):
                        a = make(sweep_kinds.Maker(letter, *shape, inner, 5))
                        self.assertEqual((a.shape, a.dtype.kind),
                                         (shape, "f" if letter == "d" else "c"))
                        self.assertTrue(np.isfinite(a).all())
                        self.assertTrue(a.any())

    def test_pairs(self):
        pairs = sweep_kinds.Pairs(64)
        maker = sweep_kinds.Maker("z", 100, 30, 1, 1)
        left = pairs.operand("eigenvectors Q Q'", maker)
        right = pairs.operand("eigenvectors Q Q'", sweep_kinds.Maker("d", 30, 100, 0, 1))
        self.assertEqual((left.shape, left.dtype.kind, right.shape), ((100, 30), "c", (30, 100)))
        np.testing.assert_allclose(left[:64].real / 0.8, right[:, :64].T)


class Rows(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows = sweep_rows.all_rows(sweep_kinds.KINDS, PAIRS, RECORDED, 1)

    def test_every_kind_meets_every_group(self):
        self.assertGreater(len(self.rows), 300)
        for title in sweep_kinds.KINDS:
            rows = [row for row in self.rows if row.kind == title]
            self.assertEqual(len(rows), len(sweep_rows.GROUPS), title)
            self.assertEqual({row.type for row in rows}, {"d", "z"})
        self.assertEqual({row.kind for row in self.rows},
                         {*sweep_kinds.KINDS, *PAIRS, "recorded calls"})

    def test_every_form_and_shape_occurs(self):
        for forms, shapes in sweep_rows.GROUPS.values():
            for form, letter in forms:
                self.assertIn((form, letter), {(row.form, row.type) for row in self.rows})
            for m, n, k, batch in shapes:
                titles = {sweep_rows.shape_title(letter, m, n, k, batch) for letter in "dz"}
                self.assertTrue(titles & {row.shape for row in self.rows}, titles)

    def test_report_can_tell_rows_apart(self):
        for factor in (1, 64):
            rows = sweep_rows.all_rows(sweep_kinds.KINDS, PAIRS, RECORDED, factor)
            self.assertEqual(len({row.reported for row in rows}), len(rows))

    def test_same_rows_every_time(self):
        again = sweep_rows.all_rows(sweep_kinds.KINDS, PAIRS, RECORDED, 1)
        self.assertEqual(again, self.rows)


class Drawn(unittest.TestCase):
    """Rows that a seed draws."""

    def test_families(self):
        for draw in sweep_random.FAMILIES:
            for seed in range(8):
                title, make = draw(random.Random(seed))
                self.assertNotIn(",", title)
                for letter, shape, inner in (("d", (300, 70), 0), ("z", (60, 250), 1)):
                    with self.subTest(title, letter=letter):
                        a = make(sweep_kinds.Maker(letter, *shape, inner, 5))
                        self.assertEqual((a.shape, a.dtype.kind),
                                         (shape, "f" if letter == "d" else "c"))
                        self.assertTrue(np.isfinite(a).all())
                        self.assertTrue(a.any())

    def test_limits(self):
        kinds = {}
        rows = sweep_random.draw_rows(kinds, 300, 7, 1)
        self.assertEqual({row.form for row in rows}, set(sweep_random.FORMS))
        self.assertEqual({row.kind for row in rows}, set(kinds))
        self.assertEqual(len({row.reported for row in rows}), 300)
        self.assertEqual({(row.pad > 0, row.skew) for row in rows},
                         {(False, 0), (False, 1), (True, 0), (True, 1)})
        for row in rows:
            work = row.m * row.n * row.k * row.batch * (4 if row.type == "z" else 1)
            self.assertTrue(0.9 * sweep_random.LEAST_WORK < work <= sweep_random.MOST_WORK)

    def test_a_seed_draws_the_same_rows(self):
        rows = [sweep_random.draw_rows({}, 20, seed, 1) for seed in (1, 1, 2)]
        self.assertEqual(rows[0], rows[1])
        self.assertFalse({row.name for row in rows[0]} & {row.name for row in rows[2]})


class Grid(unittest.TestCase):
    """Rows that the command line names."""

    def test_shapes(self):
        for text, sizes in (("d 3000^3", ("d", 3000, 3000, 3000, 1)),
                            ("z 8192x4096x512", ("z", 8192, 4096, 512, 1)),
                            ("z 16x 1024^3", ("z", 1024, 1024, 1024, 16)),
                            ("d 3x 7x8x9", ("d", 7, 8, 9, 3))):
            self.assertEqual(sweep_grid.parse_shape(text), sizes)
            self.assertEqual(sweep_rows.shape_title(*sizes), text)
        for text in ("s 3000^3", "d3000^3", "d 3000", "d 1x2", "d 0x1x1", "d 0x 5^3", "d 5^3 "):
            with self.assertRaisesRegex(ValueError, f"'{re.escape(text)}'; allowed: "):
                sweep_grid.parse_shape(text)

    def test_every_kind_meets_every_shape(self):
        shapes = [("d", 3000, 3000, 3000, 1), ("z", 1024, 1024, 1024, 16)]
        rows = sweep_grid.grid_rows(["normal", "0/1"], shapes, 1)
        self.assertEqual([(row.kind, row.form, row.shape) for row in rows],
                         [(kind, *of) for kind in ("normal", "0/1") for of in (
                             ("cublasDgemm_v2", "d 3000^3"),
                             ("cublasZgemmStridedBatched", "z 16x 1024^3"))])
        self.assertEqual(len({row.reported for row in rows}), len(rows))


class Errors(unittest.TestCase):
    """What is said of results that are near, and of such that are not."""

    @staticmethod
    def memory(row):
        """A result that lies in memory, as sweep_calls.py gives it."""
        import types
        import sweep_calls
        shape = sweep_calls.zeros(np, row).shape
        return types.SimpleNamespace(result=types.SimpleNamespace(
            array=np.zeros(shape, "f8" if row.type == "d" else "c16")))

    def check(self, row):
        from sweep_errors import Expected, most_apart
        some = np.random.default_rng(3)
        drawn = {}

        def draw(side, member):
            shape = {"left": (row.m, row.k), "right": (row.k, row.n)}[side]
            parts = some.standard_normal((2, *shape))
            return drawn.setdefault((side, member),
                                    parts[0] if row.type == "d" else parts[0] + 1j * parts[1])
        known = Expected(np, row, self.memory(row), draw)
        native = known.start.copy()
        native[known.written] = 1.0
        self.assertEqual(known.units_apart(native, native), 0.0)
        at = tuple(axis[0] for axis in np.nonzero(known.written))
        units = 2.0 ** -53 * known.size(0)
        for change, is_far in ((1.5 * most_apart(row) * np.nanmax(units), True), (np.nan, True),
                               (np.nanmin(units), False)):
            found = native.copy()
            found[at] += change
            self.assertEqual(not known.units_apart(found, native) <= most_apart(row), is_far)
        for at in list(zip(*np.nonzero(~known.written)))[::7]:
            found = native.copy()
            found[at] = 0.0
            self.assertEqual(known.units_apart(found, native), np.inf)

    def test_products(self):
        for form, letter, place, pad in (("cublasDgemm_v2", "d", "LLN", 3),
                                         ("cublasZgemmBatched", "z", "LLN", 1),
                                         ("cublasZher2k_v2", "z", "LUN", 0),
                                         ("cublasDtrmm_v2", "d", "RUU", 0)):
            with self.subTest(form):
                batch = 5 if "Batched" in form else 1
                self.check(sweep_rows.Row("normal", "both", form, letter, "N", "N", 20, 20, 20,
                                          batch, 1, pad=pad, skew=min(pad, 1), place=place))


class Cells(unittest.TestCase):
    """What is counted and drawn of a table that is written down here."""

    @staticmethod
    def line(kind, shape, ran, ratio):
        return dict.fromkeys(COLUMNS, "1") | {
            "kind": kind, "shape": shape, "ran": ran, "ratio": ratio, "spread": "0.0"}

    def setUp(self):
        self.lines = [self.line(*words.rsplit(None, 3)) for words in (
            "a d16^3 native 1.20", "a d16^3 ozaki2 0.70", "a d16^3 ozaki2 1.10", "b d16^3 ozaki2 "
            "1.0501", "b d8^3 native 1.30", "b d8^3 native 0.90", "a d8^3 ozaki2 3.5")]

    def test_a_cell_is_its_worst_emulated_row(self):
        kinds, shapes, worst = never_slower.heat_cells(self.lines)
        self.assertEqual((kinds, shapes), (["a", "b"], ["d8^3", "d16^3"]))
        self.assertEqual({cell: (line["ran"], line["ratio"]) for cell, line in worst.items()},
                         {(0, 1): ("ozaki2", "1.10"), (1, 1): ("ozaki2", "1.0501"),
                          (1, 0): ("native", "1.30"), (0, 0): ("ozaki2", "3.5")})

    def test_only_emulated_rows_count(self):
        """Beyond a limit means above it."""
        said = "\n".join(never_slower.summary("auto", self.lines))
        self.assertIn("\nauto: 7 rows, 4 emulated, 0 with native times apart\n", said)
        self.assertIn("of the emulated 3 over 1.05, 1 over 1.10, 1 over 1.15, 1 over 3.00\n", said)
        mean = (0.70 * 1.10 * 1.0501 * 3.5) ** (1 / 4)
        self.assertIn(f"geometric mean {mean ** (4 / 7):.3f} of all rows, native ones as 1, "
                      f"{mean:.3f} of the emulated\n", said)
        self.assertIn(f"geometric mean {0.7 ** (1 / 7):.3f} of all rows if each took the better of "
                      "the mode and native\n", said)
        self.assertIn("native rows by their times: 0.900 to 1.300\n", said)


class Sweep(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.out = cls.folder / "out"
        cls.done = cls.run_bench("--modes", ",".join(MODES), "--only", ONLY, "--out", cls.out)
        with open(cls.out / "never_slower.csv", encoding="utf-8") as file:
            cls.columns = file.readline().strip().split(",")
            cls.rows = list(csv.DictReader(file, cls.columns))

    @staticmethod
    def start(mode, *command, **variables):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("TANDEM_", "LD_PRELOAD"))}
        environment |= {"PYTHONPATH": FOLDER.name, **variables}
        command = [TANDEM, "run", "--hostgpu", "--mode", mode, "--", sys.executable, *command]
        return subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              env=environment, check=False)

    @classmethod
    def run_bench(cls, *arguments):
        return cls.start("auto", BENCH / "never_slower.py", "--divide", 64, "--seconds", 0.01,
                         "--rounds", 2, *arguments)

    def test_every_row_in_every_mode(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        self.assertEqual(self.columns, COLUMNS)
        wanted = [row for row in sweep_rows.all_rows(sweep_kinds.KINDS, PAIRS, RECORDED, 64)
                  if re.search(ONLY, row.name)]
        self.assertEqual([(row["kind"], row["form"], row["m"], row["mode"]) for row in self.rows],
                         [(row.kind, row.form.replace(",", ""), str(row.m), mode)
                          for row in wanted for mode in MODES])
        self.assertGreater(len({row["form"] for row in self.rows}), 8)

    def test_errors(self):
        """Emulated products have other bits than the host's BLAS, and are as near as FP64 is."""
        errors = [float(row["error"]) for row in self.rows]
        self.assertTrue(all(0.0 <= error <= 1.0 for error in errors), errors)
        self.assertTrue(any(error > 0.0 for error in errors))

    def test_what_ran(self):
        for row in self.rows:
            with self.subTest(row):
                if row["mode"] == "ozaki2":
                    self.assertEqual(row["ran"], "ozaki2")
                if row["ran"] == "native":
                    self.assertEqual((row["moduli"], row["repaired"], row["tiles"]), ("-",) * 3)
                elif row["moduli"] != "-":
                    self.assertTrue(2 <= int(row["moduli"]) <= 20)
        auto = {row["ran"] for row in self.rows if row["mode"] == "auto"}
        self.assertEqual(auto, {"native", "ozaki2"})

    def test_ratios(self):
        for row in self.rows:
            ms, native, ratio = (float(row[name]) for name in ("ms", "native_ms", "ratio"))
            # Rounded to five, five and four digits.
            self.assertAlmostEqual(ms / native, ratio,
                                   delta=0.51e-4 + 0.51e-5 * (1.0 + ms / native) / native)
            self.assertGreaterEqual(int(row["rounds"]), 2)

    def test_summary(self):
        """ozaki2 emulates all rows here, far slower than the host's BLAS."""
        rows = [row for row in self.rows if row["mode"] == "ozaki2"]
        text = (self.out / "never_slower.txt").read_text(encoding="utf-8")
        self.assertIn(text, self.done.stdout)
        own = text[text.index("\nozaki2: "):]
        self.assertTrue(own.startswith(f"\nozaki2: {len(rows)} rows, {len(rows)} emulated"), own)
        ratios = [float(row["ratio"]) for row in rows]
        said = [f"{sum(ratio > float(limit) for ratio in ratios)} over {limit}"
                for limit in ("1.05", "1.10", "1.15", "3.00")]
        self.assertIn(f"of the emulated {', '.join(said)}\n", own)
        worst = max(rows, key=lambda row: float(row["ratio"]))
        first = own[own.index("ten worst"):].splitlines()[2]
        self.assertEqual(first.split()[0], worst["row"])

    def test_drawn_rows(self):
        out = self.folder / "drawn"
        done = self.run_bench("--modes", ",".join(MODES), "--random", 2, "--seed", 5, "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 rows of seed 5\n", done.stdout)
        with open(out / "never_slower.csv", encoding="utf-8") as file:
            found = [(row["kind"], row["k"], row["mode"]) for row in csv.DictReader(file)]
        wanted = sweep_random.draw_rows({}, 2, 5, 64)
        self.assertEqual(found,
                         [(row.kind, str(row.k), mode) for row in wanted for mode in MODES])

    def test_named_rows(self):
        out = self.folder / "named"
        done = self.run_bench("--shapes", "d 4096^3,z 3x 4096^3", "--kinds", "normal,kernel K K",
                              "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(out / "never_slower.csv", encoding="utf-8") as file:
            found = [(row["kind"], row["form"], row["shape"]) for row in csv.DictReader(file)]
        self.assertEqual(found, [(kind, *of) for kind in ("normal", "kernel K K") for of in (
            ("cublasDgemm_v2", "d 4096^3"), ("cublasZgemmStridedBatched", "z 3x 4096^3"))])

    def test_alignment(self):
        out = self.folder / "alignment.csv"
        done = self.start("auto", BENCH / "alignment.py", "--out", out, "--divide", 64, "--rounds",
                          1, "--only", "^d 1024 1024 1024 8$|^z 64 ")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(out, encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 4 * 14 + 4 * 8)
        self.assertEqual(len({(row["type"], row["ops"], row["layout"]) for row in rows}), len(rows))
        self.assertEqual({(row["m"], row["n"], row["k"], row["batch"]) for row in rows},
                         {("16", "16", "16", "8"), ("1", "64", "64", "1")})
        for row in rows:
            self.assertGreater(float(row["ozaki2 ms"]), 0.0)
            if row["layout"] == "aligned":
                self.assertEqual((row["native factor"], row["ozaki2 factor"]), ("1.000", "1.000"))

    @unittest.skipUnless(shutil.which("gnuplot"), "no gnuplot")
    def test_drawing(self):
        for mode in MODES:
            drawing = (self.out / f"never_slower-{mode}.svg").read_text(encoding="utf-8")
            self.assertIn(f"time of {mode}", drawing)
            self.assertTrue(all(row["shape"] in drawing and row["kind"] in drawing
                                for row in self.rows))

    def test_forms(self):
        done = self.start("native", __file__, "forms", BENCH, TANDEM_DLSYM="off")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(int(done.stdout.split()[0]), 40)

    def test_bad_input(self):
        for arguments, word in ((["--modes", "fd", "--only", "^normal,"], "'fd'"),
                                (["--only", "("], "'('"),
                                (["--only", "no such kind"], "no row fits 'no such kind'"),
                                (["--shapes", "d 3000"], "no shape: 'd 3000'; allowed: as 'd "),
                                (["--shapes", "d 64^3", "--kinds", "odd"], "no kind 'odd'; allow"),
                                (["--shapes", "d 64^3", "--random", "3"], "named or drawn"),
                                (["--kinds", "normal"], "--kinds goes with --shapes"),
                                (["--seconds", "0"], "a number above 0, not '0'"),
                                (["--library", "/no/such"], "no library at /no/such")):
            done = self.run_bench("--out", self.folder / "bad", *arguments)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(word, done.stderr)


if __name__ == "__main__":
    if TANDEM == "forms":
        check_forms()
    unittest.main(argv=sys.argv[:1])
