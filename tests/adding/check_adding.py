"""docs/adding.md, done as it says: its edits are made in a copy of the sources, in as many files as
its headings say, what they reach is built on what the build has already, and the new mode, entry
point, routine, option and field of the report are used.

usage: check_adding.py SOURCE_ROOT BUILD_ROOT CUDA_INCLUDE LAUNCHER_LIBRARIES KERNEL_COMPILER
COMPILER...
KERNEL_COMPILER is the command that compiles a kernel for the host device, in one argument.
"""

import concurrent.futures
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE, BUILD, CUDA = map(pathlib.Path, sys.argv[1:4])
LIBRARIES, KERNEL_COMPILER, COMPILER = sys.argv[4].split(), sys.argv[5].split(), sys.argv[6:]
NUMBERS = {"one": 1, "two": 2, "three": 3, "five": 5, "nine": 9}
FOLDERS = ["hostgpu", "include", "interpose", "kernels", "lib", "tests", "tools"]

HEADING = re.compile(r"^## (An? .*): (\w+) files?$", re.MULTILINE)
EDIT = re.compile(
    r"^`([^`]+)`, (?:(new)|(after|before|in place of) `([^`]+)`):\n\n"
    r"```(?:c|meson)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# The example's mode, entry point and routine, through a program that knows none.
CLIENT = r"""
#include <cublas_api.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
__typeof__(cublasDgemm_v2) cublasDgemmExample;
int main(void)
{
    const double x[4] = {1, 2, 3, 4}, one = 1, zero = 0;
    double got[4] = {0}, old[4] = {7, 7, 7, 7}, *a, *c;
    cublasHandle_t handle;
    if (cublasCreate_v2(&handle)) return 1;
    if (cudaMalloc((void **)&a, sizeof x) || cudaMalloc((void **)&c, sizeof x)) return 1;
    cudaMemcpy(a, x, sizeof x, cudaMemcpyHostToDevice);
    if (cublasDgemmExample(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a, 2, a, 2, &zero, c,
                           2))
        return 2;
    cudaMemcpy(got, c, sizeof got, cudaMemcpyDeviceToHost);
    printf("%g %g %g %g\n", got[0], got[1], got[2], got[3]);
    cudaMemcpy(c, old, sizeof old, cudaMemcpyHostToDevice);
    const double *in[1] = {a};
    double *out[1] = {c};
    void *arrays[2];
    for (int i = 0; i < 2; i++)
        if (cudaMalloc(&arrays[i], sizeof in)) return 3;
    cudaMemcpy(arrays[0], in, sizeof in, cudaMemcpyHostToDevice);
    cudaMemcpy(arrays[1], out, sizeof out, cudaMemcpyHostToDevice);
    const double *const *const from = arrays[0];
    if (cublasDgemvBatched(handle, CUBLAS_OP_T, 2, 2, &one, from, 2, from, 1, &zero, arrays[1], 2,
                           1))
        return 3;
    cudaMemcpy(got, c, sizeof got, cudaMemcpyDeviceToHost);
    printf("%g %g %g %g\n", got[0], got[1], got[2], got[3]);
    return 0;
}
"""
# What stands for cuBLAS's own function.
ORIGINAL = "int cublasDgemmExample(void); int cublasDgemmExample(void) { return 99; }"
# What tests/kernels knows of modes, and that the new one gives its reference's bits.
MODES = r"""
#include <stdio.h>
#include <string.h>
#include "tests/support/test.h"
#include "tests/kernels/support/checked.h"
static const mode *example;
static void bits_are_the_references(void **unused)
{
    (void)unused;
    for (int i = 0; i < 8; i++) {
        const int k = i == 3 ? 0 : 100 + 7 * i;
        const product of = product_varied("both signs", 5 + 30 * i, 40 - 4 * i, k, i);
        checked_product(example, &of);
    }
}
int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bits_are_the_references)};
    for (const mode *m = NULL; (m = mode_after(m));) {
        puts(m->name);
        if (strcmp(m->name, "example") == 0) example = m;
    }
    return example ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
"""


def sections(page):
    """For each heading what it announces, the number of files, and the edits below it."""
    parts = HEADING.split(page)[1:]
    for what, number, text in zip(parts[0::3], parts[1::3], parts[2::3]):
        yield what, NUMBERS[number], EDIT.findall(text)


def edit(root, path, new, where, mark, text):
    """Makes one edit of the page; the mark must be in one line."""
    file = root / path
    if new:
        assert not file.exists(), f"{path} is not new"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    (at,) = [i for i, line in enumerate(lines) if line.lstrip().startswith(mark)]
    if where == "in place of":
        lines[at] = text
    else:
        lines.insert(at + (where == "after"), text)
    file.write_text("".join(lines), encoding="utf-8")


def compiler(*arguments):
    subprocess.run([*COMPILER, *map(str, arguments)], check=True)


class Adding(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        for name in FOLDERS:
            # Python, which runs other tests meanwhile, renames what it has written there.
            shutil.copytree(SOURCE / name, cls.root / name,
                            ignore=shutil.ignore_patterns("__pycache__"))
        cls.page = list(sections((SOURCE / "docs" / "adding.md").read_text(encoding="utf-8")))
        for _, _, edits in cls.page:
            for one in edits:
                edit(cls.root, *one)
        cls.build()

    @classmethod
    def compile_all(cls, paths):
        """Objects of these sources, and the ones that the table of modes names besides."""
        flags = [
            "-std=c11", "-Wall", "-Werror", "-fPIC", "-D_GNU_SOURCE", "-DTD_HOSTGPU",
            '-DTD_LIBDIR="../lib"', "-isystem", CUDA, "-I", cls.root,
            "-I", BUILD / "tools"
        ]
        objects = [path.with_suffix(".o") for path in paths]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda path, o: compiler("-c", *flags, path, "-o", o), paths, objects))
        return objects

    @classmethod
    def compile_kernels(cls, paths):
        """Objects of these kernels for the host device."""
        objects = []
        for path in paths:
            source, target = path.with_suffix(".host.cpp"), path.with_suffix(".o")
            source.write_text(f'#include "{path}"\n', encoding="utf-8")
            subprocess.run(
                [*KERNEL_COMPILER, "-fPIC", "-isystem", CUDA, "-c", source, "-o", target],
                check=True)
            objects.append(target)
        return objects

    @classmethod
    def new_files(cls):
        return [path for _, _, edits in cls.page for path, is_new, *_ in edits if is_new]

    @classmethod
    def build(cls):
        """The library, the launcher and two programs; what includes no edited header comes from
        the build."""
        root, host = cls.root, BUILD / "hostgpu"
        new = [root / path for path in cls.new_files()]
        in_library = [
            path for path in new if path.suffix == ".c" and path.is_relative_to(root / "lib")
        ]
        in_tests = [
            path for path in new if path.suffix == ".c" and path.is_relative_to(root / "tests")
        ]
        library = cls.compile_all([
            *(p for p in (root / "lib").rglob("*.c") if "engines" not in p.parts),
            root / "lib/engines/registry.c", *in_library
        ])
        library += cls.compile_kernels(path for path in new if path.suffix == ".cu")
        rest = [
            BUILD / "lib/libcore-hostgpu.a", BUILD / "kernels/libkernels-hostgpu.a", f"-L{host}",
            "-l:libtandem-hostdevice.so", f"-Wl,-rpath,{host}", "-lpthread", "-ldl", "-lm"
        ]
        cls.library = root / "libtandem-hostgpu.so"
        compiler("-shared", "-o", cls.library,
                 *cls.compile_all([*(root / "interpose").glob("*.c"),
                                   root / f"interpose/dlsym_{platform.machine()}.S"]),
                 *library, *rest,
                 f"-Wl,--version-script={root / 'interpose/tandem.map'}")
        cls.tandem = root / "tandem"
        # What `tandem selftest` multiplies.
        of_tests = sorted((BUILD / "tools/tandem.p").glob(".._tests_*.o"))
        compiler("-o", cls.tandem, *cls.compile_all(list((root / "tools").glob("*.c"))), *of_tests,
                 *library, *rest, *LIBRARIES)
        cls.build_programs(library, rest, in_tests)

    @classmethod
    def build_programs(cls, library, rest, in_tests):
        """A client of the library, and one that runs modes beside their references."""
        root, host = cls.root, BUILD / "hostgpu"
        for name, source in (("client", CLIENT), ("modes", MODES), ("original", ORIGINAL)):
            (root / f"{name}.c").write_text(source, encoding="utf-8")
        support = [
            root / "tests/kernels/support" / name for name in ("modes.c", "checked.c", "device.c")
        ]
        client, modes, original, *known = cls.compile_all(
            [root / "client.c", root / "modes.c", root / "original.c", *support, *in_tests])
        compiler("-shared", "-o", root / "liboriginal.so", original)
        compiler("-o", root / "client", client, root / "liboriginal.so", f"-L{host}",
                 "-l:libcublas.so.13", "-l:libtandem-hostdevice.so", f"-Wl,-rpath,{host}:{root}")
        compiler("-o", root / "modes", modes, *known, *library, *rest,
                 BUILD / "tests/kernels/libcheck_support.a", BUILD / "tests/ref/libref.a",
                 f"-Wl,-rpath,{host}", host / "libcublas.so.13",
                 BUILD / "tests/support/libtest_support.a", "-lmpfr", "-lgmp", "-lcmocka", "-lm")

    def run_tandem(self, *arguments, **variables):
        return subprocess.run([self.tandem, *arguments], env={**os.environ, **variables},
                              capture_output=True, text=True, check=False)

    def report_of_client(self):
        report = self.root / "report.json"
        environment = {
            **os.environ, "LD_PRELOAD": str(self.library), "TANDEM_MODE": "example",
            "TANDEM_REPORT": str(report)
        }
        done = subprocess.run([self.root / "client"], env=environment, capture_output=True,
                              text=True, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "7 10 15 22\n5 7 11 7\n", ""))
        return json.loads(report.read_text(encoding="utf-8"))

    def test_each_touches_as_many_files_as_the_page_says(self):
        self.assertEqual([(what, count) for what, count, _ in self.page],
                         [("A mode", 9), ("An entry point", 2), ("A routine", 5), ("An option", 1),
                          ("A field of the report", 1)])
        for what, count, edits in self.page:
            self.assertEqual(len({path for path, *_ in edits}), count, what)

    def test_mode_is_listed(self):
        names = self.run_tandem("modes", "--names").stdout.split()
        self.assertEqual(names[:3], ["native", "df", "example"])

    def test_tests_know_the_mode_and_its_bits(self):
        listed = subprocess.run([self.root / "modes"], capture_output=True, text=True, check=False)
        self.assertEqual(listed.returncode, 0, listed.stdout + listed.stderr)
        self.assertIn("example", listed.stdout.split())

    def test_the_build_names_every_new_source(self):
        named = "".join(
            (self.root / path).read_text(encoding="utf-8")
            for path in ("kernels/meson.build", "lib/engines/modes.def", "tests/ref/meson.build"))
        for path in self.new_files():
            if not path.endswith(".h"):
                self.assertIn(re.sub("^(kernels|lib/engines|tests/ref)/", "", path), named)

    def test_option(self):
        shown = self.run_tandem("options", TANDEM_EXAMPLE="4096k").stdout
        self.assertIn("TANDEM_EXAMPLE=4M (environment)\n    Stands for an option.\n", shown)
        self.assertIn("TANDEM_EXAMPLE=4M (default)\n", self.run_tandem("options").stdout)
        refused = self.run_tandem("options", TANDEM_EXAMPLE="x")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("TANDEM_EXAMPLE is 'x'", refused.stderr)
        self.assertIn("allowed: auto, or bytes from 2M up", refused.stderr)
        self.assertIn(".B TANDEM_EXAMPLE\n", self.run_tandem("help", "--man").stdout)

    def test_entry_point_and_routine_run_the_mode(self):
        self.assertIn("intercepted: cublasDgemmExample, cublasDgemvBatched (in client)",
                      self.run_tandem("doctor", self.root / "client").stdout)
        calls = self.report_of_client()["calls"]
        self.assertEqual(
            sorted((call["function"], call["mode"], call["native_reason"]) for call in calls),
            [("cublasDgemmExample", "example", None), ("cublasDgemvBatched", "example", None)])

    def test_field_is_written_described_and_read(self):
        report = self.report_of_client()
        for call in report["calls"]:
            self.assertEqual(call["example"], call["count"] * call["batch"])
        schema = json.loads(self.run_tandem("report", "--schema").stdout)
        self.assertIn("example", schema["properties"]["calls"]["items"]["required"])
        self.assertIn("\n| `example` | count | products: `count` times `batch` |\n",
                      self.run_tandem("report", "--fields").stdout)
        written = self.root / "report.json"
        for value, said in ((1, ""), ("1", '"example" of calls[0] is not a count'), (None, "")):
            report["calls"][0]["example"] = value
            if value is None:
                del report["calls"][0]["example"]
            written.write_text(json.dumps(report), encoding="utf-8")
            read = self.run_tandem("report", written)
            self.assertEqual(read.returncode, 1 if said else 0)
            self.assertIn(said, read.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
