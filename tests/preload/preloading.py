"""What the tests share whose client knows nothing of Tandem: it runs with and without the library
preloaded.

Their arguments are CLIENT PRELOAD_LIBRARY [HOSTGPU_FOLDER]; without the folder there is a GPU, and
the real libraries.
"""

import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

client, preload = sys.argv[1:3]
hostgpu = sys.argv[3] if len(sys.argv) > 3 else None
libraries = ["libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13"] if hostgpu else []
stand_ins = [os.path.join(hostgpu, name) for name in libraries]


def rows_of(table):
    """Names and forms of the rows LEVEL3, XT and so on of the library's table of routines, which a
    GPU bundle has beside this file."""
    here = os.path.dirname(os.path.abspath(__file__))
    for folder in (here, os.path.join(here, "../../lib/routine")):
        path = os.path.join(folder, "routines.def")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                return re.findall(rf"^{table}\((\w+), (\w+),", file.read(), re.MULTILINE)
    raise FileNotFoundError("routines.def")


def run(*arguments, program=client, tandem=True, **variables):
    """The finished client, or another program, in an environment without variables of Tandem's
    but these."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TANDEM_", "HOSTGPU_"))}
    environment["LD_PRELOAD"] = ":".join([preload] * tandem + stand_ins)
    environment.update(variables)
    return subprocess.run([program, *arguments], env=environment, capture_output=True, text=True,
                          check=False)


def run_solver(*arguments, **variables):
    """A program that looks cuSOLVER up finds the stand-in."""
    return run(*arguments, LD_LIBRARY_PATH=hostgpu, **variables)


def results(process):
    """What such a program printed for each call."""
    return {line.split(":")[0]: line.split(":")[1].split()
            for line in process.stdout.splitlines()}


def read_calls(path):
    """The calls of a report, which is gone then; without calls there is none."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        calls = json.load(file)["calls"]
    os.remove(path)
    return calls


def said_by_client(process):
    """Lines on stdout, but for those in which cuBLAS itself names an argument that it refuses."""
    return [line for line in process.stdout.splitlines() if not line.startswith(" ** On entry to ")]


# cuBLAS 13.1 multiplies NaN by an alpha of 0 if that is in device memory, or if matrices are in
# arrays; the host device does not.
CUBLAS_MULTIPLIES_BY_0 = hostgpu is None


def said_by_tandem(process):
    """Lines on stderr, but for what verification says of such products of cuBLAS."""
    return [
        line for line in process.stderr.splitlines()
        if not (CUBLAS_MULTIPLIES_BY_0 and
                line.endswith(" of C is nan, and the product is not (said once)"))
    ]


class Preloaded(unittest.TestCase):
    """The client without Tandem, `plain`, and with it."""
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.plain = run(tandem=False)

    @classmethod
    def path(cls, name):
        """Of the report that is called so."""
        return os.path.join(cls.folder.name, name.replace(":", "-") + ".json")

    @classmethod
    def calls(cls, name):
        """The calls of that report."""
        with open(cls.path(name), encoding="utf-8") as file:
            return json.load(file)["calls"]

    def report(self, name, *arguments, **variables):
        """The client's process with these arguments and variables, and the calls of its report."""
        process = run(*arguments, TANDEM_REPORT=self.path(name), **variables)
        return process, self.calls(name)


class PreloadedSolver(Preloaded):
    """A client of cuSOLVER that prints status, info and a residual for each call. A test names the
    functions and types of its calls, how many a mode answers, and how many stay native, by
    reason; what is tested of every client is here."""

    functions, types, emulated, native = (), (), 0, {}
    modes = ("fp64", "ozaki2", "faithful")
    # Functions that are looked up lead to the same wrappers: one mode shows that, and what the
    # linked program has of families and verification holds.
    is_same = client.endswith("_dlopen") and "TEST_EVERYTHING" not in os.environ
    if is_same:
        modes = modes[:1]
    worst = 10.0  # times the unit roundoff; LAPACK's own tests fail at 30

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.wanted = results(run_solver(tandem=False))

    def calls_of(self, *arguments, name="report", **variables):
        """The calls of the report of a run, whose results are as they have to be."""
        path = self.path(name)
        process = run_solver(*arguments, TANDEM_REPORT=path, **variables)
        self.assertEqual((process.returncode, process.stderr), (0, ""), process)
        self.compare(results(process))
        return read_calls(path)

    def compare(self, given):
        self.assertEqual(given.keys(), self.wanted.keys())
        for call, wanted in self.wanted.items():
            if len(wanted) < 3:
                self.assertEqual(given[call], wanted, call)
                continue
            self.assertEqual(given[call][:2] + given[call][3:], wanted[:2] + wanted[3:], call)
            self.assertLess(float(given[call][2]), self.worst, call)

    def check_attached(self, calls):
        self.check_emulated(calls, "fp64")

    def check_emulated(self, calls, mode):
        native, emulated = collections.Counter(), 0
        for call in calls:
            self.assertIn(call["function"], self.functions)
            if call["mode"] == "native":
                native[call["native_reason"]] += call["count"]
            else:
                self.assertEqual(call["mode"], mode)
                self.assertIn(call["type"], self.types)
                emulated += call["count"]
        self.assertEqual((native, emulated), (self.native, self.emulated))

    @unittest.skipIf(is_same, "as in the program that is linked to cuSOLVER")
    def test_family(self):
        self.assertEqual(self.calls_of(TANDEM_MODE="fp64", TANDEM_ENTRY="gemm"), [])
        self.check_emulated(self.calls_of(TANDEM_MODE="fp64", TANDEM_ENTRY="factor"), "fp64")

    def test_without(self):
        self.assertGreater(len(self.wanted), 100)
        self.check_errors()

    def check_errors(self):
        for call, result in self.wanted.items():
            if len(result) > 2:
                self.assertLess(float(result[2]), self.worst, call)

    def test_modes(self):
        for mode in self.modes:
            self.check_emulated(self.calls_of(TANDEM_MODE=mode), mode)

    def test_attached(self):
        path = self.path("attached")
        process = run_solver(preload, tandem=False, TANDEM_MODE="fp64", TANDEM_REPORT=path)
        self.assertEqual((process.returncode, process.stderr), (0, ""), process)
        self.compare(results(process))
        self.check_attached(self.calls("attached"))

    def test_native(self):
        calls = self.calls_of(TANDEM_MODE="native")
        self.assertEqual({call["mode"] for call in calls}, {"native"})
        self.assertEqual(sum(call["count"] for call in calls),
                         self.emulated + sum(self.native.values()))

    @unittest.skipIf(is_same, "as in the program that is linked to cuSOLVER")
    def test_verified(self):
        """What A was is not there: nothing is measured, and nothing is wrong."""
        for call in self.calls_of(TANDEM_MODE="fp64", TANDEM_VERIFY="sample:20"):
            self.assertIsNone(call["verified"])

    def check_right_residuals(self, least, without):
        """More calls than so many have residuals, all of them small; without calls of such n."""
        for mode in ("native", "fp64"):
            calls = self.calls_of(TANDEM_MODE=mode, TANDEM_VERIFY="sample:20")
            verified = [call["verified"] for call in calls
                        if call["verified"] and call["n"] not in without]
            self.assertGreater(len(verified), least)
            for one in verified:
                self.assertEqual((one["outside"], one["worst_ulps"]), (0, None))
                self.assertLess(one["worst"], 2.0**-46)
