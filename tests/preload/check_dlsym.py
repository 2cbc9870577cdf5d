"""Programs that find cuBLAS by name, with two cuBLAS in the process, beside other libraries that
stand before dlsym or malloc.

usage: check_dlsym.py PROGRAM WITH_ASAN WITH_TSAN LIBRARY_12 LIBRARY_13 OPENED_LIBRARY
PRELOAD_LIBRARY SHIM LIBASAN

PROGRAM and, under AddressSanitizer and ThreadSanitizer ("": none), WITH_ASAN and WITH_TSAN are
client_lookup.c; LIBRARY_12 and LIBRARY_13 stand-ins for cuBLAS; SHIM is shim_dlsym.c that forwards.
"""

import ctypes.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

program, with_asan, with_tsan, library_12, library_13, opened, preload, shim, libasan = (
    os.path.abspath(path) if path else "" for path in sys.argv[1:10])

# As in client_lookup.c.
ROUNDS, THREADS = 20, 8
BOTH = 2 * ROUNDS
# Ways, and how many products the process makes that writes the report.
WAYS = {
    "local": BOTH, "global": BOTH, "deepbind": BOTH, "versioned": BOTH, "threads": THREADS * BOTH,
    "fork": 2 * BOTH
}
SHIM_SAYS = "shim_dlsym: dlsym was asked for functions of cuBLAS\n"


def run(way, *preloaded, of=program, **variables):
    unset = ("TANDEM_", "HOSTGPU_", "ASAN_", "TSAN_")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(unset)}
    environment["LD_PRELOAD"] = ":".join(preloaded)
    environment.pop("LD_LIBRARY_PATH", None)  # Meson puts the host device's stand-ins there
    environment.update(variables)
    with subprocess.Popen([of, way, library_12, library_13, opened], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        stdout, stderr = process.communicate()
    done = subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)
    done.pid = process.pid
    return done


class Dlsym(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.report = os.path.join(folder, "%p.json")

    def assert_ran(self, process, said=""):
        self.assertEqual((process.returncode, process.stdout, process.stderr), (0, "right\n", said))

    def assert_seen(self, way, process):
        """That Tandem has seen the process's products: matrices are on the host, so all are
        native."""
        with open(self.report.replace("%p", str(process.pid)), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["totals"]["native"], WAYS[way])

    def assert_right(self, way, *preloaded, said="", **variables):
        process = run(way, *preloaded, TANDEM_REPORT=self.report, **variables)
        self.assert_ran(process, said)
        self.assert_seen(way, process)

    def test_program_is_right_by_itself(self):
        for way in WAYS:
            with self.subTest(way):
                self.assert_ran(run(way))
                self.assert_ran(run(way, shim), SHIM_SAYS if way != "versioned" else "")

    def test_every_call_goes_to_the_cublas_that_was_asked(self):
        for way in WAYS:
            for mode in ("native", "df"):
                with self.subTest(way=way, mode=mode):
                    self.assert_right(way, preload, TANDEM_MODE=mode)

    def test_it_can_be_turned_off(self):
        for way in WAYS:
            with self.subTest(way):
                self.assert_ran(run(way, preload, TANDEM_DLSYM="off", TANDEM_REPORT=self.report))
                self.assertEqual(os.listdir(os.path.dirname(self.report)), [])

    def test_nothing_else_changes(self):
        plain = run("rules")
        self.assertEqual((plain.returncode, plain.stderr), (0, ""))
        self.assertIn(
            "next: of the program 1, of the first 2, of the second 0, of an opened one 0\n",
            plain.stdout)
        self.assertIn("default: of the program 0, of an opened one 1\n", plain.stdout)
        self.assertIn("qsort by version: libc.so.6, no error\n", plain.stdout)
        for value in ("on", "off"):
            process = run("rules", preload, TANDEM_DLSYM=value)
            self.assertEqual((process.returncode, process.stdout, process.stderr),
                             (0, plain.stdout, ""))
            self.assertEqual(
                run("rules", preload, shim, TANDEM_DLSYM=value).stdout,
                run("rules", shim).stdout)
        # The shim calls the next dlsym, and does not jump there: else the lines could not tell.
        self.assertNotEqual(run("rules", shim).stdout, plain.stdout)

    def test_a_child_of_a_process_that_loads(self):
        """It finds functions as it does by itself, where Tandem is preloaded and where it is
        attached."""
        self.assert_ran(run("loading"))
        self.assert_ran(run("loading", preload, TANDEM_MODE="df"))
        self.assert_ran(run("loading", ATTACH=preload, TANDEM_MODE="df"))

    def test_beside_another_library_that_interposes_dlsym(self):
        for preloaded in ([preload, shim], [shim, preload]):
            for way in WAYS:
                with self.subTest(way=way, preloaded=preloaded):
                    self.assert_right(way, *preloaded, said=SHIM_SAYS if way != "versioned" else "")

    def test_beside_another_allocator(self):
        for name in ("jemalloc", "mimalloc"):
            with self.subTest(name):
                library = ctypes.util.find_library(name)
                if not library:
                    self.skipTest(f"lib{name} is not installed")
                for preloaded in ([preload, library], [library, preload]):
                    for way in WAYS:
                        self.assert_right(way, *preloaded)

    def assert_sanitized(self, sanitized, *preloaded, **variables):
        """In all ways but one, which sanitizers refuse."""
        for way in [way for way in WAYS if way != "deepbind"]:
            with self.subTest(way=way, preloaded=preloaded):
                process = run(way, *preloaded, of=sanitized, TANDEM_REPORT=self.report, **variables)
                self.assert_ran(process)
                self.assert_seen(way, process)

    @unittest.skipUnless(with_asan, "the compiler has no AddressSanitizer")
    def test_under_address_sanitizer(self):
        for preloaded, order in (([libasan, preload], 1), ([preload, libasan], 0)):
            self.assert_sanitized(with_asan, *preloaded,
                                  ASAN_OPTIONS=f"verify_asan_link_order={order}:detect_leaks=0")

    @unittest.skipUnless(with_tsan, "the compiler has no ThreadSanitizer")
    def test_under_thread_sanitizer(self):
        self.assert_sanitized(with_tsan, preload)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
