"""Device memory without any array library: for scripts that have NumPy alone, and for the host
device."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
import operator
import os
from typing import Any, Callable, Iterator, Optional

from . import _arrays, _library

_TO_DEVICE, _TO_HOST, _ON_DEVICE = 1, 2, 3  # cudaMemcpyKind
_WITHOUT_TIME = 2  # cudaEventDisableTiming
_MOST_BYTES = 2**63 - 1


class _Attributes(ctypes.Structure):
    """What is read of cudaPointerAttributes, and room for what newer versions may have."""
    _fields_ = [("type", ctypes.c_int), ("device", ctypes.c_int), ("rest", ctypes.c_char * 248)]


_IS_DEVICE = 2  # cudaMemoryTypeDevice


def _find_runtime() -> ctypes.CDLL:
    """The host device's, or else the one that is loaded or that the loader finds."""
    if _library.is_host_device():
        # The host device comes along with the library, in its own copy.
        return _library.library()
    for name in ("libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise _library.Error("no CUDA runtime (libcudart.so, 11 to 13) is loaded or found")


@functools.lru_cache(maxsize=None)
def _runtime() -> ctypes.CDLL:
    """The CUDA runtime of the process."""
    runtime = _find_runtime()
    runtime.cudaMalloc.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]
    runtime.cudaFree.argtypes = [ctypes.c_void_p]
    runtime.cudaMemcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    runtime.cudaStreamSynchronize.argtypes = [ctypes.c_void_p]
    runtime.cudaStreamWaitEvent.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint]
    runtime.cudaEventCreateWithFlags.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_uint]
    runtime.cudaEventRecord.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    runtime.cudaEventDestroy.argtypes = [ctypes.c_void_p]
    runtime.cudaPointerGetAttributes.argtypes = [ctypes.POINTER(_Attributes), ctypes.c_void_p]
    runtime.cudaGetErrorString.restype = ctypes.c_char_p
    return runtime


def _check(status: int) -> None:
    if status != 0:
        text = _runtime().cudaGetErrorString(status).decode()
        raise (MemoryError if status == 2 else _library.Error)(text)


def wait(stream: int) -> None:
    """Until all work in a stream is done."""
    _check(_runtime().cudaStreamSynchronize(stream))


def follow(stream: int, other: int) -> None:
    """Has all that a stream is given from now on wait for what the other one has so far."""
    event = ctypes.c_void_p()
    _check(_runtime().cudaEventCreateWithFlags(ctypes.byref(event), _WITHOUT_TIME))
    try:
        _check(_runtime().cudaEventRecord(event, other))
        _check(_runtime().cudaStreamWaitEvent(stream, event, 0))
    finally:
        _runtime().cudaEventDestroy(event)


def _device_at(pointer: int) -> int:
    """The device whose memory an address is in; -1: none."""
    at = _Attributes()
    _check(_runtime().cudaPointerGetAttributes(ctypes.byref(at), pointer))
    return int(at.device) if at.type == _IS_DEVICE else -1


@contextlib.contextmanager
def device_of(pointer: int) -> Iterator[None]:
    """A block in which the device that has this memory is the thread's current one. Without a CUDA
    runtime that can be called, the current device stays."""
    before = ctypes.c_int(-1)
    try:
        device = _device_at(pointer)
        _check(_runtime().cudaGetDevice(ctypes.byref(before)))
    except _library.Error:
        device = -1
    if device in (-1, before.value):
        yield
        return
    _check(_runtime().cudaSetDevice(device))
    try:
        yield
    finally:
        _check(_runtime().cudaSetDevice(before.value))


def _as_numpy(to_host: Callable[[], Any], dtype: Any, copy: Optional[bool]) -> Any:
    """What NumPy's __array__ is to return."""
    if copy is False:
        raise ValueError("copy is False; allowed for an array in device memory: True or None")
    host = to_host()
    return host if dtype is None else host.astype(dtype)


def _sizes(shape: Any) -> tuple[int, ...]:
    try:
        return tuple(operator.index(size) for size in shape)
    except TypeError:
        raise TypeError(f"shape is {shape!r}; allowed: a tuple of whole numbers") from None


class DeviceArray:
    """Numbers in device memory, row after row, until the object goes.

    Has __cuda_array_interface__, so that CuPy, PyTorch and Numba can take it as it is.

    shape: a size for each dimension; typestr: "<f8" or "<f4". The numbers are not set.

    Raises TypeError and ValueError, which name the argument; MemoryError; tandem.Error.
    """

    def __init__(self, shape: tuple[int, ...], typestr: str = _arrays.FLOAT64) -> None:
        self.shape = _sizes(shape)
        if any(size < 0 for size in self.shape):
            raise ValueError(f"shape is {self.shape}; allowed: sizes from 0")
        if not isinstance(typestr, str) or typestr not in _arrays.TYPES:
            raise TypeError(f"typestr is '{typestr}'; allowed: {', '.join(_arrays.TYPES)}")
        self.typestr = typestr
        self.nbytes = math.prod(self.shape) * _arrays.bytes_of(typestr)
        if self.nbytes > _MOST_BYTES:
            raise MemoryError(f"shape is {self.shape}: no memory is so large")
        self._process = os.getpid()
        self._pointer = ctypes.c_void_p()
        _check(_runtime().cudaMalloc(ctypes.byref(self._pointer), max(1, self.nbytes)))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"shape": self.shape, "typestr": self.typestr, "data": (self._pointer.value, False),
                "strides": None, "version": 3}

    def tandem_empty(self, shape: tuple[int, ...], typestr: str) -> DeviceArray:
        """Another one, for a result."""
        return DeviceArray(shape, typestr)

    def __repr__(self) -> str:
        return f"<tandem.DeviceArray of shape {self.shape}, '{self.typestr}'>"

    def to_host(self) -> Any:
        """A copy as an array of NumPy, once the default stream has made it."""
        import numpy
        host = numpy.empty(self.shape, dtype=self.typestr)
        with device_of(self._pointer.value or 0):
            wait(0)
            _check(_runtime().cudaMemcpy(host.ctypes.data, self._pointer, self.nbytes, _TO_HOST))
        return host

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return _as_numpy(self.to_host, dtype, copy)

    def __copy__(self) -> DeviceArray:
        """Another one with the same numbers, once the default stream has made them."""
        with device_of(self._pointer.value or 0):
            other = DeviceArray(self.shape, self.typestr)
            wait(0)
            _check(_runtime().cudaMemcpy(other._pointer, self._pointer, self.nbytes, _ON_DEVICE))
        return other

    def __deepcopy__(self, _memo: Any) -> DeviceArray:
        return self.__copy__()

    def __reduce_ex__(self, _protocol: Any) -> Any:
        raise TypeError("a DeviceArray is in the memory of a device, and cannot be pickled; "
                        "to_host() gives NumPy's array")

    def __del__(self, getpid: Any = os.getpid, runtime: Any = _runtime) -> None:
        # A child of fork() has no part in its parent's device memory. Where the interpreter ends,
        # the names of this module are gone before the last arrays are, but not the defaults.
        if getattr(self, "_pointer", None) and self._process == getpid():
            runtime().cudaFree(self._pointer)


class DevicePart:
    """One part of all numbers of a DeviceArray whose last dimension has their parts."""

    def __init__(self, whole: DeviceArray, part: int) -> None:
        self._whole, self._part = whole, part
        self.shape = whole.shape[:-1]
        self.typestr = whole.typestr

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        interface = self._whole.__cuda_array_interface__
        pointer, is_read_only = interface["data"]
        item = _arrays.bytes_of(self.typestr)
        strides, step = [], item * self._whole.shape[-1]
        for size in reversed(self.shape):
            strides.append(step)
            step *= size
        return {**interface, "shape": self.shape, "strides": tuple(reversed(strides)),
                "data": (pointer + item * self._part, is_read_only)}

    def __repr__(self) -> str:
        return f"<tandem.DevicePart of shape {self.shape}, '{self.typestr}'>"

    def to_host(self) -> Any:
        """A copy as an array of NumPy, once the default stream has made it."""
        return self._whole.to_host()[..., self._part].copy()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return _as_numpy(self.to_host, dtype, copy)


def to_device(array: Any) -> DeviceArray:
    """A copy of an array of NumPy, or of what NumPy makes one of, as binary64 numbers in device
    memory.

    array: of any shape; binary64 keeps 53 bits of each number. The copy is there when the call
       returns, in memory of the current device that goes with the object.

    Raises TypeError for complex numbers, times, texts and None, and ValueError for masked numbers:
    a copy would have lost what they are. MemoryError; tandem.Error.
    """
    import numpy
    given = numpy.asarray(array)
    if given.dtype.kind not in "biufO":
        raise TypeError(f"array has elements of type '{given.dtype}'; allowed: real numbers")
    for number in given.flat if given.dtype.kind == "O" else ():
        if not hasattr(number, "__float__") and not hasattr(number, "__index__"):
            raise TypeError(f"array has an element of type '{type(number).__name__}'; allowed: "
                            f"real numbers")
    if numpy.ma.is_masked(array):
        raise ValueError("array has masked elements; allowed: numbers alone")
    host = numpy.ascontiguousarray(given, dtype=_arrays.FLOAT64)
    device = DeviceArray(given.shape)  # contiguous arrays of NumPy have a dimension at least
    _check(_runtime().cudaMemcpy(device._pointer, host.ctypes.data, host.nbytes, _TO_DEVICE))
    return device
