"""What counts for the cuBLAS calls of this process: for all of it, or for a `with` block."""

from __future__ import annotations

import contextlib
import ctypes
import inspect
import json
import os
import threading
from typing import Any, Callable, Optional, TypeVar

from . import _library

# What may be set while a process runs, and their order in a text of settings.
OPTIONS = ("mode", "accuracy", "strategy", "workspace", "verify", "graph_branch")

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _settings(mode: Optional[str], options: dict[str, Any]) -> bytes:
    """The text that tandem_set and tandem_push take.

    Raises TypeError for what is no option, ValueError for a value that cannot be in such a text.
    """
    words = {"mode": mode, **options}
    for name, value in words.items():
        if name not in OPTIONS:
            raise TypeError(f"'{name}' is no option that may be set here; allowed: "
                            f"{', '.join(OPTIONS)}")
        if value is not None and (not str(value) or any(c in str(value) for c in " =\0")):
            raise ValueError(f"{name} is {value!r}; `tandem options` lists what is allowed")
    return _library.encode(" ".join(f"{name}={value}" for name, value in words.items()
                                    if value is not None))


def get(option: str = "mode") -> str:
    """The value of an option that counts for the calling thread, as a text.

    option: a name that `tandem options` lists, without TANDEM_ and in small letters. Raises
    ValueError if there is none of that name.
    """
    if "\0" in str(option):
        raise ValueError(f"option is {option!r}; `tandem options` lists what is allowed")
    value = ctypes.create_string_buffer(8192)
    _library.call("tandem_get", _library.encode(str(option)), value, len(value))
    return os.fsdecode(value.value)


def enable(mode: str = "auto", **options: Any) -> None:
    """Has the libraries of this process call Tandem in place of cuBLAS, from now on.

    Works for what is loaded already (PyTorch, CuPy, JAX, ...) and for what is loaded later. In a
    process that was started by `tandem run` it only sets the mode.

    mode: as in TANDEM_MODE: "auto", "ozaki2", "ts", ...; `tandem modes` lists them.
    options: accuracy, strategy, workspace, verify and graph_branch, as `tandem options` has
        them.

    Raises ValueError, which names the option and what is allowed, and TypeError for a name that is
    no option; nothing is changed then. Call it again for another mode.
    """
    settings = _settings(mode, options)
    _library.call("tandem_set", settings)
    _library.call("tandem_count_calls")
    _library.call("tandem_attach")


def disable() -> None:
    """Gives all libraries cuBLAS back, as it was before `enable`."""
    _library.call("tandem_detach")


def _of_process() -> bytes:
    """The settings of the process, which count for a thread that is in no region: a new one."""
    words: list[str] = []
    thread = threading.Thread(
        target=lambda: words.extend(f"{name}={get(name)}" for name in OPTIONS))
    thread.start()
    thread.join()
    return " ".join(words).encode()


class Region(contextlib.ContextDecorator):
    """What `mode` returns: a block in which other options count. It may be entered again, also in
    itself and in several threads; as a decorator, each call of the function is such a block."""

    def __init__(self, settings: bytes, everywhere: bool) -> None:
        self._settings, self._everywhere = settings, everywhere
        self._threads: list[int] = []  # that are in the block, those of one thread several times
        self._before: list[bytes] = []  # settings of the process at each entry

    def __call__(self, function: _Function) -> _Function:
        kinds = (inspect.iscoroutinefunction, inspect.isgeneratorfunction,
                 inspect.isasyncgenfunction)
        if any(is_kind(function) for is_kind in kinds):
            name = getattr(function, "__qualname__", repr(function))
            raise TypeError(f"{name} does its work after its call has returned; allowed: other "
                            f"functions, or a with block in it")
        return super().__call__(function)

    def __enter__(self) -> None:
        if not self._everywhere:
            _library.call("tandem_push", self._settings)
            self._threads.append(threading.get_ident())
            return
        before = _of_process()
        _library.call("tandem_set", self._settings)
        self._before.append(before)

    def __exit__(self, *_: object) -> None:
        if self._everywhere:
            _library.call("tandem_set", self._before.pop())
            return
        # A generator that is closed elsewhere must not end another thread's region.
        thread = threading.get_ident()
        if thread in self._threads:
            self._threads.remove(thread)
            _library.call("tandem_pop")


def mode(mode: Optional[str] = None, *, everywhere: bool = False, **options: Any) -> Region:
    """A region in which other options count, for cuBLAS calls of this thread.

    Other asyncio tasks of the thread have them, too, while the block awaits something.

    with tandem.mode("ts", verify="sample"):
        c = a @ b

    mode, options: as for `enable`; what is not given stays as it is outside.
    everywhere: for all threads of the process that are in no region of their own, as those in which
    PyTorch runs backward passes. Such regions must not overlap in several threads.

    Raises what `enable` does; the block does not run then. Products that are captured into a CUDA
    graph keep the mode of their capture. A function that is compiled has the mode that counts where
    it is called, not where it is compiled.
    """
    return Region(_settings(mode, options), everywhere)


def reach() -> dict[str, Any]:
    """Which loaded libraries call cuBLAS, and which of them `enable` reaches.

    {"is_attached": bool, "libraries": [{"path", "imports", "redirected", "may_have_looked_up"}]}:
    the functions of cuBLAS that a library imports, and how many of these lead to Tandem now. A
    library that may have looked functions up before `enable` keeps on calling cuBLAS: enable
    Tandem before it is used, or start Python by `tandem run`.
    """
    told: dict[str, Any] = json.loads(_library.text_of("tandem_reach"))
    return told
