"""What the demo finds fault with, how results are counted, and how device code is compared:
usage: check_scripts.py SCRIPTS_LIB"""

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import count  # noqa: E402
import demo  # noqa: E402
import registers  # noqa: E402


class Demo(unittest.TestCase):
    def faults(self, name, mode, intercepted, emulated, **result):
        return list(demo.faults(name, mode, result,
                                {"intercepted": intercepted, "emulated": emulated}))

    def test_good_runs(self):
        solved = {"residual": 0.5, "digits": 11.0}
        for name in ("lu_solve west0479", "lu_solve random 512"):
            self.assertEqual(self.faults(name, "native", 7, 0, **solved), [])
            self.assertEqual(self.faults(name, "df", 7, 7, **solved), [])
        self.assertEqual(self.faults("gemm_time 512", "df", 10, 10, error=2.0**-44), [])
        self.assertEqual(self.faults("gemm_time 512", "faithful", 10, 10, error=2.0**-53), [])

    def test_products_that_were_not_intercepted(self):
        for mode in ("native", "df"):
            found = self.faults("gemm_time 512", mode, 0, 0, error=0.0)
            self.assertEqual(found, ["no product was intercepted"])

    def test_the_wrong_arithmetic(self):
        self.assertEqual(len(self.faults("gemm_time 512", "df", 10, 9, error=0.0)), 1)
        self.assertEqual(len(self.faults("gemm_time 512", "native", 10, 1, error=0.0)), 1)

    def test_times_of_the_host_device_are_explained(self):
        """Where auto takes a mode that is slower here than native, the figures that it goes by are
        named."""
        said = " ".join(demo.notes_of_host({"that follow from the properties of a card"}))
        self.assertIn("say nothing about a GPU", said)
        self.assertIn(
            "auto does not go by them, but by figures that follow from the properties of a card.",
            said)

    def test_accuracy(self):
        self.assertEqual(len(self.faults("gemm_time 512", "df", 1, 1, error=2.0**-42)), 1)
        self.assertEqual(len(self.faults("gemm_time 512", "native", 1, 0, error=2.0**-47)), 1)
        self.assertEqual(len(self.faults("gemm_time 512", "faithful", 1, 1, error=2.0**-52)), 1)
        self.assertEqual(len(self.faults("gemm_time 512", "ozaki2", 1, 1, error=2.0**-46)), 1)
        self.assertEqual(len(self.faults("gemm_time 512", "df", 1, 1, error=None)), 1)
        name = "lu_solve west0479"
        self.assertEqual(len(self.faults(name, "df", 1, 1, residual=17.0, digits=9.0)), 1)
        self.assertEqual(len(self.faults(name, "df", 1, 1, residual=None, digits=0.0)), 2)
        self.assertEqual(len(self.faults(name, "native", 1, 0, residual=1.0, digits=7.0)), 1)


class Count(unittest.TestCase):
    def count(self, *arguments):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            status = count.main(list(arguments))
        return output.getvalue(), status

    def test_words(self):
        self.assertEqual(self.count("pass", "skip"), ("1 passed, 0 failed, 1 skipped\n", 0))
        self.assertEqual(self.count("pass", "fail"), ("1 passed, 1 failed, 0 skipped\n", 1))

    def test_nothing_ran(self):
        self.assertEqual(self.count(), ("0 passed, 0 failed, 0 skipped\n", 1))
        self.assertEqual(self.count("skip"), ("0 passed, 0 failed, 1 skipped\n", 1))
        self.assertEqual(self.count("pass", "no/such/testlog.json"),
                         ("1 passed, 1 failed, 0 skipped\n", 1))

    def test_log(self):
        words = ("OK", "OK", "EXPECTEDFAIL", "SKIP", "FAIL", "TIMEOUT", "ERROR", "UNEXPECTEDPASS")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "testlog.json")
            with open(path, "w", encoding="utf-8") as log:
                log.writelines(json.dumps({"result": word}) + "\n" for word in words)
            self.assertEqual(self.count(path, "pass"), ("4 passed, 4 failed, 1 skipped\n", 1))

    def test_slowest(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "build", "meson-logs", "testlog.json")
            os.makedirs(os.path.dirname(path))
            with open(path, "w", encoding="utf-8") as log:
                log.writelines(
                    json.dumps({"result": "OK", "name": f"t{i}", "duration": i}) + "\n"
                    for i in range(12))
            lines = self.count(path)[0].splitlines()
            self.assertEqual(lines[0].split(), ["11.0", "s", "build:", "t11"])
            self.assertEqual(len(lines), count.SLOWEST + 1)


class Registers(unittest.TestCase):
    PTX = """//
.version 9.0
.visible .entry _Z3onePf(
\t.param .u64 _Z3onePf_param_0
)
{
$L__BB0_1:
\tadd.s32 %r1, %r2, 1; // said twice
}
.const .align 4 .b8 td_table[4] = {1, 2, 3, 4};
"""

    def test_names_comments_and_order_do_not_count(self):
        other = self.PTX.replace("_Z3one", "_Z5other").replace("$L__BB0_1", "$L__BB7_1")
        other = other.replace("%r2", "%r9")
        entry, table = other.split(".const")
        head, entry = entry.split(".visible")
        swapped = f"{head.strip()}\n.const{table}.visible{entry.replace('said twice', '')}"
        self.assertEqual(registers.functions(self.PTX), registers.functions(swapped))

    def test_instructions_and_tables_count(self):
        changes = (("%r2, 1", "%r2, 2"), ("%r2", "%r1"), ("{1, 2", "{0, 2"),
                   (".u64 _Z", ".u32 _Z"))
        for old, new in changes:
            changed = self.PTX.replace(old, new)
            self.assertNotEqual(registers.functions(self.PTX), registers.functions(changed))

    def test_kernels_that_take_more_are_named(self):
        before = {"same": registers.Usage(32, 0, 0), "old": registers.Usage(40, 8, 8)}
        renamed = {"same": registers.Usage(32, 0, 0), "new": registers.Usage(40, 8, 8)}
        self.assertEqual(registers.differences(before, renamed), [])
        more = {"same": registers.Usage(32, 0, 4), "old": registers.Usage(40, 8, 8)}
        self.assertEqual(registers.differences(before, more),
                         ["  same: (32, 0, 0) -> (32, 0, 4)"])
        self.assertEqual(registers.differences(before, {"same": registers.Usage(32, 0, 0)}),
                         ["  old: (40, 8, 8) -> none"])

    def test_the_command_makes_ptx(self):
        command = ("ccache nvcc -O3 -gencode=arch=compute_90a,code=sm_90a -MD -MF a.d "
                   "--threads=2 -Ik -o a.o -c ../a.cu")
        entry = {"file": "../a.cu", "command": command}
        self.assertEqual(
            registers.ptx_command(entry, "80", "x.ptx"),
            "nvcc -O3 -Ik -ptx -arch=compute_80 -MD -MF x.ptx.d -o x.ptx ../a.cu".split())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
