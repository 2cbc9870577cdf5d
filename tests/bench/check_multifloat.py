"""bench/multifloat and what is made of its CSV: usage: check_multifloat.py PROGRAM REPORT
DRAWINGS"""

import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, REPORT, DRAWINGS = sys.argv[1:4]

# Errors at these sizes, ours and the papers', half a bit to two bits above what is seen. A
# reference that were less exact than the types would exceed them. Drop-in products also round C to
# binary64.
ERRORS = {"double": 2.0**-50, "df": 2.0**-45, "ts": 2.0**-68, "dd": 2.0**-103, "d+s": 2.0**-75}
SIZES = ("32", "80")
PRODUCTS = 13  # native; four types typed, drop-in, and with the papers' operations
DATA = 3


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Bench(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.csv = os.path.join(cls.folder, "multifloat.csv")
        cls.ran = run(PROGRAM, "--csv", cls.csv, *SIZES)
        if cls.ran.returncode:
            raise AssertionError(cls.ran.stderr)
        with open(cls.csv, encoding="utf-8") as file:
            cls.lines = list(csv.DictReader(line for line in file if line[0] != "#"))
        cls.squares = [line for line in cls.lines if line["err"]]

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def test_everything_is_measured(self):
        self.assertEqual(len(self.squares), len(SIZES) * PRODUCTS * DATA)
        self.assertEqual(len({tuple(line[key] for key in ("type", "product", "n", "data"))
                              for line in self.squares}), len(self.squares))
        timed = [line for line in self.squares if float(line["runs"]) > 0]
        self.assertEqual(len(timed), len(SIZES) * PRODUCTS)
        shapes = [line for line in self.lines if not line["err"]]
        self.assertEqual({line["type"] for line in shapes}, {"dd", "d+s"})
        for line in timed + shapes:
            self.assertGreater(float(line["ms"]), 0.0, line)

    def test_rates(self):
        for line in self.lines:
            if line["ms"]:
                operations = 2.0 * int(line["m"]) * int(line["n"]) * int(line["k"])
                rate = operations / float(line["ms"]) * 1e-9
                self.assertAlmostEqual(float(line["TFLOP/s"]) / rate, 1.0, delta=0.01)

    def test_errors(self):
        for line in self.squares:
            bound = ERRORS[line["type"]]
            if line["product"] == "drop-in":
                bound += 2.0**-53
            self.assertLessEqual(float(line["err"]), bound, line)
            self.assertGreaterEqual(float(line["relerr"]), 0.999 * float(line["err"]), line)
            self.assertGreater(float(line["err"]), bound * 2.0**-10, "compared with itself?")

    def test_standard_output_has_the_same_numbers(self):
        table = [[cell.strip() for cell in line.strip("|\n ").split("|")]
                 for line in self.ran.stdout.splitlines() if line.startswith("|")]
        self.assertEqual(table[0], list(self.lines[0]))
        self.assertEqual(len(table) - 2, len(self.lines))

    def test_report(self):
        report = run(sys.executable, "-B", REPORT, self.csv)
        self.assertEqual((report.returncode, report.stderr), (0, ""))
        for line in self.squares:
            if line["ms"]:
                self.assertIn(f" {float(line['ms']):.4g} |", report.stdout)
        for table in re.findall(r"(?:^\|.*\n)+", report.stdout, re.MULTILINE):
            self.assertEqual(len({row.count("|") for row in table.splitlines()}), 1, table)

    def test_report_fills_a_page(self):
        page = os.path.join(self.folder, "page.md")
        text = "Before.\n<!-- multifloat: times -->\n{}<!-- end -->\nAfter.\n"
        contents = []
        for old in ("", "old\n"):
            with open(page, "w", encoding="utf-8") as file:
                file.write(text.format(old))
            self.assertEqual(run(sys.executable, "-B", REPORT, self.csv, page).returncode, 0)
            with open(page, encoding="utf-8") as file:
                contents.append(file.read())
        self.assertEqual(contents[0], contents[1])
        self.assertRegex(contents[0], r"(?s)^Before\..*times -->\n\n\| N = \|.*<!-- end -->\nAfter")

    def test_the_page_of_the_documentation(self):
        page = shutil.copy(os.path.join(os.path.dirname(REPORT), "../docs/multifloat.md"),
                           self.folder)
        self.assertEqual(run(sys.executable, "-B", REPORT, self.csv, page).returncode, 0)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(text.count("<!-- multifloat:"), text.count("<!-- end -->"))
        self.assertIn(" 80 |", text)

    @unittest.skipUnless(shutil.which("gnuplot"), "no gnuplot")
    def test_drawings(self):
        drawn = run("gnuplot", "-c", DRAWINGS, self.csv)
        self.assertEqual((drawn.returncode, drawn.stderr), (0, ""))
        for name in ("time", "speed", "roofline", "df", "error"):
            with open(f"{self.csv[:-4]}-{name}.svg", encoding="utf-8") as file:
                curves = file.read()
            self.assertIn("</svg>", curves)
            self.assertGreaterEqual(len(re.findall(r"<path stroke='rgb\(.*?d='M.*?L", curves)), 3)


class Report(unittest.TestCase):
    """Tables of measurements that are made up."""

    def tables(self, *lines):
        """Each a dictionary of some columns; the report."""
        columns = ("type", "product", "m", "n", "k", "beta", "data", "ms", "TFLOP/s",
                   "instructions", "of_roofline", "of_reference", "err", "relerr")
        with tempfile.NamedTemporaryFile("w", suffix=".csv", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            for line in lines:
                writer.writerow({"beta": 0, "data": "U(0;1)", **line})
            file.flush()
            report = run(sys.executable, "-B", REPORT, file.name)
        self.assertEqual((report.returncode, report.stderr), (0, ""))
        return report.stdout

    def square(self, kind, product, n, ms, **more):
        return {"type": kind, "product": product, "m": n, "n": n, "k": n, "ms": ms, **more}

    def test_goals(self):
        text = self.tables(self.square("ts", "typed", 1024, 1.0, of_reference=0.8499),
                           self.square("ts", "paper", 1024, 1.0, of_reference=0.99),
                           self.square("dd", "typed", 4096, 2.0, of_reference=0.86),
                           self.square("dd", "drop-in", 4096, 2.2, of_reference=0.5))
        self.assertIn("TS, typed, N = 1024: share of ceiling / 43.4 | >= 85.0 % | 85.0 % | no |",
                      text)
        self.assertIn("DD, typed, N = 4096: share of ceiling / 10.44 | >= 86.0 % | 86.0 % | yes |",
                      text)
        self.assertIn("DD: time of drop-in over typed, N >= 2048 | <= 1.05 | 1.100 | no |", text)
        self.assertIn("TS: time of drop-in over typed, N >= 2048 | <= 1.05 | - | - |", text)

    def test_ratios(self):
        text = self.tables(
            self.square("double", "native", 64, 1.0, instructions=1),
            self.square("df", "typed", 64, 0.5, instructions=10),
            self.square("ts", "typed", 32, 1.0, instructions=40),
            self.square("dd", "typed", 32, 3.0, instructions=10),
            self.square("dd", "typed", 64, 9.0, instructions=10),
            self.square("ts", "paper", 32, 4.0, instructions=100))
        self.assertIn("| TS over DD | up to 5.9 | up to 9.5 | - | 3.00 | - | 0.50 | - | 8.00 |",
                      text)
        self.assertIn("| DF over binary64 | up to 2.1 | up to 1.4 | - | 2.00 | - | 0.20 |", text)

    def test_shapes(self):
        shape = {"product": "typed", "m": 9, "n": 9, "k": 1}
        text = self.tables(self.square("dd", "typed", 32, 1.0), {"type": "dd", "ms": 3.0, **shape},
                           {"type": "d+s", "ms": 2.0, **shape})
        self.assertIn("| 9 x 9 x 1 | 0 | 3 | 2 | 1.50 |", text)


class Arguments(unittest.TestCase):
    def test_bad_ones(self):
        for arguments in (["0"], ["32769"], ["-8"], ["x"], ["--csv"], ["--help"],
                          ["--csv", "/nowhere/x"], ["8"] * 65):
            ran = run(PROGRAM, *arguments)
            self.assertEqual((ran.returncode, ran.stdout), (2, ""), arguments)
            self.assertRegex(ran.stderr, "^multifloat: ", arguments)

    def test_report(self):
        for arguments in ([], ["--help"], ["a", "b", "c"]):
            ran = run(sys.executable, "-B", REPORT, *arguments)
            self.assertEqual((ran.returncode, ran.stdout), (2, ""))
            self.assertIn("usage: ", ran.stderr)
        self.assertEqual(run(sys.executable, "-B", REPORT, os.devnull).returncode, 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
