"""The recipes of packaging/: they name this version, hold what docs/install.md names, and preload
nothing into a shell.

usage: check_packaging.py SOURCE_ROOT VERSION
"""

import pathlib
import re
import subprocess
import sys
import unittest

ROOT, VERSION = pathlib.Path(sys.argv[1]), sys.argv[2]
PACKAGING = ROOT / "packaging"
RECIPES = sorted(path for path in PACKAGING.rglob("*") if path.is_file())


def read(path):
    return path.read_text(encoding="utf-8")


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

    def test_bad_arguments_are_refused(self):
        done = subprocess.run([ROOT / "scripts/package", "rpm"], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("usage: scripts/package", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
