"""bench/accuracy and what is made of its CSV: usage: check_accuracy.py PROGRAM REPORT DRAWINGS"""

import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, REPORT, DRAWINGS = sys.argv[1:4]

# err of modes that round at the end of an almost exact sum, and of df, at these sizes; native's is
# OpenBLAS's. A reference less exact than a mode, or data other than a mode is given, would exceed
# them.
ERRORS = {"native": 2.0**-48, "df": 2.0**-43, "ts": 2.0**-52.9, "dd": 2.0**-52.9, "d+s": 2.0**-52.9}
DATA = 20
DISTRIBUTIONS = ("U(0;1)", "phi 0", "phi 0.5", "phi 1", "phi 2", "phi 4")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def measure(folder, *arguments):
    """The remarks and lines of a run, its standard output, and its CSV."""
    path = os.path.join(folder, "accuracy.csv")
    ran = run(PROGRAM, "--quick", "--csv", path, *arguments)
    if ran.returncode:
        raise AssertionError(ran.stderr)
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if line[0] != "#")), ran.stdout, path


def bound(line):
    """What err may be: modes that choose for themselves promise k 2^-53 and a rounding, fixed
    parameters nothing."""
    if ":" in line["mode"]:
        return 4.0
    return ERRORS.get(line["mode"], (int(line["k"]) + 1) * 2.0**-53)


class Bench(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.lines, cls.output, cls.csv = measure(cls.folder, "--times")
        cls.errors = [line for line in cls.lines if line["study"] == "errors"]
        cls.modes = {line["mode"] for line in cls.errors}

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def find(self, study, mode, data):
        return [line for line in self.lines
                if (line["study"], line["mode"], line["data"]) == (study, mode, data)]

    def test_everything_is_measured(self):
        self.assertLessEqual(set(ERRORS), self.modes)
        plain = [mode for mode in self.modes if ":" not in mode]
        data = {line["data"] for line in self.errors}
        self.assertEqual(len(data), DATA)
        depths = sorted({line["k"] for line in self.errors})
        for mode in self.modes:
            lines = [line for line in self.errors if line["mode"] == mode]
            self.assertEqual(len(lines),
                             DATA * len(depths) if mode in plain else len(DISTRIBUTIONS))
            self.assertEqual(len({(line["data"], line["k"]) for line in lines}), len(lines))
        numberless = {mode for mode in self.modes if not mode.partition(":")[2].isdigit()}
        self.assertEqual({line["mode"]
                          for line in self.lines if line["study"] == "times"}, numberless)

    def test_a_mode_with_a_parameter_has_all_of_them(self):
        for mode in self.modes:
            name, colon, parameter = mode.partition(":")
            if colon:
                self.assertIn(name, self.modes)
            if colon and parameter.isdigit() and int(parameter) > 2:
                self.assertIn(f"{name}:{int(parameter) - 1}", self.modes)

    def test_errors(self):
        for line in self.errors:
            err, rms = float(line["err"]), float(line["rms"])
            self.assertLessEqual(err, bound(line), line)
            self.assertLessEqual(rms, err * 1.001, line)
            self.assertGreaterEqual(float(line["relerr"]) * 1.001, err / (1.0 + err), line)
        for line in self.lines:
            if line["mode"] in ("dd", "d+s", "faithful", "faithful:fp64"):
                self.assertLessEqual(float(line["ulps"]), 0.5, line)
                self.assertGreater(float(line["ulps"]), 0.4, "compared with itself?")

    def test_the_data_are_what_they_are_called(self):
        def err(mode, data):
            return max(float(line["err"]) for line in self.find("errors", mode, data))

        # Powers of two by lines change no product; opposite ones along k do not either.
        for data in ("lines 64", "lines 240", "along k 64", "along k 240"):
            self.assertEqual(err("native", data), err("native", "phi 0.5"), data)
        # A sum of few products, and one of all.
        self.assertGreater(err("native", "columns of A 240"), err("native", "phi 0.5"))
        # df has no scaling along k: it gives such elements up, and those of wide circulants.
        self.assertTrue(all(int(line["repaired"]) == int(line["m"]) * int(line["n"])
                            for line in self.find("errors", "df", "along k 240")))
        self.assertTrue(all(int(line["repaired"]) > 0
                            for line in self.find("errors", "df", "circulant 256")))
        self.assertEqual({line["repaired"] for line in self.find("errors", "df", "phi 0.5")}, {"0"})
        # What is left of 2^-30: binary64 has no more than half of its digits.
        for line in self.find("errors", "native", "cancelling"):
            self.assertGreater(float(line["relerr"]), 2.0**-30)
        self.assertTrue(self.find("errors", "dd", "phi 0.5 with C"))

    def test_slices(self):
        for data in ("phi 1", "phi 1 72 bits"):
            for mode in ("ts", *(f"ozaki-sgemm:{slices}" for slices in range(9, 13))):
                line, = self.find("slices", f"{mode} typed", data)
                self.assertLess(float(line["err"]), 2.0**(-66 if mode == "ts" else -72), line)
                self.assertGreater(float(line["err"]), 2.0**-80, "compared with itself?")

    def test_no_times_on_the_host_device(self):
        for line in self.lines:
            self.assertEqual((line["runs"], line["ms"], line["TFLOP/s"], line["speedup"]),
                             ("0", "", "", ""))

    def test_workspace(self):
        for line in self.lines:
            self.assertEqual(
                int(line["workspace"]) > 0, line["mode"] not in ("native", "fp64"), line)

    def test_standard_output_has_the_same_numbers(self):
        table = [[cell.strip() for cell in line.strip("|\n ").split("|")][:6]
                 for line in self.output.splitlines() if line.startswith("|")]
        self.assertEqual(table[0], list(self.lines[0])[:6])
        self.assertEqual(table[2:], [list(line.values())[:6] for line in self.lines])

    def test_report(self):
        report = run(sys.executable, "-B", REPORT, self.csv)
        self.assertEqual((report.returncode, report.stderr), (0, ""))
        for mode in self.modes:
            self.assertIn(f"| {mode.partition(':')[2] or mode} |", report.stdout)
        for table in re.findall(r"(?:^\|.*\n)+", report.stdout, re.MULTILINE):
            self.assertEqual(len({row.count("|") for row in table.splitlines()}), 1, table)

    def test_the_page_of_the_documentation(self):
        page = shutil.copy(os.path.join(os.path.dirname(REPORT), "../docs/accuracy.md"),
                           self.folder)
        contents = []
        for _ in range(2):
            self.assertEqual(run(sys.executable, "-B", REPORT, self.csv, page).returncode, 0)
            with open(page, encoding="utf-8") as file:
                contents.append(file.read())
        self.assertEqual(contents[0], contents[1])
        self.assertEqual(contents[0].count("<!-- accuracy:"), contents[0].count("<!-- end -->"))
        self.assertIn("| cancelling | 2^-", contents[0])

    @unittest.skipUnless(shutil.which("gnuplot"), "no gnuplot")
    def test_drawings(self):
        drawn = run("gnuplot", "-c", DRAWINGS, self.csv)
        self.assertEqual((drawn.returncode, drawn.stderr), (0, ""))
        names = ["phi", "k", "spread"]
        if any(":" in mode for mode in self.modes):
            names.append("moduli")
        for name in names:
            with open(f"{self.csv[:-4]}-{name}.svg", encoding="utf-8") as file:
                curves = file.read()
            self.assertIn("</svg>", curves)
            self.assertGreaterEqual(curves.count("id=\"gnuplot_plot_"), 3)
            self.assertGreaterEqual(curves.count("<use "), 15, name)


class Report(unittest.TestCase):
    """Tables of measurements that are made up."""

    COLUMNS = ("study", "mode", "data", "m", "n", "k", "err", "rms", "relerr", "ulps", "repaired",
               "workspace", "runs", "ms", "TFLOP/s", "speedup")

    def write(self, path, lines):
        with open(path, "w", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self.COLUMNS)
            writer.writeheader()
            for line in lines:
                writer.writerow({
                    "study": "errors", "m": 8, "n": 8, "k": 64, "data": "phi 1", "rms": 2.0**-60,
                    "ulps": 1, "repaired": 0, "workspace": 0, **line
                })

    def tables(self, *lines):
        """Each a dictionary of some columns; the report."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "made.csv")
            self.write(path, lines)
            report = run(sys.executable, "-B", REPORT, path)
        self.assertEqual((report.returncode, report.stderr), (0, ""))
        return report.stdout

    def test_goals(self):
        text = self.tables({"mode": "native", "err": 2.0**-50}, {"mode": "ozaki2", "err": 2.0**-51},
                           {"mode": "native", "err": 2.0**-52, "k": 256},
                           {"mode": "ozaki2", "err": 2.0**-51, "k": 256},
                           {"mode": "faithful", "err": 2.0**-54}, {"mode": "df", "err": 2.0**-44},
                           {"study": "times", "mode": "ozaki2", "n": 4096, "TFLOP/s": 55.7, "ms": 1,
                            "speedup": 1.5, "err": 1e-16},
                           {"study": "times", "mode": "ozaki2", "n": 8192, "TFLOP/s": 67.8, "ms": 1,
                            "speedup": 1.5, "err": 1e-16})
        self.assertIn("| `ozaki2`: err over native's | <= 1 | 2.00 (phi 1) | no |", text)
        self.assertIn("| `faithful`: err over native's | <= 1 | 0.06 (phi 1) | yes |", text)
        self.assertIn("| `ozaki2`, N = 4096: TFLOP/s | >= 55.7 | 55.7 | yes |", text)
        self.assertIn("| `ozaki2`, N = 8192: TFLOP/s | >= 67.9 | 67.8 | no |", text)
        self.assertIn("| `ozaki2`, N = 16384: TFLOP/s | >= 80.7 | - | - |", text)
        self.assertIn("| phi 1 | 2.00 | 1.00 | no | 0.06 | 1.00 | yes |", text)
        self.assertIn("| phi 1 | 2^-50.0 | 2^-51.0 | 2^-54.0 | 2^-44.0 |", text)
        self.assertIn("| ozaki2 | 55.7 (1.5) | 67.8 (1.5) |", text)

    def test_repaired_and_parameters(self):
        text = self.tables({"mode": "native", "err": 2.0**-50},
                           {"mode": "ozaki2", "err": 2.0**-53, "repaired": 16},
                           {"mode": "ozaki2:2", "err": 2.0**-5},
                           {"mode": "ozaki2:14", "err": 2.0**-49})
        self.assertIn("| phi 1 | 0 | 25 % |", text)
        self.assertIn(
            "| 2 | 2^-5.0 |\n| 14 | 2^-49.0 |\n| by the data | 2^-53.0 |\n| native | 2^-50.0 |",
            text)

    def test_workspace_and_slices(self):
        text = self.tables(
            {"study": "times", "mode": "ozaki2", "workspace": 640, "err": 1e-16},
            {"study": "slices", "mode": "ozaki-sgemm:9", "n": 512, "relerr": 1.2e-16, "ms": 2.5})
        self.assertIn("| ozaki2 | 10.0 |", text)
        self.assertIn("| ozaki-sgemm:9 | phi 1 | 1.2e-16 |\n| paper, 9 slices | 72 bits | 1e-21 |",
                      text)
        self.assertIn("| ozaki-sgemm:9 | phi 1 | 2.5 |", text)

    @unittest.skipUnless(shutil.which("gnuplot"), "no gnuplot")
    def test_drawing_of_times(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "made.csv")
            lines = [{
                "study": study, "mode": mode, "n": n, "err": err, "ms": 1, "TFLOP/s": n / 100,
                "data": data, "k": n
            } for study, data in (("errors", "phi 0.5"), ("errors", "phi 4"), ("times", "phi 0.5"))
                     for mode, err in (("native", 1e-15), ("ozaki2", 1e-16)) for n in (1024, 2048)]
            self.write(path, lines)
            drawn = run("gnuplot", "-c", DRAWINGS, path)
            self.assertEqual((drawn.returncode, drawn.stderr), (0, ""))
            self.assertTrue(os.path.exists(f"{path[:-4]}-speed.svg"))


class Arguments(unittest.TestCase):
    def test_some_modes(self):
        with tempfile.TemporaryDirectory() as folder:
            lines, _, _ = measure(folder, "dd", "native")
            self.assertEqual({line["mode"] for line in lines}, {"native", "dd"})

    def test_bad_ones(self):
        for arguments in (["x"], ["df:1"], ["--csv"], ["--help"], ["--csv", "/nowhere/x"], ["-8"],
                          ["dd", "ozaki2:99"], ["m" * 100], [""]):
            ran = run(PROGRAM, *arguments)
            self.assertEqual((ran.returncode, ran.stdout), (2, ""), arguments)
            self.assertRegex(ran.stderr, "^accuracy: .*\n$", arguments)

    def test_report(self):
        for arguments in ([], ["--help"], ["a", "b", "c"]):
            ran = run(sys.executable, "-B", REPORT, *arguments)
            self.assertEqual((ran.returncode, ran.stdout), (2, ""))
            self.assertIn("usage: ", ran.stderr)
        self.assertEqual(run(sys.executable, "-B", REPORT, os.devnull).returncode, 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
