"""The native library: which one this process uses, and its functions with their types."""

from __future__ import annotations

import ctypes
import functools
import os
from ctypes import POINTER, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p
from typing import Any

FOLDER = os.path.dirname(os.path.abspath(__file__))

OK, INVALID_VALUE, NO_MEMORY, UNSUPPORTED, LAUNCH_FAILED, NOT_PROVEN = range(6)


class Error(RuntimeError):
    """Tandem's library could not do what was asked for; the text says why."""


class NotProven(Error):
    """There is no proof of what was to be verified; the text says what stands in its way."""


class _Pair(ctypes.Structure):
    _fields_ = [("hi", c_double), ("lo", c_double)]


class _Triple(ctypes.Structure):
    _fields_ = [("x", ctypes.c_float), ("y", ctypes.c_float), ("z", ctypes.c_float)]


# A matrix: its address and its leading dimension.
_MATRIX = [c_void_p, c_int64]


def _product(number: Any) -> list[Any]:
    return [c_int, c_int, c_int64, c_int64, c_int64, number, *_MATRIX, *_MATRIX, number, *_MATRIX,
            c_void_p]


_SPLIT = [c_int64, c_int64, *_MATRIX, *_MATRIX, c_void_p]

_SIGNATURES: dict[str, list[Any]] = {
    "tandem_set": [c_char_p],
    "tandem_push": [c_char_p],
    "tandem_pop": [],
    "tandem_get": [c_char_p, c_char_p, c_size_t],
    "tandem_attach": [],
    "tandem_detach": [],
    "tandem_count_calls": [],
    "tandem_report": [c_char_p, c_size_t, POINTER(c_size_t)],
    "tandem_reach": [c_char_p, c_size_t, POINTER(c_size_t)],
    "tandem_dgemm": [c_char_p, *_product(c_double)],
    "tandem_ddgemm": _product(_Pair),
    "tandem_tsgemm": _product(_Triple),
    "tandem_dd_split": _SPLIT,
    "tandem_ts_split": _SPLIT,
    "tandem_verify_symmetric": [c_char_p, c_int64, *_MATRIX, *_MATRIX, *_MATRIX, c_void_p,
                                POINTER(c_double), POINTER(c_double), POINTER(c_int64), c_void_p],
}

PAIR, TRIPLE = _Pair, _Triple


def _has_driver() -> bool:
    if os.path.exists("/dev/nvidiactl"):
        return True
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def _path() -> str:
    """The library for this machine's GPU, or else the host device's, which needs none."""
    gpu = os.path.join(FOLDER, "lib", "libtandem.so")
    host = os.path.join(FOLDER, "lib", "libtandem-hostgpu.so")
    if os.path.exists(gpu) and (_has_driver() or not os.path.exists(host)):
        return gpu
    return host


def _open() -> ctypes.CDLL:
    """The copy that the process was started with, if there is one; else the package's."""
    process = ctypes.CDLL(None)
    if hasattr(process, "tandem_attach"):
        return process
    path = _path()
    if not os.path.exists(path):
        raise ImportError(f"{path} is not there: the package tandem is not installed whole")
    return ctypes.CDLL(path)


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """The library, opened at the first use."""
    lib = _open()
    lib.tandem_version.restype = c_char_p
    lib.tandem_last_message.restype = c_char_p
    for name, arguments in _SIGNATURES.items():
        getattr(lib, name).argtypes = arguments
        getattr(lib, name).restype = c_int
    return lib


def is_host_device() -> bool:
    """True if products run on the host device: without a GPU, and slowly."""
    return hasattr(library(), "hostgpu_launch")


def call(name: str, *arguments: Any) -> None:
    """Calls a function that returns a status, and raises what the status says.

    ValueError names an argument and what is allowed; MemoryError, NotProven and Error have the
    library's reason.
    """
    status = getattr(library(), name)(*arguments)
    if status == OK:
        return
    message = library().tandem_last_message().decode(errors="replace")
    kinds = {INVALID_VALUE: ValueError, NO_MEMORY: MemoryError, NOT_PROVEN: NotProven}
    raise kinds.get(status, Error)(message)


def encode(text: str) -> bytes:
    """A text for the library, which refuses what is no word of its own, and shows it."""
    return text.encode(errors="backslashreplace")


def text_of(name: str) -> str:
    """What a function tells that has the arguments text, bytes and needed."""
    needed = c_size_t(1 << 16)
    while True:
        room = ctypes.create_string_buffer(needed.value)
        call(name, room, len(room), ctypes.byref(needed))
        if needed.value <= len(room):
            return room.value.decode(errors="replace")
        needed.value += 4096  # it may grow meanwhile
