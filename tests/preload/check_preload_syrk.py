"""A program that knows nothing of Tandem calls cublasDsyrk, with and without it preloaded.

usage: check_preload_syrk.py CLIENT PRELOAD_LIBRARY [HOSTGPU_FOLDER]
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

client, preload = sys.argv[1:3]
hostgpu = sys.argv[3] if len(sys.argv) > 3 else None  # None: a GPU, and the real libraries
stand_ins = ["libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13"] if hostgpu else []
stand_ins = [os.path.join(hostgpu, name) for name in stand_ins]

FORMS = {"cublasDsyrk_v2", "cublasDsyrk_v2_64", "cublasDsyrk"}

# What errors relative to abs(A)abs(A)' may be for the client's 70 terms.
MODES = {
    "native": 2**-45, "df": 2**-42, "ts": 2**-52, "dd": 2**-52, "d+s": 2**-52, "ozaki1": 2**-48,
    "ozaki-sgemm": 2**-48, "ozaki2": 2**-48, "ozaki2:16": 2**-45, "faithful": 2**-52,
    "faithful:fp64": 2**-52, "fp64": 2**-48, "auto": 2**-45,
}


def run(tandem=True, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TANDEM_", "HOSTGPU_"))}
    environment["LD_PRELOAD"] = ":".join([preload] * tandem + stand_ins)
    environment.update(variables)
    return subprocess.run([client], env=environment, capture_output=True, text=True, timeout=300,
                          check=False)


def lines(process):
    """Status, error and touched elements by call."""
    found = {}
    for line in process.stdout.splitlines():
        call, _, result = line.partition(" : ")
        status, error, touched = result.split()
        found[call] = (int(status), float(error), int(touched))
    return found


class PreloadSyrk(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.plain = run(tandem=False)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def report(self, name, **variables):
        """The client's process under these variables, and the calls of its report."""
        path = os.path.join(self.folder.name, name + ".json")
        process = run(TANDEM_REPORT=path, **variables)
        with open(path, encoding="utf-8") as file:
            return process, json.load(file)["calls"]

    def check_results(self, name, process):
        wanted = lines(self.plain)
        self.assertEqual((self.plain.returncode, process.returncode), (0, 0), name + process.stderr)
        self.assertEqual(len(wanted), 4 * 30)
        given = lines(process)
        self.assertEqual(given.keys(), wanted.keys())
        for call, (status, error, touched) in given.items():
            self.assertEqual(status, wanted[call][0], f"{name} {call}")
            self.assertEqual(touched, 0, f"{name} {call}")
            self.assertLessEqual(error, MODES[name], f"{name} {call}")

    def test_native(self):
        statuses = [status for status, _, _ in lines(self.plain).values()]
        self.assertEqual(sum(status != 0 for status in statuses), 4 * 6)

    def test_modes(self):
        for name in MODES:
            process, calls = self.report(name.replace(":", "-"), TANDEM_MODE=name)
            self.check_results(name, process)
            self.assertEqual({call["function"] for call in calls}, FORMS)
            self.assertEqual({call["uplo"] for call in calls}, {"L", "U"})
            if name in ("native", "auto"):
                continue
            for call in calls:
                reasons = {None, "invalid arguments", "nothing to compute"}
                self.assertIn(call["native_reason"], reasons, f"{name} {call}")
            for function in FORMS:
                emulated = [call for call in calls if (call["function"], call["mode"]) == (function, name)]
                self.assertEqual({(call["uplo"], call["op_a"]) for call in emulated},
                                 {(uplo, op) for uplo in "LU" for op in "NTC"}, name)

    def test_table(self):
        lines_ = run(TANDEM_MODE="df", TANDEM_REPORT="-").stderr.splitlines()
        rows = {tuple(line.split()[1:3]) for line in lines_ if " df " in line}
        self.assertTrue({("Dsyrk_v2", "LN"), ("Dsyrk_v2", "UT"), ("Dsyrk", "UC")} <= rows, rows)

    def test_switched_off(self):
        process, calls = self.report("off", TANDEM_MODE="df", TANDEM_ENTRY="gemm")
        self.assertEqual(calls, [])
        self.assertEqual(lines(process), lines(self.plain))

    def test_auto_emulates_what_is_large(self):
        process, calls = self.report("eager", TANDEM_MODE="auto", TANDEM_STRATEGY="eager")
        self.assertEqual(process.returncode, 0)
        self.assertTrue(any(call["mode"] != "native" for call in calls), calls)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
