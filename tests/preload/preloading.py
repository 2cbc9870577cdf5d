"""What the tests share whose client knows nothing of Tandem: it runs with and without the library
preloaded.

Their arguments are CLIENT PRELOAD_LIBRARY [HOSTGPU_FOLDER]; without the folder there is a GPU, and
the real libraries.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

client, preload = sys.argv[1:3]
hostgpu = sys.argv[3] if len(sys.argv) > 3 else None
libraries = ["libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13"] if hostgpu else []
stand_ins = [os.path.join(hostgpu, name) for name in libraries]


def run(*arguments, program=client, tandem=True, **variables):
    """The finished client, or another program, in an environment without variables of Tandem's
    but these."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TANDEM_", "HOSTGPU_"))}
    environment["LD_PRELOAD"] = ":".join([preload] * tandem + stand_ins)
    environment.update(variables)
    return subprocess.run([program, *arguments], env=environment, capture_output=True, text=True,
                          timeout=300, check=False)


def results(process):
    """What such a program printed for each call."""
    return {line.split(":")[0]: line.split(":")[1].split()
            for line in process.stdout.splitlines()}


def read_calls(path):
    """The calls of a report, which is gone then; without calls there is none."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        calls = json.load(file)["calls"]
    os.remove(path)
    return calls


def said_by_client(process):
    """Lines on stdout, but for those in which cuBLAS itself names an argument that it refuses."""
    return [line for line in process.stdout.splitlines() if not line.startswith(" ** On entry to ")]


# cuBLAS 13.1 multiplies NaN by an alpha of 0 if that is in device memory, or if matrices are in
# arrays; the host device does not.
CUBLAS_MULTIPLIES_BY_0 = hostgpu is None


def said_by_tandem(process):
    """Lines on stderr, but for what verification says of such products of cuBLAS."""
    return [
        line for line in process.stderr.splitlines()
        if not (CUBLAS_MULTIPLIES_BY_0 and
                line.endswith(" of C is nan, and the product is not (said once)"))
    ]


class Preloaded(unittest.TestCase):
    """The client without Tandem, `plain`, and with it."""
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.plain = run(tandem=False)

    @classmethod
    def path(cls, name):
        """Of the report that is called so."""
        return os.path.join(cls.folder.name, name.replace(":", "-") + ".json")

    @classmethod
    def calls(cls, name):
        """The calls of that report."""
        with open(cls.path(name), encoding="utf-8") as file:
            return json.load(file)["calls"]

    def report(self, name, *arguments, **variables):
        """The client's process with these arguments and variables, and the calls of its report."""
        process = run(*arguments, TANDEM_REPORT=self.path(name), **variables)
        return process, self.calls(name)
