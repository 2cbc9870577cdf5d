"""A program that knows nothing of Tandem factors matrices by cuSOLVER: linked to it, or looking its
functions up; with and without Tandem preloaded, and attached while it runs.

usage: check_preload_factor.py LINKED_CLIENT PRELOAD_LIBRARY HOSTGPU_FOLDER LOOKING_CLIENT
    INNER_CLIENT INNER_LIBRARY

INNER_LIBRARY is a cuSOLVER that calls cuBLAS, and its own functions.
"""

import collections
import os
import sys
import tempfile
import unittest

from preloading import read_calls, results, run_solver, stand_ins

linked, preload, _, looking, inner, inner_library = sys.argv[1:]
WORST = 10.0  # times the unit roundoff; LAPACK's own tests fail at 30


def run(program, *arguments, **variables):
    return run_solver(*arguments, program=program, **variables)


class PreloadFactor(unittest.TestCase):
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
            is_factor = len(wanted) == 4
            if not is_factor:
                self.assertEqual(given[call], wanted, call)
                continue
            self.assertEqual(given[call][:2], wanted[:2], call)
            self.assertLess(float(given[call][2]), WORST, call)
            # LAPACK, which stands for cuSOLVER, has a measure of complex numbers of its own.
            if "Z" not in call:
                self.assertEqual(given[call][3:], wanted[3:], call)

    def check_emulated(self, calls, mode):
        native = collections.Counter()
        emulated = 0
        for call in calls:
            self.assertIn(call["function"],
                          ("cusolverDnDgetrf", "cusolverDnZgetrf", "cusolverDnXgetrf"))
            if call["mode"] == "native":
                native[call["native_reason"]] += call["count"]
            else:
                self.assertEqual(call["mode"], mode)
                emulated += call["count"]
        self.assertEqual(native, {"nothing to compute": 8, "invalid arguments": 7,
                                  "the call asks for another algorithm": 1})
        self.assertEqual(emulated, 65)

    def test_without(self):
        self.assertGreater(len(self.plain), 80)
        for call, result in self.plain.items():
            if len(result) == 4:
                self.assertLess(float(result[2]), WORST, call)

    def test_modes(self):
        for mode in ("fp64", "ozaki2", "faithful"):
            for client in (linked, looking):
                self.check_emulated(self.calls(client, TANDEM_MODE=mode), mode)

    def test_types_are_told(self):
        calls = self.calls(linked, TANDEM_MODE="fp64")
        for function, types in {"cusolverDnDgetrf": {"binary64"},
                                "cusolverDnZgetrf": {"complex binary64"},
                                "cusolverDnXgetrf": {"binary64", "complex binary64"}}.items():
            self.assertEqual({c["type"] for c in calls if c["function"] == function}, types)

    def test_attached(self):
        for client in (linked, looking):
            path = os.path.join(self.folder.name, "attached.json")
            process = run(client, preload, tandem=False, TANDEM_MODE="fp64", TANDEM_REPORT=path)
            self.assertEqual((process.returncode, process.stderr), (0, ""), process)
            self.check_emulated(read_calls(path), "fp64")

    def test_native(self):
        for calls in (self.calls(linked, TANDEM_MODE="native"), self.calls(linked)):
            self.assertEqual({call["mode"] for call in calls}, {"native"})
            self.assertEqual(sum(call["count"] for call in calls), 81)

    def test_family(self):
        self.assertEqual(self.calls(linked, TANDEM_MODE="fp64", TANDEM_ENTRY="gemm"), [])
        self.assertEqual(self.calls(looking, TANDEM_MODE="fp64", TANDEM_ENTRY="gemm,lu"), [])
        self.check_emulated(self.calls(linked, TANDEM_MODE="fp64", TANDEM_ENTRY="factor"), "fp64")

    def test_look_ups_are_left_alone(self):
        self.assertEqual(self.calls(looking, TANDEM_MODE="fp64", TANDEM_DLSYM="off"), [])

    def test_calls_within_cusolver(self):
        """Its products are a program's calls; its own functions are its own affair."""
        path = os.path.join(self.folder.name, "inner.json")
        preloads = ":".join([preload, os.path.abspath(inner_library), *stand_ins])
        for entry, solver in {"all": {("cusolverDnDgetrf", "N", "native"): 2}, "gemm": {}}.items():
            process = run(inner, TANDEM_MODE="df", TANDEM_ENTRY=entry, TANDEM_REPORT=path,
                          LD_PRELOAD=preloads)
            self.assertEqual((process.returncode, process.stdout, process.stderr),
                             (0, "right\n", ""), process)
            found = {(call["function"], call["op_a"], call["mode"]): call["count"]
                     for call in read_calls(path)}
            self.assertEqual(found, {("cublasDgemm_v2", "N", "df"): 2,
                                     ("cublasDgemm_v2", "T", "df"): 2, **solver}, entry)

    def test_auto(self):
        calls = self.calls(linked, TANDEM_MODE="auto")
        # The host device stands for a card whose time nobody knows.
        self.assertEqual({call["mode"] for call in calls}, {"native"})
        self.assertIn("nobody knows its time on this device",
                      {call["native_reason"] for call in calls})

    def test_verified(self):
        for mode in ("native", "fp64"):
            calls = self.calls(linked, TANDEM_MODE=mode, TANDEM_VERIFY="sample:20")
            verified = [call["verified"] for call in calls
                        if min(call["m"], call["n"]) > 0 and call["verified"]]
            self.assertGreater(len(verified), 50)
            for one in verified:
                self.assertEqual((one["outside"], one["worst_ulps"]), (0, None))
                self.assertLess(one["worst"], 2.0**-46)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
