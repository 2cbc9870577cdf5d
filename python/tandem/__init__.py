"""Matrix products of PyTorch, CuPy, JAX and everything else that calls cuBLAS, in emulated FP64.

    import torch, tandem
    tandem.enable("auto")                       # products of all libraries, from now on
    with tandem.mode("ts", verify="sample"):    # another arithmetic, for this block and thread
        c = a @ b
    tandem.report()                             # what was called: a table in a notebook

Works in a Python that runs already; nothing needs to be started otherwise. docs/python.md shows
what there is, docs/regions.md how it works.

After a fork of this process (multiprocessing's "fork") what counts in the parent counts in the
child; a process that is started anew ("spawn") begins with what its environment says, and calls
enable itself.
"""

from typing import TYPE_CHECKING

from ._launcher import main
from ._library import Error, NotProven
from ._machine import devices, plan
from ._memory import DeviceArray, DevicePart, to_device
from ._products import Eigenvalues, matmul, verified_eigh
from ._regions import disable, enable, get, mode, reach
from ._report import Report, report, reset

__all__ = [
    "DeviceArray", "DevicePart", "Eigenvalues", "Error", "NotProven", "Report", "devices",
    "disable", "enable", "get", "main", "matmul", "mode", "plan", "reach", "report", "reset",
    "to_device", "verified_eigh"
]


__version__: str  # made at the first use, as it opens the library

# Hidden from type checkers, for which a module that has this has any name.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> str:
        if name == "__version__":
            from . import _library
            return _library.library().tandem_version().decode()
        raise AttributeError(f"module 'tandem' has no attribute '{name}'")
