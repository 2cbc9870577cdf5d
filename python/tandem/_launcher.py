"""The `tandem` command as pip installs it: the launcher, which finds its libraries beside itself,
and `tandem kernel`, which is Python's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any, NoReturn

LAUNCHER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "tandem")


def ask(*arguments: str) -> Any:
    """What a command of the launcher prints with --json.

    Raises ValueError with the launcher's own line if it refuses the arguments, ImportError if there
    is no launcher, RuntimeError if it fails otherwise.
    """
    command, *rest = arguments
    for argument in rest:
        if "\0" in argument:
            raise ValueError(f"{argument!r} has a null character; allowed: all others")
    try:
        done = subprocess.run([LAUNCHER, command, "--json", *rest], capture_output=True,
                              encoding="utf-8", errors="replace", check=False,
                              stdin=subprocess.DEVNULL)
    except OSError as error:
        raise ImportError(f"cannot run '{LAUNCHER}' ({error.strerror}): the package tandem is not "
                          f"installed whole") from None
    try:
        return json.loads(done.stdout)
    except ValueError:
        line = (done.stderr.strip() or done.stdout.strip()).removeprefix("tandem: error: ")
        raise (ValueError if done.returncode == 2 else RuntimeError)(line) from None


def main() -> NoReturn:
    """Runs the command line of the process."""
    if sys.argv[1:2] == ["kernel"]:
        from . import _kernel
        sys.exit(_kernel.main(sys.argv[2:]))
    try:
        os.execv(LAUNCHER, [LAUNCHER, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"tandem: error: cannot run '{LAUNCHER}': {error.strerror}")
