"""What this machine has, and what a product would take on it: the launcher's answers."""

from __future__ import annotations

import functools
from typing import Any, Optional

from . import _launcher


@functools.cache
def _sizes() -> dict[str, list[str]]:
    """The sizes that each routine takes, in the order in which `tandem plan` wants them."""
    listed = _launcher.ask("plan", "--routines")
    return {row["routine"]: row["sizes"].split() for row in listed}


def plan(m: int, n: int, k: int, *, routine: str = "dgemm", accuracy: Optional[str] = None,
         batch: int = 1, device: Optional[str] = None) -> dict[str, Any]:
    """What a product takes in every mode, by prediction, and which one mode "auto" would take.

    m, n, k: C is m x n, and k the terms of a sum.
    routine: "dgemm", "zgemm", or another that `tandem plan --routines` lists with its sizes: those
       that it lacks count for nothing. Of dgetrs and dpotrs n is the order, k the right-hand sides,
       and of dormqr and dorgqr k the reflectors.
    accuracy: as TANDEM_ACCURACY; batch: so many products in one call.
    device: the name of another device, such as "NVIDIA H200"; None: the first one of this machine.

    Returns the dictionary of `tandem plan --json`: "auto" has the mode, "modes" a list with the
    predicted seconds of each; times of a GPU that was not calibrated follow from its properties.
    Raises ValueError, which names the argument and what is allowed, and ImportError where the
    package lacks its launcher.
    """
    given = {"M": m, "N": n, "K": k}
    options = [f"--routine={routine}"]
    if batch != 1:
        options.append(f"--batch={batch}")
    if accuracy is not None:
        options.append(f"--accuracy={accuracy}")
    if device is not None:
        options.append(f"--device={device}")
    sizes = [str(given[name]) for name in _sizes().get(str(routine), given)]
    told: dict[str, Any] = _launcher.ask("plan", *options, "--", *sizes)
    return told


def devices() -> list[str]:
    """The GPUs of this machine, a text for each: its name, compute capability and memory. An empty
    list where there is none, and products run on the host device. Raises ImportError where the
    package lacks its launcher."""
    facts = _launcher.ask("doctor")["facts"]
    return [
        fact["text"] for fact in facts
        if fact["name"].startswith("device") and not fact["text"].startswith("none")
    ]
