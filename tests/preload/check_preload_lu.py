"""A program that knows nothing of Tandem calls cuBLAS's batched LU routines, with and without it
preloaded.

usage: check_preload_lu.py CLIENT PRELOAD_LIBRARY [HOSTGPU_FOLDER]
"""

import sys
import unittest

from preloading import Preloaded, hostgpu, run


WORST = 30.0  # where LAPACK's own tests fail


def lines(process):
    """Status, info and residual by routine, type and order."""
    found = {}
    for line in process.stdout.splitlines():
        words = line.split()
        if len(words) == 6 and words[1] in "SDCZ":
            found[tuple(words[:3])] = (words[3], words[4], float(words[5]))
    return found


class PreloadLu(Preloaded):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.runs = {}
        for name, variables in {
            "native": {"TANDEM_MODE": "native"},
            "df": {"TANDEM_MODE": "df"},
            "without": {"TANDEM_MODE": "df", "TANDEM_ENTRY": "gemm"},
        }.items():
            cls.runs[name] = run(TANDEM_REPORT=cls.path(name), **variables)

    def test_results(self):
        wanted = lines(self.plain)
        self.assertEqual(self.plain.returncode, 0, self.plain.stderr)
        self.assertGreater(len(wanted), 80)
        for name, process in self.runs.items():
            self.assertEqual(process.returncode, 0, name + process.stderr)
            given = lines(process)
            self.assertEqual(given.keys(), wanted.keys())
            for call, (status, info, residual) in given.items():
                if hostgpu and call[0] == "pivots" and call[1] in "CZ":
                    continue  # the stand-in is LAPACK, whose measure of complex numbers is another
                self.assertEqual((status, info), wanted[call][:2], call)
                self.assertLessEqual(residual, WORST, call)

    def test_report(self):
        by_mode = {}
        for call in self.calls("df"):
            by_mode.setdefault((call["mode"], call["native_reason"]), set()).add(
                (call["function"], call["n"]))
        ours = set().union(*(calls for (mode, _), calls in by_mode.items() if mode == "lu"))
        for type_ in "SDCZ":
            for order in (64, 100, 280):
                self.assertIn((f"cublas{type_}getrfBatched", order), ours)
            self.assertNotIn((f"cublas{type_}getriBatched", 280), ours)
        reasons = {reason for mode, reason in by_mode if mode == "native"}
        self.assertIn("order beyond the kernels'", reasons)
        self.assertIn("cuBLAS is faster", reasons)
        empty = [call for call in self.calls("df") if 0 in (call["n"], call["batch"]) or
                 (call["function"] == "cublasDtrsmBatched" and call["m"] == 0)]
        self.assertEqual([call["native_reason"] for call in empty], ["nothing to compute"] * 3)

    def test_switched_off(self):
        self.assertEqual([call for call in self.calls("native") if call["mode"] != "native"], [])
        self.assertEqual(self.calls("without"), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
