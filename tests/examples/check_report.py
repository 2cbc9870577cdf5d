"""Reports of programs under every mode are what docs/report.schema.json says. It and
docs/report-fields.md are what the launcher prints of its list of fields.

usage: check_report.py TANDEM GEMM_TIME DOCS
"""

import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import jsonschema

TANDEM, GEMM_TIME, DOCS = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
SCHEMA = json.loads((DOCS / "report.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)


def run(*arguments, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TANDEM_")}
    return subprocess.run([TANDEM, *arguments], env={**environment, **variables},
                          capture_output=True, text=True, check=True)


def tandem(*arguments):
    return run(*arguments).stdout


class Report(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.path = os.path.join(folder, "report.json")

    def report(self, mode, *program, **variables):
        run("run", "--hostgpu", "--mode", mode, "--report", self.path, "--", *program, **variables)
        with open(self.path, encoding="utf-8") as file:
            return json.load(file)

    def assert_valid(self, report):
        errors = [
            f"{list(error.absolute_path)}: {error.message}"
            for error in VALIDATOR.iter_errors(report)
        ]
        self.assertEqual(errors, [])

    def assert_explained(self, report):
        """What was chosen by prediction has its reason, and the figures that it is from."""
        self.assertTrue(all(device["figures"] for device in report["devices"]))
        for call in report["calls"]:
            self.assertIn(call["native_reason"],
                          [None, "predicted to gain too little",
                           "finding out that data are bad costs too much"])
            self.assertTrue(call["choice"] or call["native_reason"])
            self.assertGreater(call["predicted"]["native_seconds"], 0.0)
            self.assertGreater(call["predicted"]["seconds"], 0.0)

    def test_schema_is_one(self):
        jsonschema.Draft7Validator.check_schema(SCHEMA)

    def test_every_function_may_be_reported(self):
        functions = [line.split()[0] for line in tandem("doctor", "--entries").splitlines()
                     if line.split()[1:2] == ["intercepted"]]
        of_call = SCHEMA["properties"]["calls"]["items"]["properties"]
        self.assertIn("cusolverDnDgetrf", functions)
        for function in functions:
            with self.subTest(function):
                jsonschema.validate(function, of_call["function"])

    def test_every_mode(self):
        for mode in tandem("modes", "--names").split():
            with self.subTest(mode):
                report = self.report(mode, GEMM_TIME, "--reps", "1", "20", "3x5x70")
                self.assert_valid(report)
                if mode == "auto":
                    self.assert_explained(report)
                else:
                    self.assertEqual(report["totals"]["emulated"], 0 if mode == "native" else 4)

    def test_tiles_in_binary64_are_counted(self):
        """All 3 x 3 tiles of each product whose elements lie far apart, and none of one that is
        easy."""
        for spread, tiles in (("60", 2 * 9), ("0", 0)):
            report = self.report("ozaki2", GEMM_TIME, "--reps", "1", "--phi", spread, "130x140x40")
            (call,) = report["calls"]
            self.assert_valid(report)
            self.assertEqual(call["tiles"], tiles)
            self.assertEqual(call["repaired"] == 2 * 130 * 140, tiles > 0)

    def test_without_calls(self):
        """A program that is linked to cuBLAS, and ends before it calls it."""
        self.assert_valid(self.report("df", GEMM_TIME, "--help"))

    def test_programs_without_cublas_leave_no_file(self):
        run("run", "--hostgpu", "--report", self.path, "--", "/bin/true")
        self.assertFalse(os.path.exists(self.path))

    def test_children_without_calls_take_no_calls_away(self):
        """Neither those that know nothing of cuBLAS nor those that make no call, before, while or
        after it is called."""
        children = f"/bin/true; {GEMM_TIME} --help >/dev/null"
        script = f"{children}; {GEMM_TIME} --reps 1 20 >/dev/null; {children}"
        report = self.report("df", "/bin/sh", "-c", script)
        self.assert_valid(report)
        self.assertGreater(report["totals"]["emulated"], 0)

    def test_silence_is_explained(self):
        opens = "import ctypes; ctypes.CDLL('libcublas.so.13').cublasDgemm_v2"
        for program in (["/bin/true"], [sys.executable, "-c", opens]):
            said = run("run", "--hostgpu", "--report", "-", "--", *program).stderr
            self.assertIn(
                "made no call that Tandem intercepts: nothing that it loaded is linked to cuBLAS, "
                "and it called no product that it had looked up with dlsym\n", said)
            said = run("run", "--hostgpu", "--report", "-", "--", *program,
                       TANDEM_DLSYM="off").stderr
            self.assertIn("functions looked up with dlsym (as ctypes does) are not seen\n", said)

    def test_silence_of_families_left_out(self):
        said = run("run", "--hostgpu", "--report", "-", "--", GEMM_TIME, "--reps", "1", "20",
                   TANDEM_ENTRY="trsm,lu").stderr
        self.assertIn("made no call that Tandem intercepts: TANDEM_ENTRY is trsm,lu\n", said)

    def test_call_that_runs_native(self):
        report = self.report("df", GEMM_TIME, "--reps", "1", "300", HOSTGPU_MEMORY="3M")
        self.assert_valid(report)
        self.assertEqual(report["totals"]["emulated"], 0)

    def test_faults_are_found(self):
        """Each member is required, and none may hold what it cannot mean."""
        report = self.report("df", GEMM_TIME, "--reps", "1", "20")
        for where in (lambda r: r, lambda r: r["totals"], lambda r: r["calls"][0],
                      lambda r: r["devices"][0]):
            for name in where(report):
                broken = copy.deepcopy(report)
                del where(broken)[name]
                self.assertFalse(VALIDATOR.is_valid(broken), f"without {name}")
                broken = copy.deepcopy(report)
                where(broken)[name] = -2.5
                self.assertFalse(VALIDATOR.is_valid(broken), f"{name} is -2.5")

    def test_schema_and_page_are_current(self):
        for name, option in (("report.schema.json", "--schema"), ("report-fields.md", "--fields")):
            with self.subTest(name):
                page = (DOCS / name).read_text(encoding="utf-8")
                self.assertEqual(page, tandem("report", option),
                                 f"docs/{name} differs: write it anew with tandem report {option}")

    def test_schema_has_every_member(self):
        """Of a report of a verified call; the schema allows no others."""
        report = self.report("ozaki2", GEMM_TIME, "--reps", "1", "20", TANDEM_VERIFY="full",
                             TANDEM_STRATEGY="eager")
        self.assert_valid(report)
        self.assertEqual(set(SCHEMA["properties"]), set(report))
        of_call = SCHEMA["properties"]["calls"]["items"]["properties"]
        self.assertEqual(set(of_call) - {"side", "uplo", "diag", "job"}, set(report["calls"][0]))
        self.assertEqual(set(of_call["verified"]["properties"]),
                         set(report["calls"][0]["verified"]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
