"""`tandem kernel`: a Jupyter kernel that starts with Tandem in front of cuBLAS."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from typing import Sequence

from . import _launcher, _regions


def _spec(display_name: str, mode: str, report: str) -> dict[str, object]:
    """What kernel.json says (Jupyter's kernelspec)."""
    start = [_launcher.LAUNCHER, "run", "--mode", mode]
    if report:
        start += ["--report", report]
    return {
        "argv": [*start, "--", sys.executable, "-m", "ipykernel_launcher", "-f",
                 "{connection_file}"],
        "display_name": display_name,
        "language": "python",
        "metadata": {"debugger": True},
    }


def install(name: str = "tandem", *, mode: str = "auto", prefix: str = "", report: str = "") -> str:
    """Installs a kernel of this Python that `tandem run` starts, and returns its folder.

    name: letters, digits, '.', '-' and '_'; mode: as in TANDEM_MODE.
    prefix: the environment that it is for; "": the user, in whose folder Jupyter finds it.
    report: a file that the kernel leaves its report in; "": none.

    Raises ValueError for a name or a mode that is not allowed; ImportError where jupyter_client is
    not installed.
    """
    from jupyter_client.kernelspec import KernelSpecManager
    with _regions.mode(mode):
        pass  # it is one
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "kernel.json"), "w", encoding="utf-8") as file:
            json.dump(_spec(f"Python (Tandem, {mode})", mode, report), file, indent=1)
        return str(KernelSpecManager().install_kernel_spec(folder, name, user=not prefix,
                                                           prefix=prefix or None))


def main(arguments: Sequence[str]) -> int:
    """`tandem kernel install ...`; returns the exit status."""
    parser = argparse.ArgumentParser(prog="tandem kernel", description="Jupyter kernels that start "
                                     "with Tandem in front of cuBLAS")
    commands = parser.add_subparsers(dest="command", required=True)
    add = commands.add_parser("install", help="install a kernel of this Python")
    add.add_argument("--name", default="tandem", help="of the kernel, without spaces (%(default)s)")
    add.add_argument("--mode", default="auto", help="as TANDEM_MODE (%(default)s)")
    add.add_argument("--prefix", default="", help="the environment that it is for; else the user's")
    add.add_argument("--report", default="", metavar="FILE", help="the report of each run")
    chosen = parser.parse_args(arguments)
    try:
        folder = install(chosen.name, mode=chosen.mode, prefix=chosen.prefix, report=chosen.report)
    except ImportError:
        print("tandem: error: jupyter_client is not installed: pip install jupyter_client",
              file=sys.stderr)
        return 1
    except (ValueError, OSError) as error:
        print(f"tandem: error: {error}", file=sys.stderr)
        return 2
    print(folder)
    return 0
