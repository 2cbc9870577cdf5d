"""The table of FP64 routines, lib/routine/routines.def, against the toolkit's headers: a routine
of cuBLAS of a new toolkit that is not in it fails by name.

usage: check_entries.py TANDEM PAGE FOLDER_OF_WRITE_STUBS COMPILER...
"""

import json
import pathlib
import re
import subprocess
import sys
import unittest

tandem, page = sys.argv[1:3]
sys.path.insert(0, sys.argv[3])
compiler = sys.argv[4:]

from write_stubs import functions, preprocess  # noqa: E402 pylint: disable=wrong-import-position

HEADERS = ["cublas_api.h", "cublas.h", "cublasXt.h", "cublasLt.h"]


def is_fp64(name, signature):
    """Whether a function computes with numbers of type D or Z, by its arguments or by a type that
    is one of them."""
    if name.startswith("cublasLt"):
        # All others describe, some of them for a stream.
        return "cudaStream_t" in signature and not name.endswith("ForStream")
    if re.search(r"\bdouble\b|\bcuDoubleComplex\b", signature):
        return True
    return "cudaDataType" in signature and not re.match("cublas[SC][a-z]", name)


def declared_in(lines):
    """The FP64 functions that preprocessed lines declare."""
    found = ((name, f"{returned} {arguments}")
             for name, returned, arguments, _ in functions(lines, "^cublas"))
    return {name for name, signature in found if is_fp64(name, signature)}


def differences(declared, listed):
    """What is wrong with the table, a line for each function."""
    return [
        f"{name} is in the toolkit's headers and not in lib/routine/routines.def"
        for name in sorted(declared - listed)
    ] + [
        f"{name} is in lib/routine/routines.def and not in the toolkit's headers"
        for name in sorted(listed - declared)
    ]


def doctor(*arguments):
    return subprocess.run([tandem, "doctor", "--entries", *arguments], capture_output=True,
                          text=True, check=True).stdout


class Entries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows = json.loads(doctor("--json"))
        cls.declared = set()
        for header in HEADERS:
            lines = ((pathlib.Path(at).name, line) for at, line in preprocess(compiler, header))
            cls.declared |= declared_in((at, line) for at, line in lines if at == header)

    def test_table_has_the_functions_of_the_headers(self):
        names = [row["function"] for row in self.rows]
        self.assertEqual(len(names), len(set(names)))
        # Functions of other types are in no table, but listed where they are intercepted.
        others = {
            row["function"]
            for row in self.rows
            if row["family"] and re.match("cublas[SC][a-z]|cusolver", row["function"])
        }
        self.assertEqual(differences(self.declared, set(names) - others), [])
        self.assertGreater(len(self.declared), 300)

    def test_functions_of_cusolver_are_declared(self):
        try:
            lines = "\n".join(line for _, line in preprocess(compiler, "cusolverDn.h"))
        except subprocess.CalledProcessError:
            self.skipTest("the toolkit has no header of cuSOLVER")
        solver = [row["function"] for row in self.rows if row["function"].startswith("cusolver")]
        self.assertIn("cusolverDnXgetrf", solver)
        for function in solver:
            self.assertRegex(lines, rf"\b{function}\b")

    def test_new_routine_is_named(self):
        new = declared_in(
            [("", "cublasStatus_t cublasDnew(cublasHandle_t handle, const double *x);"),
             ("", "cublasStatus_t cublasNewEx(cublasHandle_t handle, cudaDataType type);"),
             ("", "cublasStatus_t cublasLtNew(cublasLtHandle_t handle, cudaStream_t stream);"),
             ("", "cublasStatus_t cublasSnew(cublasHandle_t handle, const float *x);")])
        self.assertEqual(differences(new, set()), [
            f"{name} is in the toolkit's headers and not in lib/routine/routines.def"
            for name in ("cublasDnew", "cublasLtNew", "cublasNewEx")])

    def test_every_function_is_intercepted_or_has_a_reason(self):
        for row in self.rows:
            self.assertNotEqual(row["family"] is None, row["native_because"] is None, row)

    def test_lines_say_the_same(self):
        lines = [line.split(maxsplit=2) for line in doctor().splitlines()]
        self.assertEqual(lines, [[row["function"], "intercepted" if row["family"] else "native",
                                  row["family"] or row["native_because"]] for row in self.rows])

    def test_page_is_current(self):
        self.assertEqual(
            pathlib.Path(page).read_text(encoding="utf-8"), doctor("--markdown"),
            "docs/entries.md differs: write it anew with tandem doctor --entries --markdown")

    def test_bad_combinations_are_refused(self):
        for arguments in (["--entries", "--json", "--markdown"], ["--entries",
                                                                  "program"], ["--markdown"]):
            done = subprocess.run([tandem, "doctor", *arguments], capture_output=True, text=True,
                                  check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1),
                             done)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
