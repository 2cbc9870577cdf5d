"""Tandem in surroundings that its users have: a CUDA toolkit in LD_LIBRARY_PATH, LD_AUDIT, another
Tandem in the process, a library that is opened late.

usage: check_surroundings.py LAUNCHER TANDEM CUDA_ROOT CLIENT_DLOPEN GEMM_TIME OPENED_LATE
                             COMPILER...
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

launcher, tandem, cuda_root, client_dlopen, gemm_time, opened_late = map(
    os.path.abspath, sys.argv[1:7])
toolkit = os.path.join(cuda_root, "lib64")
COMPILER = sys.argv[7:]
SOURCES = pathlib.Path(__file__).resolve().parent
# The launcher of a build for GPUs has no device on a machine without one.
IS_FOR_GPUS = pathlib.Path(tandem).with_name("libtandem.so").exists()
HOST_DEVICE = pathlib.Path(tandem).parent.parent / "hostgpu"
OTHERS = 20
# What takes a part of the room that the loader keeps for libraries that are opened late.
OTHER = '__attribute__((tls_model("initial-exec"))) __thread char room[64]; ' \
        'char *here(void) { return room; }'
# What functions of a copy of Tandem return that another copy came before, and a report after that.
ASKED = """import ctypes, sys
tandem = ctypes.CDLL(sys.argv[1])
text, needed = ctypes.create_string_buffer(9), ctypes.c_size_t()
print(tandem.tandem_count_calls(), tandem.tandem_set(b"df"), tandem.tandem_attach(),
      tandem.tandem_detach())
tandem.tandem_report(text, len(text), ctypes.byref(needed))
"""

# A product of its own, with all that it needs.
PLUGIN = """int cublasCreate_v2(void **), cublasDestroy_v2(void *);
int cudaMalloc(void **, unsigned long), cudaFree(void *);
int cublasDgemm_v2(void *, int, int, int, int, int, const double *, const double *, int,
                   const double *, int, const double *, double *, int);
int multiply(void) {
    void *handle, *x;
    const double one = 1, zero = 0;
    if (cublasCreate_v2(&handle) || cudaMalloc(&x, 8)) return 1;
    return cublasDgemm_v2(handle, 0, 0, 1, 1, 1, &one, x, 1, x, 1, &zero, x, 1) ||
           cublasDestroy_v2(handle) || cudaFree(x);
}
"""
# Opens and closes plugins in turn; prints the status and the address of each call.
PLUGGED = """import _ctypes, ctypes, sys
for path in sys.argv[1:]:
    plugin = ctypes.CDLL(path)
    print(plugin.multiply(), ctypes.cast(plugin.multiply, ctypes.c_void_p).value)
    _ctypes.dlclose(plugin._handle)
"""


def run(*command, **variables):
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith(("TANDEM_", "HOSTGPU_", "LD_"))
    }
    return subprocess.run(list(map(str, command)), env={**environment, **variables},
                          capture_output=True, text=True, check=False)


class Surroundings(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def library(self, name, source, *linked):
        file, target = self.folder / f"{name}.c", self.folder / f"{name}.so"
        file.write_text(source, encoding="utf-8")
        subprocess.run([*COMPILER, "-shared", "-fPIC", "-o", target, file, *linked], check=True)
        return target

    def copy_of_tandem(self, name):
        """Another path of the library, which finds the same host device."""
        target = self.folder / name / "interpose" / "libtandem-hostgpu.so"
        target.parent.mkdir(parents=True)
        shutil.copy(tandem, target)
        (self.folder / name / "hostgpu").symlink_to(HOST_DEVICE)
        return target

    def assert_right(self, process, *said):
        """Ended well, with these texts in as many lines on stderr."""
        self.assertEqual(process.returncode, 0, process)
        self.assertEqual(len(process.stderr.splitlines()), len(said), process)
        for text in said:
            self.assertIn(text, process.stderr)

    # ---- a toolkit ----

    def test_every_command_beside_a_toolkit(self):
        commands = ["modes", "options", "doctor", "help", "doctor --entries"]
        for command in commands + ["plan 64 64 64"] * (not IS_FOR_GPUS):
            with self.subTest(command):
                done = run(launcher, *command.split(), LD_LIBRARY_PATH=toolkit)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_program_beside_a_toolkit(self):
        done = run(launcher, "run", "--hostgpu", "--mode", "df", "--report", "-", "--", gemm_time,
                   "40", LD_LIBRARY_PATH=toolkit)
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("10 emulated, 0 native", done.stderr)
        self.assertIn("Tandem host device", done.stdout)

    def test_calls_of_the_launcher_itself(self):
        """cuBLAS's are the host device's."""
        if IS_FOR_GPUS:
            self.skipTest("this launcher is for GPUs")
        done = run(launcher, "calibrate", "--seconds", "1", LD_LIBRARY_PATH=toolkit,
                   XDG_CACHE_HOME=str(self.folder))
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("dgemm:dsyrk", done.stdout)

    def test_names_without_a_version(self):
        for name in ("libcublas.so", "libcublas.so.13"):
            with self.subTest(name):
                done = run(launcher, "run", "--hostgpu", "--mode", "df", "--", client_dlopen, name,
                           LD_LIBRARY_PATH=toolkit)
                self.assertEqual((done.returncode, done.stdout), (0, "df\n"), done)

    def test_a_program_that_is_linked_to_the_toolkit_s_runtime(self):
        libraries = {
            "after": [tandem, f"-L{toolkit}", "-lcudart"],
            "first": [f"-L{toolkit}", "-lcudart", tandem]
        }
        for name, order in libraries.items():
            subprocess.run([
                *COMPILER, "-o", self.folder / name, SOURCES / "linked_runtime.c",
                f"-I{SOURCES.parent.parent / 'include'}", f"-I{cuda_root}/include",
                f"-Wl,-rpath,{pathlib.Path(tandem).parent}", *order
            ], check=True)
        first, after = self.folder / "first", self.folder / "after"
        self.assertEqual(run(after, LD_LIBRARY_PATH=toolkit).stdout, "right\n")
        done = run(first, LD_LIBRARY_PATH=toolkit)
        self.assertEqual(done.returncode, 1, done)
        self.assert_right(run(launcher, "run", "--hostgpu", "--", first, LD_LIBRARY_PATH=toolkit),
                          "using the host device")
        self.assertEqual(done.stderr.count("\n"), 1, done)
        self.assertIn("the program's CUDA runtime is " + toolkit, done.stderr)
        self.assertIn("start it by `tandem run`", done.stderr)

    # ---- opened late ----

    def test_opened_late(self):
        others = [f"?{self.library(f'other{i}', OTHER)}" for i in range(OTHERS)]
        self.assertEqual(run(opened_late, *others, tandem).stdout, "right\n")

    def test_opened_from_two_paths(self):
        """Each serves those alone who opened it."""
        done = run(opened_late, tandem, self.copy_of_tandem("second"))
        self.assertEqual(done.stdout, "right\n", done)
        self.assert_right(done)

    def test_opened_by_python(self):
        done = run(sys.executable, "-c",
                   f"import ctypes; ctypes.CDLL('{tandem}'); ctypes.CDLL('{tandem}')")
        self.assert_right(done)

    def test_plugins_that_take_turns_at_one_address(self):
        """A rule for callers in one file is not for those of another that is there later."""
        first, second = self.library("first", PLUGIN), self.library("other", PLUGIN)
        rules, report = self.folder / "rules", self.folder / "report.json"
        rules.write_text("caller=first.so -> df\ncaller=other.so -> fp64\n", encoding="utf-8")
        stand_ins = [HOST_DEVICE / f"lib{name}.so.13" for name in ("cublas", "cudart")]
        done = run(sys.executable, "-c", PLUGGED, first, second, first, TANDEM_RULES=str(rules),
                   TANDEM_SITES="on", TANDEM_REPORT=str(report),
                   LD_PRELOAD=":".join(map(str, [tandem, *stand_ins])))
        self.assert_right(done)
        statuses, addresses = zip(*(line.split() for line in done.stdout.splitlines()))
        self.assertEqual(statuses, ("0",) * 3)
        if len(set(addresses)) > 1:
            self.skipTest("the loader puts each library elsewhere")
        calls = json.loads(report.read_text(encoding="utf-8"))["calls"]
        self.assertEqual([(call["site"].split()[1], call["mode"], call["count"]) for call in calls],
                         [("(first.so)", "df", 2), ("(other.so)", "fp64", 1)])

    def test_a_constructor_that_multiplies(self):
        """The rules are there though Tandem's own constructor runs later."""
        rules, report = self.folder / "rules", self.folder / "report.json"
        rules.write_text("m=1 -> fp64\n", encoding="utf-8")
        stand_ins = [HOST_DEVICE / name for name in ("libcublas.so.13", "libtandem-hostdevice.so")]
        early = self.library("early", PLUGIN + "__attribute__((constructor)) static void start("
                             "void) { multiply(); }", *stand_ins)
        done = run("true", TANDEM_RULES=str(rules), TANDEM_REPORT=str(report),
                   LD_PRELOAD=":".join(map(str, [tandem, *stand_ins, early])))
        self.assert_right(done)
        (call,) = json.loads(report.read_text(encoding="utf-8"))["calls"]
        self.assertEqual((call["mode"], call["choice"]), ("fp64", "a rule of TANDEM_RULES"))

    def test_audit(self):
        audit = self.library("audit", "unsigned la_version(unsigned v) { return v; }")
        self.assert_right(run("true", LD_AUDIT=str(audit), LD_PRELOAD=tandem))
        others = [f"?{self.library(f'other{i}', OTHER)}" for i in range(OTHERS)]
        self.assertEqual(run(opened_late, *others, tandem, LD_AUDIT=str(audit)).stdout, "right\n")
        done = run(launcher, "run", "--hostgpu", "--mode", "df", "--", client_dlopen,
                   LD_AUDIT=str(audit))
        self.assertEqual((done.returncode, done.stdout), (0, "df\n"), done)

    # ---- two Tandems ----

    def test_two_tandems(self):
        """As a module file and `tandem run` preload them, and one behind the other."""
        second, report = self.copy_of_tandem("second"), self.folder / "report.json"
        stand_ins = [HOST_DEVICE / f"lib{name}.so.13" for name in ("cublas", "cudart")]
        ways = {
            "run": ([launcher, "run", "--hostgpu"], [second]),
            "preload": (["env"], [tandem, second, *stand_ins]),
        }
        for way, (start, preloaded) in ways.items():
            for mode in ("native", "df"):
                for program, calls in (([gemm_time, "40"], 10), ([client_dlopen], 1)):
                    with self.subTest(way=way, mode=mode, program=program):
                        done = run(*start, *program, TANDEM_MODE=mode, TANDEM_REPORT=str(report),
                                   LD_PRELOAD=":".join(map(str, preloaded)))
                        self.assertEqual(done.returncode, 0, done)
                        said = f"{tandem} is loaded already: {second} stands aside"
                        self.assertIn(said, done.stderr)
                        totals = json.loads(report.read_text(encoding="utf-8"))["totals"]
                        emulated = calls if mode == "df" else 0
                        self.assertEqual((totals["emulated"], totals["native"]),
                                         (emulated, calls - emulated))

    def test_the_second_tandem_is_asked(self):
        """It refuses, where it would have to count or to change something."""
        second = self.copy_of_tandem("second")
        done = run(sys.executable, "-c", ASKED, second,
                   LD_PRELOAD=":".join(map(str, [tandem, second])))
        self.assertEqual((done.returncode, done.stdout), (0, "3 3 3 3\n"), done)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
