"""The recipes of packaging/: they name this version, hold what docs/install.md names, and preload
nothing into a shell.

usage: check_packaging.py SOURCE_ROOT VERSION
What the recipes' own tools say of them is for scripts/package recipes.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import types
import unittest
from unittest import mock

ROOT, VERSION = pathlib.Path(sys.argv[1]), sys.argv[2]
PACKAGING = ROOT / "packaging"
RECIPES = sorted(path for path in PACKAGING.rglob("*") if path.is_file())


def read(path):
    return path.read_text(encoding="utf-8")


class SpackPackage:
    """What a recipe of Spack is derived from, as far as that is used here."""


class Spec:
    """Of one variant, and a toolkit."""

    def __init__(self, archs, *satisfied):
        self.satisfied = satisfied
        self.variants = {"cuda_arch": types.SimpleNamespace(value=archs)}

    def __getitem__(self, name):
        return types.SimpleNamespace(prefix=f"/spack/{name}")

    def satisfies(self, variant):
        return variant in self.satisfied


def spack_recipe():
    """The class of packaging/spack, over stand-ins for Spack's own names."""
    package = types.ModuleType("spack.package")
    package.MesonPackage = type("MesonPackage", (SpackPackage,), {})
    package.CudaPackage = type("CudaPackage", (SpackPackage,), {})
    for directive in ("license", "version", "variant", "depends_on", "conflicts"):
        setattr(package, directive, lambda *_, **__: None)
    stand_ins = {"spack": types.ModuleType("spack"), package.__name__: package}
    with mock.patch.dict(sys.modules, stand_ins):
        names = {}
        exec(compile(read(PACKAGING / "spack/package.py"), "package.py", "exec"), names)
    return names["Tandem"]


class Packaging(unittest.TestCase):
    def test_every_kind_is_there(self):
        kinds = {path.relative_to(PACKAGING).parts[0] for path in RECIPES}
        self.assertEqual(kinds, {"conda", "containers", "debian", "easybuild", "lmod", "spack"})
        guide = read(ROOT / "docs/install.md")
        for path in re.findall(r"`(packaging/[^`]+)`", guide):
            self.assertTrue((ROOT / path).exists(), path)

    def test_nothing_is_preloaded_into_a_shell(self):
        for path in RECIPES:
            for line in read(path).splitlines():
                if not line.lstrip().startswith(("#", "--")):
                    self.assertNotRegex(line, r"LD_PRELOAD\s*=|(setenv|path)\W+LD_PRELOAD", path)

    def test_versions(self):
        for name, pattern in {
                "debian/changelog": r"^tandem \(([\d.]+)\)",
                "conda/recipe.yaml": r"(?m)^  version: ([\d.]+)$",
                "containers/Dockerfile": r"tandem_([\d.]+)_amd64",
                "containers/tandem.def": r"tandem_([\d.]+)_amd64",
                "lmod/tandem.lua": r"Version: ([\d.]+)",
        }.items():
            found = set(re.findall(pattern, read(PACKAGING / name)))
            self.assertEqual(found, {VERSION}, name)
        (easyconfig,) = (PACKAGING / "easybuild").glob(f"Tandem-{VERSION}-*.eb")
        self.assertIn(f"version = '{VERSION}'", read(easyconfig))

    def test_recipes_in_python_are_python(self):
        for path in [*PACKAGING.glob("easybuild/*.eb"), *PACKAGING.glob("spack/*.py")]:
            compile(read(path), str(path), "exec")

    def test_what_spack_asks_of_meson(self):
        recipe = spack_recipe()()
        for archs, satisfied, wanted in [
            (("80", "90"), ["+cuda"], ["-Dhostgpu=disabled", "-Dcuda=enabled", "-Darchs=80,90a"]),
            (("none",), ["+cuda", "+hostgpu"], ["-Dhostgpu=enabled", "-Darchs=all"]),
            (("none",), ["~cuda", "+hostgpu"], ["-Dhostgpu=enabled", "-Dcuda=disabled"]),
        ]:
            recipe.spec = Spec(archs, *satisfied)
            arguments = recipe.meson_args()
            self.assertEqual(set(wanted) - set(arguments), set())
            self.assertIn("-Dtoolkit=/spack/cuda", arguments)
            known = read(ROOT / "meson_options.txt")
            for option in arguments:
                self.assertIn(f"option('{option[2:].split('=')[0]}'", known)

    @unittest.skipUnless(shutil.which("luac"), "no luac (package lua5.4 or the like)")
    def test_the_module_file_is_lua(self):
        subprocess.run(["luac", "-p", PACKAGING / "lmod/tandem.lua"], check=True)

    def test_options_of_the_recipes_are_known(self):
        known = read(ROOT / "meson_options.txt")
        for path in [PACKAGING / "conda/recipe.yaml", PACKAGING / "debian/rules",
                     *PACKAGING.glob("easybuild/*.eb"), ROOT / "scripts/package"]:
            for name in re.findall(r"\B-D([a-z_]+)=", read(path)):
                # These are Meson's own.
                if not name.endswith("_args") and name not in ("prefer_static", "libdir"):
                    self.assertIn(f"option('{name}'", known, path)

    def test_bad_arguments_are_refused(self):
        done = subprocess.run([ROOT / "scripts/package", "rpm"], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("usage: scripts/package", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
