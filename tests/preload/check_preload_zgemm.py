"""A program that knows nothing of Tandem multiplies complex matrices in all forms, with and without
it preloaded.

usage: check_preload_zgemm.py CLIENT PRELOAD_LIBRARY [HOSTGPU_FOLDER]
"""

import os
import re
import sys
import unittest

from preloading import CUBLAS_MULTIPLIES_BY_0, Preloaded, run, said_by_client, said_by_tandem


FORMS = {"cublasZgemm_v2", "cublasZgemm3m", "cublasZgemmStridedBatched", "cublasZgemmBatched",
         "cublasGemmEx", "cublasGemmStridedBatchedEx", "cublasGemmBatchedEx"}
FORMS |= {name + "_64" for name in FORMS} | {"cublasZgemm"}
OPERATIONS = {a + b for a in "NTC" for b in "NTC"}

# What errors relative to the sum of the real products' magnitudes may be for the client's 114 real
# terms.
MODES = {
    "native": 2**-45, "df": 2**-42, "ts": 2**-51, "dd": 2**-51, "d+s": 2**-51, "ozaki1": 2**-48,
    "ozaki-sgemm": 2**-48, "ozaki2": 2**-48, "ozaki2:16": 2**-45, "faithful": 2**-51,
    "faithful:fp64": 2**-51, "fp64": 2**-48, "auto": 2**-45,
}
# These get all forms; the others, whose kernels have tests of their own, one each.
THOROUGH = ["native", "df", "ozaki2"] + ["faithful"] * ("TEST_EVERYTHING" in os.environ)


def is_cublas_own(call):
    """True if alpha is 0, so that cuBLAS makes C in every mode, and may do so in a way of its
    own."""
    return CUBLAS_MULTIPLIES_BY_0 and re.search(r"x\d+,0\+0i,", call) is not None


def lines(process):
    """Status, error, parts of another kind, touched numbers, and the hash of C, by call."""
    found = {}
    for line in said_by_client(process):
        call, _, result = line.partition(" : ")
        status, error, kinds, touched, bits = result.split()
        found[call] = (int(status), float(error), int(kinds), int(touched), bits)
    return found


class PreloadZgemm(Preloaded):
    def check_results(self, name, process, forms):
        wanted = {
            call: result
            for call, result in lines(self.plain).items() if call.split()[0] in forms
        }
        self.assertEqual((self.plain.returncode, process.returncode), (0, 0), name + process.stderr)
        given = lines(process)
        self.assertEqual(given.keys(), wanted.keys())
        for call, (status, error, kinds, touched, _) in given.items():
            self.assertEqual(status, wanted[call][0], f"{name} {call}")
            self.assertEqual(touched, 0, f"{name} {call}")
            if is_cublas_own(call):
                continue
            self.assertLessEqual(error, MODES[name], f"{name} {call}")
            if name not in ("native", "auto"):
                self.assertEqual(kinds, 0, f"{name} {call}")

    def test_native(self):
        found = lines(self.plain)
        self.assertEqual(self.plain.returncode, 0)
        self.assertEqual({call.split()[0] for call in found}, FORMS)
        refused = [call for call, (status, *_) in found.items() if status]
        self.assertTrue(all(" bad " in call for call in refused), refused)
        self.assertEqual(len(refused), 6 * len(FORMS) + 3 * (len(FORMS) - 1))

    def test_modes(self):
        for i, name in enumerate(MODES):
            with self.subTest(name):
                form = [] if name in THOROUGH else [sorted(FORMS)[i]]
                process, calls = self.report(name, *form, TANDEM_MODE=name)
                self.check_results(name, process, form or FORMS)
                self.assertEqual({call["function"] for call in calls}, set(form) or FORMS)
                if name not in ("native", "auto"):
                    self.check_emulated(name, process, calls, form or FORMS)

    def check_emulated(self, name, process, calls, forms):
        reasons = {None, "invalid arguments", "nothing to compute", "nothing to multiply"}
        self.assertLessEqual({call["native_reason"] for call in calls}, reasons, name)
        for function in forms:
            emulated = [
                call for call in calls if (call["function"], call["mode"]) == (function, name)
            ]
            self.assertEqual({call["op_a"] + call["op_b"]
                              for call in emulated}, OPERATIONS, f"{name} {function}")
        bits = {}
        for call, result in lines(process).items():
            if not is_cublas_own(call):
                bits.setdefault(call.split(" ", 1)[1].removesuffix(" device"),
                                set()).add(result[-1])
        self.assertEqual({case: found for case, found in bits.items() if len(found) > 1}, {}, name)

    def test_products_are_verified(self):
        for name, form in (("native", "cublasZgemm_v2"), ("native", "cublasZgemm3m"),
                           ("df", "cublasZgemmBatched")):
            process, calls = self.report("verified", form, TANDEM_MODE=name,
                                         TANDEM_VERIFY="sample:6")
            self.assertEqual((process.returncode, said_by_tandem(process)), (0, []), name)
            verified = [call for call in calls if call["verified"]]
            self.assertGreater(len(verified), 9, name)
            outside = [call for call in verified if call["verified"]["outside"]]
            self.assertTrue(
                all(CUBLAS_MULTIPLIES_BY_0 and call["mode"] == "native" for call in outside),
                outside)
            for call in verified:
                is_unbound = call["mode"] == "native" and "3m" in call["function"]
                self.assertEqual(call["verified"]["bound"] is None, is_unbound, call)

    def test_switched_off(self):
        process, calls = self.report("off", TANDEM_MODE="df", TANDEM_ENTRY="lu")
        self.assertEqual(calls, [])
        self.assertEqual(said_by_client(process), said_by_client(self.plain))

    def test_small_workspace_gives_the_same_bits(self):
        for name in ("df", "ozaki2"):
            usual, small = (lines(run("cublasZgemm_v2", TANDEM_MODE=name, **more))
                            for more in ({}, {"TANDEM_WORKSPACE": "2M"}))
            self.assertEqual(usual, small)

    def test_families(self):
        """Each family alone leaves the forms of the others native."""
        for family, functions in (("gemm", {
                "cublasZgemm", "cublasZgemm_v2", "cublasZgemm_v2_64", "cublasZgemm3m",
                "cublasZgemm3m_64"
        }), ("gemm_ex", {name
                         for name in FORMS if name.startswith("cublasGemm")})):
            _, calls = self.report(family, TANDEM_MODE="df", TANDEM_ENTRY=family)
            self.assertEqual({call["function"] for call in calls}, functions)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
