"""What is installed for programs that call Tandem by name: the header, and a tandem.pc that names a
library beside it.

usage: check_installed.py SOURCE_ROOT BUILD_FOLDER VERSION MESON CUDA_ROOT COMPILER...
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE, BUILD, VERSION, MESON, CUDA_ROOT, *COMPILER = sys.argv[1:]
PROGRAM = r"""
#include <stdio.h>
#include <tandem.h>
int main(void) { return puts(tandem_version()) < 0; }
"""


def output(*command, **variables):
    done = subprocess.run(command, env={**os.environ, **variables}, stdout=subprocess.PIPE,
                          text=True, check=True)
    return done.stdout


class Installed(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_a_program_is_linked_by_pkg_config(self):
        output(MESON, "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", self.folder)
        (package,) = self.folder.rglob("tandem.pc")
        flags = output("pkg-config", "--cflags", "--libs", "tandem",
                       PKG_CONFIG_PATH=str(package.parent), PKG_CONFIG_SYSROOT_DIR=str(self.folder))
        source, program = self.folder / "program.c", self.folder / "program"
        source.write_text(PROGRAM, encoding="utf-8")
        subprocess.run([*COMPILER, source, "-o", program, *flags.split()], check=True)
        self.assertEqual(output(program, LD_LIBRARY_PATH=str(package.parent.parent)),
                         VERSION + "\n")

    def test_a_program_may_be_linked_to_the_toolkit_s_runtime_first(self):
        """Without CUDA the host device's takes its place, whatever LD_LIBRARY_PATH has."""
        output(MESON, "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", self.folder)
        (package,) = self.folder.rglob("tandem.pc")
        libraries = package.parent.parent
        if (libraries / "libtandem.so").exists():
            self.skipTest("this build is for GPUs")
        flags = output("pkg-config", "--cflags", "--libs", "tandem",
                       f"--define-variable=prefix={libraries.parent}",
                       PKG_CONFIG_PATH=str(package.parent))
        program, toolkit = self.folder / "program", f"{CUDA_ROOT}/lib64"
        subprocess.run([
            *COMPILER, pathlib.Path(SOURCE, "tests/preload/linked_runtime.c"), "-o", program,
            f"-I{CUDA_ROOT}/include", f"-L{toolkit}", "-lcudart", *flags.split()
        ], check=True)
        self.assertEqual(output(program, LD_LIBRARY_PATH=f"{libraries}:{toolkit}"), "right\n")

    def test_without_cuda_it_names_the_host_devices_library(self):
        subprocess.run([
            MESON, "setup", self.folder / "build", SOURCE, "-Dcuda=disabled", "-Dtests=false",
            f"-Dtoolkit={CUDA_ROOT}"
        ], stdout=subprocess.DEVNULL, check=True)
        plan = json.loads(output(MESON, "introspect", "--install-plan", self.folder / "build"))
        names = {pathlib.Path(file).name for group in plan.values() for file in group}
        self.assertLessEqual({"tandem.h", "tandem.pc", "libtandem-hostgpu.so"}, names)
        package = (self.folder / "build" / "meson-private" /
                   "tandem.pc").read_text(encoding="utf-8")
        self.assertRegex(package, r"(?m)^Libs:.* -ltandem-hostgpu ")

    def setup(self, *options):
        """Meson's answer where the packages of tests are not installed."""
        packages = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        for place in output("pkg-config", "--variable", "pc_path", "pkg-config").strip().split(":"):
            for file in pathlib.Path(place).glob("*.pc"):
                if file.stem not in ("cmocka", "mpfr"):
                    (packages / file.name).symlink_to(file)
        environment = {**os.environ, "PKG_CONFIG_LIBDIR": str(packages)}
        environment.pop("PKG_CONFIG_PATH", None)
        return subprocess.run([
            MESON, "setup", self.folder / "build", SOURCE, "-Dcuda=disabled",
            f"-Dtoolkit={CUDA_ROOT}", *options
        ], env=environment, capture_output=True, text=True, check=False)

    def test_nodes_need_nothing_of_tests(self):
        """docs/install.md's way to build for them, but for the devices."""
        page = pathlib.Path(SOURCE, "docs", "install.md").read_text(encoding="utf-8")
        (options,) = re.findall(r"meson setup build-nodes (.*)", page)
        done = self.setup(*(o for o in options.split() if not re.match("-D(archs|hostgpu)=", o)))
        self.assertEqual(done.returncode, 0, done)

    def test_what_is_missing_is_said(self):
        done = self.setup()
        self.assertEqual(done.returncode, 1, done)
        self.assertRegex(done.stdout, "ERROR: .*no (cmocka|mpfr), which the tests need: .*"
                         "-Dtests=false")

    def test_architectures_that_are_none(self):
        """As `scripts/package --archs none` takes; nvcc would refuse them at the first kernel."""
        for given, bad in (("none", "none"), ("80,sm_90", "sm_90")):
            done = self.setup(f"-Darchs={given}")
            self.assertEqual(done.returncode, 1, done)
            self.assertRegex(done.stdout, f"ERROR: .*archs has '{bad}'; allowed: 80,90a and .*; "
                             "-Dcuda=disabled leaves GPUs out")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
