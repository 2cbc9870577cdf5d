"""A program that knows nothing of Tandem multiplies groups of several sizes, some of which stay
native.

usage: check_preload_grouped.py CLIENT PRELOAD_LIBRARY HOSTGPU_FOLDER
"""

import json
import os
import sys
import tempfile
import unittest

from preloading import run

FORMS = {"cublasDgemmGroupedBatched", "cublasGemmGroupedBatchedEx"}
SIZES = {8: 1, 9: 2, 40: 1, 41: 3, 7: 0, 48: 1,
         12: 3}  # the rows of each group's C, and its members


class PreloadGrouped(unittest.TestCase):
    maxDiff = None

    def check(self, rules, mode_of):
        with tempfile.TemporaryDirectory() as folder:
            report, path = os.path.join(folder, "report.json"), os.path.join(folder, "rules")
            with open(path, "w", encoding="utf-8") as file:
                file.write(rules)
            process = run(TANDEM_MODE="fp64", TANDEM_RULES=path, TANDEM_REPORT=report)
            with open(report, encoding="utf-8") as file:
                calls = json.load(file)["calls"]
        self.assertEqual((process.returncode, process.stderr), (0, ""))
        self.assertEqual(process.stdout, self.plain.stdout)
        for function in FORMS:
            found = {call["m"]: (call["batch"], call["mode"], call["count"]) for call in calls
                     if call["function"] == function and call["m"] >= 0}
            self.assertEqual(found, {m: (members, mode_of(m), 1) for m, members in SIZES.items()})
            refused = [
                call["native_reason"] for call in calls
                if call["function"] == function and call["m"] < 0
            ]
            self.assertEqual(refused, ["invalid arguments"])

    @classmethod
    def setUpClass(cls):
        cls.plain = run(tandem=False)

    def test_cublas_alone(self):
        lines = self.plain.stdout.splitlines()
        self.assertEqual((self.plain.returncode, self.plain.stderr, len(lines)), (0, "", 2 * 12))
        self.assertEqual({line.split(": ")[1] for line in lines}, {"same", "status 7, 0 changed"})

    def test_each_group_is_a_product(self):
        self.check("", lambda m: "native" if m == 7 else "fp64")

    def test_some_groups_stay_native(self):
        self.check("m=..20 -> native\n", lambda m: "native" if m <= 20 else "fp64")
        self.check("m=41 -> native\nm=..8 -> native\n", lambda m: "native"
                   if m in (41, 7, 8) else "fp64")

    def test_all_groups_stay_native(self):
        self.check("m=..64 -> native\n", lambda m: "native")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
