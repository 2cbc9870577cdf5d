"""A program that knows nothing of Tandem calls the level 3 routines, with and without it preloaded.

usage: check_preload_level3.py CLIENT PRELOAD_LIBRARY [HOSTGPU_FOLDER]
"""

import os
import sys
import unittest

from preloading import Preloaded, rows_of, run, said_by_client

# Products of two full matrices have a client of their own.
ROUTINES = [(name, forms) for name, forms in rows_of("LEVEL3") if not name.endswith("gemm")]
PLAIN = {f"cublas{name}" + "_v2" * (forms == "blas") for name, forms in ROUTINES}
LARGE = {f"{function}_64" for function in PLAIN}
LEGACY = {f"cublas{name}" for name, forms in ROUTINES if forms == "blas"}
FUNCTIONS = PLAIN | LARGE | LEGACY

# What errors relative to abs(A)abs(B) may be for the client's 75 terms.
MODES = {
    "native": 2**-45, "df": 2**-42, "ts": 2**-52, "dd": 2**-52, "d+s": 2**-52, "ozaki1": 2**-48,
    "ozaki-sgemm": 2**-48, "ozaki2": 2**-48, "ozaki2:18": 2**-45, "faithful": 2**-52,
    "faithful:fp64": 2**-52, "fp64": 2**-48, "auto": 2**-45,
}
# These get every form of a call; the others, whose kernels have tests of their own, one form each.
THOROUGH = ["native", "ozaki2" if "TEST_EVERYTHING" in os.environ else "df"]
FORMS = ["plain", "64", "device", "legacy"]
RESIDUAL = 2**-48  # of solutions: blocks are solved in binary64 in every mode


def lines(process):
    """Status, error and touched elements by call."""
    found = {}
    for line in said_by_client(process):
        call, _, result = line.partition(" : ")
        status, error, touched = result.split()
        found[call] = (int(status), float(error), int(touched))
    return found


def of_form(form):
    """The functions that a form of a call goes to."""
    return {"64": LARGE, "legacy": LEGACY}.get(form, PLAIN)


class PreloadLevel3(Preloaded):
    def check_results(self, name, process, forms):
        wanted = {
            call: result
            for call, result in lines(self.plain).items() if call.split()[1] in forms
        }
        self.assertEqual((self.plain.returncode, process.returncode), (0, 0), name + process.stderr)
        given = lines(process)
        self.assertEqual(given.keys(), wanted.keys())
        for call, (status, error, touched) in given.items():
            self.assertEqual(status, wanted[call][0], f"{name} {call}")
            self.assertEqual(touched, 0, f"{name} {call}")
            bound = max(MODES[name], RESIDUAL) if "trsm" in call else MODES[name]
            self.assertLessEqual(error, bound, f"{name} {call}")

    def test_native(self):
        found = lines(self.plain)
        self.assertGreater(len(found), 61 * 12)
        self.assertEqual(sum(status != 0 for status, _, _ in found.values()), 61 * 5 + 16)
        for call, (_, error, touched) in found.items():
            self.assertLessEqual((error, touched), (MODES["native"], 0), call)

    def check_report(self, name, calls, functions):
        """Every function is seen and emulated, with every side, triangle, operation and
        diagonal."""
        self.assertEqual({call["function"] for call in calls}, functions)
        seen = {}
        for call in calls:
            reasons = {None, "invalid arguments", "nothing to compute"}
            if call["type"] == "complex binary64":
                reasons.add("nothing to multiply")
            self.assertIn(call["native_reason"], reasons, f"{name} {call}")
            if call["mode"] == name:
                for letter in ("side", "uplo", "diag", "op_a"):
                    seen.setdefault((call["function"], letter), set()).add(call.get(letter))
        for function in functions:
            has_side = any(kind in function for kind in ("symm", "hemm", "trmm", "trsm"))
            self.assertEqual(seen[function, "uplo"], {"L", "U"}, function)
            self.assertEqual(seen[function, "side"], {"L", "R"} if has_side else {None}, function)
            self.assertEqual(seen[function, "diag"], {"N", "U"} if "tr" in function else {None},
                             function)
            operations = ("N" if "mm" in function and "trmm" not in function else "NTC" if "D"
                          in function or "tr" in function else "NC" if "Zher" in function else "NT")
            self.assertEqual(seen[function, "op_a"], set(operations), function)

    def test_modes(self):
        for i, name in enumerate(MODES):
            form = FORMS[i % len(FORMS)]
            arguments, forms, functions = ([], FORMS,
                                           FUNCTIONS) if name in THOROUGH else ([form], [form],
                                                                                of_form(form))
            process, calls = self.report(name.replace(":", "-"), *arguments, TANDEM_MODE=name)
            self.check_results(name, process, forms)
            if name not in ("native", "auto"):
                self.check_report(name, calls, functions)

    def test_table(self):
        lines_ = run("plain", TANDEM_MODE="df", TANDEM_REPORT="-").stderr.splitlines()
        rows = {tuple(line.split()[1:3]) for line in lines_ if line.startswith("tandem: ")}
        wanted = {("Dsyrk_v2", "LN"), ("Dsyrk_v2", "UT"), ("Dsymm_v2", "LU"), ("Dsymm_v2", "RL"),
                  ("Dtrmm_v2", "LLNN"), ("Ztrmm_v2", "LUTN"), ("Zherkx", "LC"),
                  ("Dtrsm_v2", "RUNU")}
        self.assertTrue(wanted <= rows, wanted - rows)

    def test_every_routine_is_verified(self):
        """Products by their elements, solves by their residuals."""
        for name, form in (("native", "device"), ("df", "plain")):
            process, calls = self.report("verified", form, TANDEM_MODE=name,
                                         TANDEM_VERIFY="sample:2")
            self.assertEqual((process.returncode, process.stderr), (0, ""), name)
            verified = [call for call in calls if call["verified"]]
            self.assertEqual({call["function"] for call in verified}, of_form(form), name)
            self.assertEqual([call for call in verified if call["verified"]["outside"]], [], name)
            for call in calls:
                is_run = call["native_reason"] not in ("invalid arguments", "nothing to compute",
                                                       "mode native")
                self.assertTrue(call["verified"] or not is_run, f"{name} {call}")
            for call in verified:
                is_solve, parts = "trsm" in call[
                    "function"], 2 if call["type"] == "complex binary64" else 1
                self.assertEqual(call["verified"]["worst_ulps"] is None, is_solve, call)
                self.assertEqual(call["verified"]["bound"] is None, is_solve and
                                 call["mode"] == "native", call)
                self.assertEqual(call["verified"]["elements"] % parts, 0, call)

    def test_switched_off(self):
        process, calls = self.report("off", "plain", TANDEM_MODE="df", TANDEM_ENTRY="gemm")
        self.assertEqual(calls, [])
        self.assertEqual(lines(process), lines(run("plain", tandem=False)))

    def test_families(self):
        for family, names in {
                "symm": "symm hemm", "syrk": "syrk herk", "syr2k": "syr2k her2k", "trmm": "trmm",
                "trsm": "trsm"
        }.items():
            _, calls = self.report(family, "plain", TANDEM_MODE="df", TANDEM_ENTRY=family)
            self.assertEqual({call["function"]
                              for call in calls}, {
                                  function
                                  for function in of_form("plain") if any(name in function
                                                                          for name in names.split())
                              })

    def test_auto_emulates_what_is_large(self):
        process, calls = self.report("eager", "plain", TANDEM_MODE="auto", TANDEM_STRATEGY="eager")
        self.assertEqual(process.returncode, 0)
        self.assertTrue(any(call["mode"] != "native" for call in calls), calls)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
