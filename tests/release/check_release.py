"""scripts/release, on a copy of the sources: what it refuses, and that its archive builds and tests
where there is no git.

usage: check_release.py SOURCE_ROOT MESON CUDA_ROOT

Ends as skipped where the sources are not a checkout of git's, as those of an archive are not.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv[1])
MESON, CUDA_ROOT = sys.argv[2:4]
SKIPPED = 77


def git(folder, *arguments):
    # Nobody's own settings, such as signatures of commits, take part.
    environment = dict(os.environ, GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_SYSTEM=os.devnull)
    names = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    return subprocess.run(["git", *names, *arguments], cwd=folder, env=environment, check=True,
                          capture_output=True, text=True).stdout


def tracked_files():
    names = git(SOURCE, "ls-files", "-z").split("\0")
    return [name for name in names if name and (SOURCE / name).is_file()]


class Release(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.copy = pathlib.Path(cls.folder) / "copy"
        for name in tracked_files():
            (cls.copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(SOURCE / name, cls.copy / name)
        git(cls.copy, "init", "-q")
        cls.version = subprocess.run([cls.copy / "scripts" / "version"], check=True, text=True,
                                     capture_output=True).stdout.strip()

    def write_changes(self, heading, *, is_committed=True):
        """CHANGELOG.md with this first section."""
        sections = f"## {heading}\n\nIn short.\n\n- New.\n\n## 0.0.1 (2026-01-01)\n\n- Old.\n"
        (self.copy / "CHANGELOG.md").write_text("# Changes\n\n" + sections, encoding="utf-8")
        if is_committed:
            git(self.copy, "add", "-A")
            git(self.copy, "commit", "-q", "--allow-empty", "-m", "changes")

    def release(self):
        return subprocess.run([self.copy / "scripts" / "release"], capture_output=True, text=True,
                              check=False)

    def refusal(self):
        """Of a run that must leave nothing."""
        shutil.rmtree(self.copy / "build", ignore_errors=True)
        process = self.release()
        self.assertEqual((process.returncode, process.stdout), (1, ""), process.stderr)
        self.assertFalse((self.copy / "build" / "release").exists())
        return process.stderr

    def test_version_is_in_one_place(self):
        self.assertRegex(self.version, r"^\d+\.\d+\.\d+$")
        self.assertNotIn(f"'{self.version}'", (SOURCE / "meson.build").read_text(encoding="utf-8"))
        heading = re.search("^## (.*)$", (SOURCE / "CHANGELOG.md").read_text(encoding="utf-8"),
                            re.MULTILINE)
        self.assertEqual(heading[1].split(" ")[0], self.version)

    def test_what_it_refuses(self):
        for heading in (f"{self.version} (unreleased)", self.version, "99.0.0 (2026-11-28)"):
            self.write_changes(heading)
            self.assertEqual(
                self.refusal(), f"release: the first section of CHANGELOG.md is '{heading}'; "
                f"it must be '{self.version} (YYYY-MM-DD)'\n")
        self.write_changes(f"{self.version} (2026-11-28)")
        self.write_changes(f"{self.version} (2026-11-29)", is_committed=False)
        self.assertIn("CHANGELOG.md", self.refusal())

    def test_archive_builds_without_git(self):
        self.write_changes(f"{self.version} (2026-11-28)")
        process = self.release()
        self.assertEqual(process.returncode, 0, process.stderr)
        made = self.copy / "build" / "release"
        self.assertEqual((made / "notes.md").read_text(encoding="utf-8"), "In short.\n\n- New.\n")
        name = f"tandem-{self.version}"
        archive = made / f"{name}.tar.gz"
        self.assertEqual((made / f"{name}.tar.gz.sha256").read_text(encoding="ascii"),
                         f"{hashlib.sha256(archive.read_bytes()).hexdigest()}  {archive.name}\n")
        unpacked = pathlib.Path(self.folder) / "unpacked"
        with tarfile.open(archive) as tar:
            self.assertEqual(sorted(m.name for m in tar if m.isfile()),
                             sorted(f"{name}/{tracked}" for tracked in tracked_files()))
            tar.extractall(unpacked)
        self.build(unpacked / name)

    def build(self, sources):
        """With a git that fails, and leaves a trace."""
        trap = sources.parent / "bin"
        trap.mkdir()
        (trap / "git").write_text(f"#!/bin/sh\necho \"$@\" >>{trap}/called\nexit 1\n",
                                  encoding="ascii")
        (trap / "git").chmod(0o755)
        path = os.pathsep.join([str(trap), f"{CUDA_ROOT}/bin", os.environ["PATH"]])
        environment = dict(os.environ, PATH=path)

        def run(*command):
            process = subprocess.run(command, cwd=sources, env=environment, text=True, check=False,
                                     capture_output=True)
            self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
            return process.stdout

        run(MESON, "setup", "build", "-Dcuda=disabled", f"-Dtoolkit={CUDA_ROOT}", "-Dtests=true")
        run("ninja", "-C", "build", "-j2", "tests/fuzz/fuzz_elf")
        project = json.loads(run(MESON, "introspect", "build", "--projectinfo"))
        self.assertEqual(project["version"], self.version)
        run(MESON, "test", "-C", "build", "--no-rebuild", "fuzz elf", "docs")
        self.assertFalse((trap / "called").exists())


if __name__ == "__main__":
    if not shutil.which("git") or not (SOURCE / ".git").exists():
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1])
