"""A program that knows nothing of Tandem factors matrices by cuSOLVER: with and without Tandem
preloaded, and attached while it runs.

usage: check_preload_factor.py CLIENT PRELOAD_LIBRARY HOSTGPU_FOLDER [INNER_CLIENT INNER_LIBRARY]

The client is linked to cuSOLVER, and comes with a program that calls INNER_LIBRARY, a cuSOLVER that
calls cuBLAS and its own functions; or it looks functions up.
"""

import os
import sys
import unittest

import preloading
from preloading import preload, read_calls, run_solver, stand_ins

inner = sys.argv[4:]


class PreloadFactor(preloading.PreloadedSolver):
    functions = ("cusolverDnDgetrf", "cusolverDnZgetrf", "cusolverDnXgetrf")
    types, emulated = ("binary64", "complex binary64"), 67
    native = {"nothing to compute": 8, "invalid arguments": 8,
              "the call asks for another algorithm": 1}

    def compare(self, given):
        """LAPACK, which stands for cuSOLVER, has a measure of complex numbers of its own, and may
        have other pivots."""
        for call, wanted in self.wanted.items():
            if "Z" in call and len(wanted) > 3:
                given[call][3:] = wanted[3:]
        super().compare(given)

    def check_attached(self, calls):
        """Of parameters that were made before nobody knows what they ask for."""
        self.native, self.emulated = {**self.native, "algorithm unknown": 1}, self.emulated - 1
        super().check_attached(calls)

    def test_without(self):
        self.assertGreater(len(self.wanted), 80)
        self.check_errors()

    def test_types_are_told(self):
        calls = self.calls_of(TANDEM_MODE="fp64")
        for function, types in {"cusolverDnDgetrf": {"binary64"},
                                "cusolverDnZgetrf": {"complex binary64"},
                                "cusolverDnXgetrf": {"binary64", "complex binary64"}}.items():
            self.assertEqual({c["type"] for c in calls if c["function"] == function}, types)

    def test_native(self):
        super().test_native()
        calls = self.calls_of(TANDEM_MODE="auto")
        # The host device stands for a card whose time nobody knows.
        self.assertEqual({call["mode"] for call in calls}, {"native"})
        self.assertIn("nobody knows its time on this device",
                      {call["native_reason"] for call in calls})

    def test_family(self):
        super().test_family()
        self.assertEqual(self.calls_of(TANDEM_MODE="fp64", TANDEM_ENTRY="gemm,lu"), [])

    @unittest.skipIf(inner, "the client looks nothing up")
    def test_look_ups_are_left_alone(self):
        self.assertEqual(self.calls_of(TANDEM_MODE="fp64", TANDEM_DLSYM="off"), [])

    @unittest.skipUnless(inner, "with the other client")
    def test_calls_within_cusolver(self):
        """Its products are a program's calls; its own functions are its own affair."""
        path = self.path("inner")
        preloads = ":".join([preload, os.path.abspath(inner[1]), *stand_ins])
        for entry, solver in {"all": {("cusolverDnDgetrf", "N", "native"): 2}, "gemm": {}}.items():
            process = run_solver(program=inner[0], TANDEM_MODE="df", TANDEM_ENTRY=entry,
                                 TANDEM_REPORT=path, LD_PRELOAD=preloads)
            self.assertEqual((process.returncode, process.stdout, process.stderr),
                             (0, "right\n", ""), process)
            found = {(call["function"], call["op_a"], call["mode"]): call["count"]
                     for call in read_calls(path)}
            self.assertEqual(found, {("cublasDgemm_v2", "N", "df"): 2,
                                     ("cublasDgemm_v2", "T", "df"): 2, **solver}, entry)

    def test_verified(self):
        self.check_right_residuals(50, without=(0,))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
