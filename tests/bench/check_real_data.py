"""bench/real_data on the host device: usage: check_real_data.py TANDEM BENCH

The packages that it can do without, CuPy and pyscf, are missing here: modules that cannot be
imported stand in their place."""

import csv
import html
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TANDEM, BENCH = sys.argv[1], pathlib.Path(sys.argv[2])
SIZE, MODES = 64, ["native", "auto", "ozaki2"]
COLUMNS = "size kind m n k mode ms native_ms ratio ran moduli repaired error native_error".split()
CHEMISTRY = ("density fitting", "overlap", "Fock", "MP2", "exchange")

try:
    import numpy
except ImportError:
    print("skipped: there is no NumPy")
    sys.exit(77)


class RealData(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        for name in ("cupy", "pyscf"):
            (cls.folder / f"{name}.py").write_text(f"raise ImportError('no {name} here')\n")
        cls.out = cls.folder / "out"
        cls.done = cls.run_bench(cls, "--tandem", TANDEM, "--modes", ",".join(MODES),
                                 "--out", cls.out, SIZE)
        with open(cls.out / "real_data.csv", encoding="utf-8") as file:
            cls.columns = file.readline().strip().split(",")
            cls.rows = list(csv.DictReader(file, cls.columns))

    def run_bench(self, *arguments, before=(), **variables):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("TANDEM_", "LD_PRELOAD"))}
        command = [*before, sys.executable, BENCH / "real_data.py", "run", "--hostgpu", *arguments]
        return subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              env={**environment, "PYTHONPATH": str(self.folder), **variables},
                              check=False)

    def test_every_kind_in_every_mode(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        self.assertEqual(self.columns, COLUMNS)
        sys.path[:0] = [str(self.folder), str(BENCH)]
        from real_kinds import KINDS
        there = [title for title in KINDS if not title.startswith(CHEMISTRY)]
        self.assertGreater(len(there), 35)
        self.assertEqual([(row["mode"], row["kind"]) for row in self.rows],
                         [(mode, title) for mode in MODES for title in there])
        left_out = [line for line in self.done.stderr.splitlines() if "left out" in line]
        self.assertEqual(left_out, [f"real_data: {title}, n = {SIZE}: left out: no pyscf here"
                                    for title in KINDS if title not in there] * len(MODES))

    def test_moduli_are_those_of_the_definition(self):
        path = self.folder / "moduli.csv"
        subprocess.run([sys.executable, BENCH / "moduli.py", "--today", "--out", path, str(SIZE)],
                       env={**os.environ, "PYTHONPATH": str(self.folder)}, check=True,
                       capture_output=True)
        with open(path, encoding="utf-8") as file:
            said = {row["kind"]: ("-" if row["moduli"] == "0" else row["moduli"], row["left"])
                    for row in csv.DictReader(file)}
        ran = {row["kind"]: (row["moduli"], row["repaired"])
               for row in self.rows if row["mode"] == "ozaki2"}
        self.assertEqual(said, ran)

    def test_report_is_joined(self):
        shapes = {(row["mode"], row["m"], row["n"], row["k"]) for row in self.rows}
        self.assertEqual(len(shapes), len(self.rows))
        for row in self.rows:
            with self.subTest(row):
                auto = row["mode"] == "auto"
                self.assertIn(row["ran"], {"native", "ozaki2"} if auto else {row["mode"]})
                if row["ran"] == "native":
                    self.assertEqual((row["moduli"], row["repaired"]), ("-", "-"))
                elif row["moduli"] == "-":
                    self.assertEqual(int(row["repaired"]), int(row["m"]) * int(row["n"]))
                else:
                    self.assertTrue(2 <= int(row["moduli"]) <= 20)
                    self.assertLess(int(row["repaired"]), int(row["m"]) * int(row["n"]))
        moduli = {row["kind"]: row["moduli"] for row in self.rows if row["mode"] == "ozaki2"}
        self.assertEqual(moduli["whole numbers below 1000"], "4")
        self.assertEqual(moduli["scattered over 2^+-300"], "-")

    def test_errors(self):
        """Those of docs/numerics.md for ozaki2, and of any sum in binary64 for native."""
        for row in self.rows:
            with self.subTest(row):
                k, unit = int(row["k"]), 2.0**-53
                self.assertLessEqual(float(row["native_error"]), k * unit)
                most = k if row["ran"] == "native" else 4 * k**0.5 + 1
                self.assertLessEqual(float(row["error"]), most * unit)

    def test_wrong_elements(self):
        sys.path.insert(0, str(BENCH))
        from real_data import largest_error
        ones, zeros = numpy.ones((4, 4)), numpy.zeros((4, 4))
        for a, c, error in ((ones, 4 * ones, 0.0), (ones, 5 * ones, 0.25), (zeros, zeros, 0.0),
                            (zeros, ones, math.inf)):
            self.assertEqual(largest_error(numpy, a, ones, c), error)
        self.assertTrue(math.isnan(largest_error(numpy, ones, ones, math.nan * ones)))

    def test_table(self):
        lines = self.done.stdout.splitlines()
        self.assertEqual(lines[1], f"n = {SIZE}")
        self.assertEqual(lines[2].split(), MODES)
        first = [row for row in self.rows if row["kind"] == self.rows[0]["kind"]]
        words = lines[4].removeprefix(first[0]["kind"]).split()
        self.assertEqual(words[:3], [first[0][name] for name in "mnk"])
        self.assertEqual(words[4:], [word for row in first for word in (
            f"{float(row['ratio']):.3f}", row["ran"], row["moduli"], row["repaired"])])
        for mode, line in zip(MODES, lines[-len(MODES):], strict=True):
            ratios = [float(row["ratio"]) for row in self.rows if row["mode"] == mode]
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            self.assertTrue(line.startswith(f"{mode}: geometric mean {mean:.3f} of native's time, "
                                            f"most {max(ratios):.3f} ("), line)
        for row in self.rows:
            ms, native, ratio = (float(row[name]) for name in ("ms", "native_ms", "ratio"))
            # Rounded to five, five and four digits.
            self.assertAlmostEqual(ms / native, ratio,
                                   delta=0.51e-4 + 0.51e-5 * (1.0 + ms / native) / native)

    @unittest.skipUnless(shutil.which("gnuplot"), "no gnuplot")
    def test_drawing(self):
        drawing = (self.out / "real_data.svg").read_text(encoding="utf-8")
        self.assertIn(f"n = {SIZE}", drawing)
        self.assertIn("time of auto / time of native", drawing)
        self.assertTrue(all(html.escape(row["kind"], quote=False) in drawing for row in self.rows))

    def test_preloaded_library(self):
        """Without --tandem, where LD_PRELOAD names the library."""
        out = self.folder / "preloaded"
        done = self.run_bench("--modes", "ozaki2", "--out", out, SIZE,
                              before=[TANDEM, "run", "--hostgpu", "--"])
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(out / "real_data.csv", encoding="utf-8") as file:
            self.assertEqual({row["ran"] for row in csv.DictReader(file)}, {"ozaki2"})

    def test_too_little_memory(self):
        """1 MiB holds no three matrices of 225 x 225, but two of 225 x 112 and one of them."""
        out = self.folder / "little"
        done = self.run_bench("--tandem", TANDEM, "--modes", "native", "--out", out, 225,
                              HOSTGPU_MEMORY="1M")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(out / "real_data.csv", encoding="utf-8") as file:
            self.assertEqual([row["kind"] for row in csv.DictReader(file)],
                             ["Householder panel V' C", "Householder panel V W"])
        self.assertRegex(done.stderr, r"random x random, n = 225: left out: "
                                      r"no \d+ bytes of device memory\n")

    def test_bad_input(self):
        for arguments, word in ((["--modes", "fd", SIZE], "'fd'"),
                                (["63"], "from 64 on, not '63'"), (["x"], "not 'x'"),
                                (["--tandem", "/no/such"], "no launcher tandem at /no/such")):
            launcher = [] if "--tandem" in arguments else ["--tandem", TANDEM]
            done = self.run_bench("--out", self.folder / "bad", *launcher, *arguments)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(word, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
