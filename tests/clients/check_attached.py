"""Runs attached.py with the package tandem put together from a build folder.

usage: check_attached.py SOURCE_ROOT BUILD_ROOT [ARGUMENT ...]  (arguments of attached.py)
"""

import os
import subprocess
import sys
import tempfile


def main(source, build, *arguments):
    sys.path.insert(0, os.path.join(source, "tests", "python"))
    import package
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TANDEM_", "HOSTGPU_"))}
    environment["PATH"] = os.pathsep.join((os.path.join(build, "tools"), environment["PATH"]))
    with tempfile.TemporaryDirectory() as folder:
        environment["PYTHONPATH"] = package.make(folder, source, build)
        program = os.path.join(source, "tests", "clients", "attached.py")
        return subprocess.run([sys.executable, program, *arguments], env=environment,
                              check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
