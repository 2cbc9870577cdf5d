"""What the tests of netlib's programs share: Debian's packages of them, and a run with Tandem
preloaded, with what Tandem reports of it."""

import glob
import json
import os
import pathlib
import subprocess
import sys


def find(path, package):
    """A file of the package, below a folder of libraries; without it the test is skipped."""
    found = glob.glob(f"/usr/lib/*/{path}")
    if not found:
        print(f"skipped: {path} is missing; Debian's package {package} has it")
        sys.exit(77)
    return found[0]


def intercepted(tandem, functions):
    """Those of the functions that Tandem emulates, in some mode."""
    entries = json.loads(
        subprocess.run([tandem, "doctor", "--entries", "--json"], capture_output=True, text=True,
                       check=True).stdout)
    return {
        row["function"]
        for row in entries if row["function"] in functions and row["family"]
    }


def run(program, directions, folder, mode, libraries, **variables):
    """Has the program read the directions, in the folder, with the libraries preloaded. Returns how
    it ended, and the calls that Tandem reports."""
    report = pathlib.Path(folder, "report.json")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TANDEM_", "HOSTGPU_"))}
    environment.update(variables, LD_PRELOAD=":".join(libraries), TANDEM_MODE=mode,
                       TANDEM_REPORT=str(report))
    done = subprocess.run([program], input=directions, cwd=folder, env=environment, text=True,
                          capture_output=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{mode}: status {done.returncode}: {done.stderr}")
    return done, json.loads(report.read_text(encoding="utf-8"))["calls"]
