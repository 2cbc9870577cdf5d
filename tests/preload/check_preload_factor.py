"""A program that knows nothing of Tandem factors matrices by cuSOLVER: linked to it, or looking its
functions up; with and without Tandem preloaded, and attached while it runs.

usage: check_preload_factor.py LINKED_CLIENT PRELOAD_LIBRARY HOSTGPU_FOLDER LOOKING_CLIENT
    INNER_CLIENT INNER_LIBRARY

INNER_LIBRARY is a cuSOLVER that calls cuBLAS, and its own functions.
"""

import os
import sys
import unittest

from preloading import preload, read_calls, stand_ins
import solver_calls
from solver_calls import looking, run_solver

inner, inner_library = sys.argv[5:]


class PreloadFactor(solver_calls.SolverCalls):
    functions = ("cusolverDnDgetrf", "cusolverDnZgetrf", "cusolverDnXgetrf")
    natives = {"nothing to compute": 8, "invalid arguments": 7,
               "the call asks for another algorithm": 1}
    emulated = 65

    def rest(self, call, wanted, given):
        """LAPACK, which stands for cuSOLVER, has a measure of complex numbers of its own."""
        return given if "Z" in call else wanted

    def test_types_are_told(self):
        calls = self.calls_of(TANDEM_MODE="fp64")
        for function, types in {"cusolverDnDgetrf": {"binary64"},
                                "cusolverDnZgetrf": {"complex binary64"},
                                "cusolverDnXgetrf": {"binary64", "complex binary64"}}.items():
            self.assertEqual({c["type"] for c in calls if c["function"] == function}, types)

    def test_look_ups_are_left_alone(self):
        self.assertEqual(self.calls_of(looking, TANDEM_MODE="fp64", TANDEM_DLSYM="off"), [])

    def test_calls_within_cusolver(self):
        """Its products are a program's calls; its own functions are its own affair."""
        path = self.path("inner")
        preloads = ":".join([preload, os.path.abspath(inner_library), *stand_ins])
        for entry, solver in {"all": {("cusolverDnDgetrf", "N", "native"): 2}, "gemm": {}}.items():
            process = run_solver(program=inner, TANDEM_MODE="df", TANDEM_ENTRY=entry,
                                 TANDEM_REPORT=path, LD_PRELOAD=preloads)
            self.assertEqual((process.returncode, process.stdout, process.stderr),
                             (0, "right\n", ""), process)
            found = {(call["function"], call["op_a"], call["mode"]): call["count"]
                     for call in read_calls(path)}
            self.assertEqual(found, {("cublasDgemm_v2", "N", "df"): 2,
                                     ("cublasDgemm_v2", "T", "df"): 2, **solver}, entry)

    def test_auto(self):
        self.assertIn("nobody knows its time on this device",
                      {call["native_reason"] for call in self.calls_of(TANDEM_MODE="auto")})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
