"""A program that knows nothing of Tandem has cuSOLVER make Cholesky factors: linked to it, or
looking its functions up; with and without Tandem preloaded, and attached while it runs.

usage: check_preload_cholesky.py LINKED_CLIENT PRELOAD_LIBRARY HOSTGPU_FOLDER LOOKING_CLIENT
"""

import collections
import os
import sys
import tempfile
import unittest

from preloading import read_calls, results, run_solver

linked, preload, _, looking = sys.argv[1:]
WORST = 10.0  # times the unit roundoff; LAPACK's own tests fail at 30
FUNCTIONS = ("cusolverDnDpotrf", "cusolverDnZpotrf", "cusolverDnXpotrf")


def run(program, *arguments, **variables):
    return run_solver(*arguments, program=program, **variables)


class PreloadCholesky(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.plain = results(run(linked, tandem=False))

    def calls(self, client, *arguments, **variables):
        """The calls of the report of a run, whose results are as they have to be."""
        path = os.path.join(self.folder.name, "report.json")
        process = run(client, *arguments, TANDEM_REPORT=path, **variables)
        self.assertEqual((process.returncode, process.stderr), (0, ""), process)
        self.compare(results(process))
        return read_calls(path)

    def compare(self, given):
        self.assertEqual(given.keys(), self.plain.keys())
        for call, wanted in self.plain.items():
            if len(wanted) < 3:
                self.assertEqual(given[call], wanted, call)
                continue
            self.assertEqual(given[call][:2] + given[call][3:], wanted[:2], call)
            self.assertLess(float(given[call][2]), WORST, call)

    def check_emulated(self, calls, mode):
        """28 of 64 calls are of real matrices that have elements, as many of complex ones."""
        native = collections.Counter()
        emulated = 0
        for call in calls:
            self.assertIn(call["function"], FUNCTIONS)
            if call["mode"] == "native":
                native[call["native_reason"]] += call["count"]
            else:
                self.assertEqual((call["mode"], call["type"]), (mode, "binary64"))
                emulated += call["count"]
        self.assertEqual(native, {"nothing to compute": 8, "invalid arguments": 6,
                                  "no panels of such a matrix on this device": 28})
        self.assertEqual(emulated, 28)

    def test_without(self):
        self.assertEqual(len(self.plain), 64 + 7)
        failed = {call: int(result[1]) for call, result in self.plain.items()
                  if len(result) == 3 and result[1] != "0"}
        self.assertEqual(set(failed.values()), {3, 61})

    def test_modes(self):
        for mode in ("fp64", "ozaki2", "faithful"):
            for client in (linked, looking):
                self.check_emulated(self.calls(client, TANDEM_MODE=mode), mode)

    def test_attached(self):
        for client in (linked, looking):
            path = os.path.join(self.folder.name, "attached.json")
            process = run(client, preload, tandem=False, TANDEM_MODE="fp64", TANDEM_REPORT=path)
            self.assertEqual((process.returncode, process.stderr), (0, ""), process)
            self.check_emulated(read_calls(path), "fp64")

    def test_native(self):
        for calls in (self.calls(linked, TANDEM_MODE="native"), self.calls(linked)):
            self.assertEqual({call["mode"] for call in calls}, {"native"})
            self.assertEqual(sum(call["count"] for call in calls), 70)

    def test_family(self):
        self.assertEqual(self.calls(linked, TANDEM_MODE="fp64", TANDEM_ENTRY="gemm,lu"), [])
        self.check_emulated(self.calls(linked, TANDEM_MODE="fp64", TANDEM_ENTRY="factor"), "fp64")

    def test_auto(self):
        calls = self.calls(linked, TANDEM_MODE="auto")
        # The host device stands for a card whose time nobody knows.
        self.assertEqual({call["mode"] for call in calls}, {"native"})

    def test_verified(self):
        for mode in ("native", "fp64"):
            calls = self.calls(linked, TANDEM_MODE=mode, TANDEM_VERIFY="sample:20")
            verified = [call["verified"] for call in calls
                        if call["n"] not in (0, 3, 90) and call["verified"]]
            self.assertGreater(len(verified), 30)
            for one in verified:
                self.assertEqual((one["outside"], one["worst_ulps"]), (0, None))
                self.assertLess(one["worst"], 2.0**-46)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
