"""Products by cublasLtMatmul, linked and looked up: those that a mode can make are its own, all
others cublasLt's.

usage: check_lt.py CLIENT INNER PRELOAD_LIBRARY HOSTGPU_FOLDER
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

client, inner, preload, hostgpu = map(os.path.abspath, sys.argv[1:5])
STAND_INS = [
    os.path.join(hostgpu, name)
    for name in ("libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13")
]
WAYS = ("linked", "looked-up")
PRODUCTS = 195  # of client_lt.c
COMPLEX, CONJUGATES = 50, 22  # of lt_complex.c
EMULATED = "the call asks for cuBLAS's own emulation"
REFUSED = ("C is D in another layout", "a scalar for each member", "batch invariance is asked for",
           EMULATED, "invalid arguments")
# A program whose calls all come from one place, libffi's: of functions of either library, whose
# handle is not there.
ONE_PLACE = """import ctypes, sys
program = ctypes.CDLL(None)
for name in sys.argv[1:]:
    print(name, getattr(program, name)(*[None] * 16))
"""
# A product of 2 x 2 matrices whose C is NULL, for each beta, with scalars on the host (0) or on the
# device (1), and a handle that a function of this name makes.
NO_C = """import ctypes as ct, sys
program, null, two = ct.CDLL(None), ct.c_void_p(), ct.c_uint64(2)
numbers, place = (ct.c_double * 4)(1, 2, 3, 4), ct.c_int(int(sys.argv[1]))
handle, operation, layout, a, d, there = (ct.c_void_p() for _ in range(6))
print(program[sys.argv[2]](ct.byref(handle)),
      program.cublasLtMatmulDescCreate(ct.byref(operation), 70, 1),
      program.cublasLtMatmulDescSetAttribute(operation, 2, ct.byref(place), ct.c_size_t(4)),
      program.cublasLtMatrixLayoutCreate(ct.byref(layout), 1, two, two, ct.c_int64(2)),
      program.cudaMalloc(ct.byref(there), ct.c_size_t(16)))
for x in (a, d):
    print(program.cudaMalloc(ct.byref(x), ct.c_size_t(32)),
          program.cudaMemcpy(x, numbers, ct.c_size_t(32), 1))
for beta in map(float, sys.argv[3:]):
    scalars = (ct.c_double * 2)(1, beta)
    program.cudaMemcpy(there, scalars, ct.c_size_t(16), 1)
    at = there.value if place else ct.addressof(scalars)
    print(beta, program.cublasLtMatmul(handle, operation, ct.c_void_p(at), a, layout, a, layout,
          ct.c_void_p(at + 8), null, layout, d, layout, null, null, ct.c_size_t(0), null))
    print(program.cudaMemcpy(numbers, d, ct.c_size_t(32), 2), *numbers)
"""


def preloading(tandem, variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TANDEM_", "HOSTGPU_"))}
    environment["LD_PRELOAD"] = ":".join([preload] * tandem + STAND_INS)
    return environment | variables


def run(mode, way, tandem=True, **variables):
    return subprocess.run([client, mode, way, inner], env=preloading(tandem, variables),
                          capture_output=True, text=True, check=False)


def parse(process):
    """Each call's name, status and what became of D."""
    lines = [line.split(" ; ") for line in process.stdout.splitlines()]
    return {name: (status, what) for name, status, what in lines}


class Lt(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.report = os.path.join(folder, "report.json")

    def calls(self):
        with open(self.report, encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual({call["function"] for call in report["calls"]}, {"cublasLtMatmul"})
        return report

    def assert_ran(self, process):
        self.assertEqual((process.returncode, process.stderr), (0, ""))

    @classmethod
    def setUpClass(cls):
        cls.plain = run("df", "linked", tandem=False)

    @unittest.skipIf("MESON_EXE_WRAPPER" in os.environ, "Python is for another processor")
    def test_both_libraries_from_one_place(self):
        names = ["cublasLtMatmul", "cublasDgemm_v2"]
        for order in (names + names, names[::-1]):
            with self.subTest(order):
                with_and_without = [
                    subprocess.run([sys.executable, "-c", ONE_PLACE, *order], capture_output=True,
                                   env=preloading(tandem, {}), text=True, check=False)
                    for tandem in (True, False)
                ]
                for process in with_and_without:
                    self.assert_ran(process)
                self.assertEqual(*(process.stdout for process in with_and_without))

    def run_without_c(self, place, create, *betas):
        """What df's process prints, which is what one without Tandem prints."""
        plain, df = (subprocess.run([sys.executable, "-c", NO_C, place, create, *betas],
                                    capture_output=True, text=True, check=True,
                                    env=preloading(tandem, {"TANDEM_MODE": "df",
                                                            "TANDEM_REPORT": self.report}))
                     for tandem in (False, True))
        self.assertEqual((plain.stdout, plain.stderr), (df.stdout, df.stderr))
        return plain.stdout

    @unittest.skipIf("MESON_EXE_WRAPPER" in os.environ, "Python is for another processor")
    def test_without_c(self):
        """Which only a beta of 0 allows."""
        for place in "01":
            said = self.run_without_c(place, "cublasLtCreate", "0", "1", "nan")
            self.assertIn("0.0 0\n0 7.0 10.0 15.0 22.0\n1.0 ", said)
            self.assertNotIn("1.0 0\n", said)

    @unittest.skipIf("MESON_EXE_WRAPPER" in os.environ, "Python is for another processor")
    def test_handle_of_cublas(self):
        """It is one of cublasLt, too, even where that is a library that cuBLAS itself lacks."""
        said = self.run_without_c("0", "cublasCreate_v2", "0")
        self.assertIn("0.0 0\n0 7.0 10.0 15.0 22.0\n", said)
        self.assertEqual([call["mode"] for call in self.calls()["calls"]], ["df"])

    def test_cublaslt_alone_is_right(self):
        self.assert_ran(self.plain)
        lines = parse(self.plain)
        products = {name: line for name, line in lines.items() if name.startswith("product")}
        self.assertEqual(len(products), PRODUCTS)
        self.assertEqual(set(products.values()), {("status 0", "right")})
        others = {name: line for name, line in lines.items() if name.startswith("complex")}
        kinds = [name.split()[1] for name in others]
        self.assertEqual((kinds.count("product"), kinds.count("conjugate")), (COMPLEX, CONJUGATES))
        self.assertEqual(set(others.values()), {("status 0", "right")})
        self.assertEqual(
            {name: line
             for name, line in lines.items() if name not in {**products, **others}}, {
                 **{f"refused: {reason}": ("status 0", "right") for reason in REFUSED},
                 "native: pedantic": ("status 0", "right"),
                 "native: an epilogue": ("status 15", "refused"),
                 "native: a vector of alpha": ("status 15", "refused"),
                 "native: no handle": ("status 1", "refused"),
                 "native: cuBLAS's own call": ("status 0", "right"),
                 "native: cuBLAS's own call again": ("status 0", "right"),
             })

    def expected(self, mode):
        return {name: ("status 0", mode) if name.startswith("product") else line
                for name, line in parse(self.plain).items()}

    def test_products_are_the_modes(self):
        for mode, way in (("df", "linked"), ("df", "looked-up"), ("ozaki2", "linked"),
                          ("fp64", "looked-up")):
            with self.subTest(mode=mode, way=way):
                process = run(mode, way, TANDEM_MODE=mode, TANDEM_REPORT=self.report)
                self.assert_ran(process)
                self.assertEqual(parse(process), self.expected(mode))
                report = self.calls()
                self.assertEqual(
                    (report["totals"]["emulated"], report["totals"]["native"]),
                    (PRODUCTS + COMPLEX + CONJUGATES, len(REFUSED)))
                self.assertEqual(
                    sorted(call["native_reason"] for call in report["calls"]
                           if call["native_reason"]), sorted(REFUSED))
                operations = {call[op] for call in report["calls"] for op in ("op_a", "op_b")}
                self.assertEqual(operations, set("NTCR"))

    def test_calls_for_another_emulation_are_answered(self):
        for entry in ("emulated", "all,emulated", "lt,emulated"):
            process = run("df", "linked", TANDEM_MODE="df", TANDEM_REPORT=self.report,
                          TANDEM_ENTRY=entry)
            self.assert_ran(process)
            asked = {f"refused: {EMULATED}": ("status 0", "df")}
            self.assertEqual(parse(process), self.expected("df") | asked)
            reasons = {call["native_reason"] for call in self.calls()["calls"]}
            self.assertEqual(reasons, {None, *REFUSED} - {EMULATED})

    def test_products_are_verified(self):
        """What beta multiplies may be another matrix than the result."""
        for mode in ("native", "faithful"):
            process = run("df" if mode == "native" else mode, "linked", TANDEM_MODE=mode,
                          TANDEM_VERIFY="sample:2", TANDEM_REPORT=self.report)
            self.assert_ran(process)
            totals = self.calls()["totals"]
            self.assertEqual(totals["outside"], 0, mode)
            self.assertGreater(totals["verified"], totals["intercepted"], mode)

    def test_native_changes_nothing(self):
        for way in WAYS:
            process = run("df", way, TANDEM_MODE="native", TANDEM_REPORT=self.report)
            self.assert_ran(process)
            self.assertEqual(process.stdout, self.plain.stdout)
            totals = self.calls()["totals"]
            self.assertEqual((totals["emulated"], totals["native"]),
                             (0, PRODUCTS + COMPLEX + CONJUGATES + len(REFUSED)))

    def test_it_can_be_left_out(self):
        for variables, ways in (({"TANDEM_ENTRY": "gemm"}, WAYS), ({"TANDEM_DLSYM": "off"},
                                                                   ("looked-up", ))):
            for way in ways:
                process = run("df", way, TANDEM_MODE="df", **variables)
                self.assert_ran(process)
                self.assertEqual(process.stdout, self.plain.stdout)

    def test_calls_wait_for_no_walk(self):
        """A place that has called before is known: to look through all images of a process that has
        hundreds takes longer than the call, and waits for what is being loaded."""
        for mode in ("native", "df"):
            process = run("df", "beside-a-walk", TANDEM_MODE=mode, TANDEM_REPORT=self.report)
            self.assert_ran(process)
            what = "right" if mode == "native" else mode
            self.assertEqual(parse(process), {"beside a walk": ("status 0", what)})
            self.assertEqual(self.calls()["totals"]["intercepted"], 2)

    def test_out_of_memory_falls_back(self):
        process = run("df", "linked", TANDEM_MODE="df", TANDEM_REPORT=self.report,
                      HOSTGPU_MEMORY="9M")
        self.assertEqual(process.returncode, 0)
        self.assertEqual(
            set(parse(process).values()) - {("status 0", "df")}, set(parse(self.plain).values()))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
