"""Arrays of other libraries in device memory: PyTorch, CuPy, JAX, and whatever has
__cuda_array_interface__. No library is imported here before one of its arrays is met."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import sys
from typing import Any, ContextManager, Mapping, Optional, Sequence

# The default stream in __cuda_array_interface__, which has no 0.
_LEGACY_STREAM = 1

FLOAT64, FLOAT32 = "<f8", "<f4"
_BYTES = {FLOAT64: 8, FLOAT32: 4}
TYPES = tuple(_BYTES)


@dataclasses.dataclass(frozen=True)
class View:
    """An array as it lies in device memory; strides count elements."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    typestr: str
    stream: Optional[int]  # on which the array is ready; None: it does not say
    is_read_only: bool


def _c_strides(shape: Sequence[int]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(1, size)
    return tuple(reversed(strides))


# The libraries that are known, and the classes of their arrays.
_CLASSES = {"torch": "Tensor", "cupy": "ndarray", "jax": "Array"}


def library_of(array: Any) -> str:
    """"torch", "cupy", "jax", or "" for any other. Classes that a program derives from theirs are
    theirs, too."""
    for library, name in _CLASSES.items():
        known = getattr(sys.modules.get(library), name, None)
        if isinstance(known, type) and isinstance(array, known):
            return library
    return ""


def _of_interface(interface: Mapping[str, Any], name: str) -> View:
    typestr = interface["typestr"]
    item = _BYTES.get(typestr, 1)  # other types are refused by who asks for numbers
    if interface.get("mask") is not None:
        raise ValueError(f"{name} has a mask; allowed: numbers alone")
    shape = tuple(interface["shape"])
    strides = interface.get("strides")
    if strides is None:
        strides = _c_strides(shape)
    elif any(s % item for s in strides):
        raise ValueError(f"{name} has strides of {tuple(strides)} bytes; allowed: multiples of "
                         f"{item}")
    else:
        strides = tuple(s // item for s in strides)
    pointer, is_read_only = interface["data"]
    return View(pointer or 0, shape, strides, typestr, interface.get("stream"), bool(is_read_only))


# DLPack, version 0: what an unversioned capsule holds (dlpack.h).
class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


_CUDA_DEVICES = (2, 13)  # kDLCUDA, kDLCUDAManaged


def _of_dlpack(array: Any, name: str) -> View:
    """The array must outlive the view: the capsule, which is not consumed, lets it go."""
    device_type, _ = array.__dlpack_device__()
    if device_type not in _CUDA_DEVICES:
        raise ValueError(f"{name} is not in device memory (its DLPack device is {device_type}); "
                         f"allowed: arrays on a CUDA device")
    capsule = array.__dlpack__(stream=_LEGACY_STREAM)
    read = ctypes.pythonapi.PyCapsule_GetPointer
    read.restype, read.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _DLTensor.from_address(read(capsule, b"dltensor"))
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = (tuple(tensor.strides[i]
                     for i in range(tensor.ndim)) if tensor.strides else _c_strides(shape))
    kinds = {0: "i", 1: "u", 2: "f", 5: "c"}
    typestr = f"<{kinds.get(tensor.code, 'V')}{tensor.bits // 8}"
    pointer = (tensor.data or 0) + tensor.byte_offset
    return View(pointer, shape, strides, typestr, _LEGACY_STREAM, False)


def _of_torch(array: Any, name: str) -> Any:
    """A tensor without its gradients. In memory, the numbers of a negative view (z.conj().imag is
    one) have the other sign."""
    if not array.is_cuda:
        raise ValueError(f"{name} is on device '{array.device}'; allowed: a CUDA device")
    if array.is_neg():
        raise ValueError(f"{name} is a negative view; allowed: {name}.resolve_neg()")
    return array.detach()


def _of_jax(array: Any, name: str) -> Any:
    if isinstance(array, sys.modules["jax"].core.Tracer):
        raise TypeError(f"{name} is a value that JAX traces; allowed: an array, outside of jit, "
                        f"grad and vmap")
    return array.block_until_ready()


def view(array: Any, name: str) -> View:
    """Where an argument lies. Raises TypeError if it is no array in device memory."""
    adopt = {"torch": _of_torch, "jax": _of_jax}.get(library_of(array))
    if adopt:
        array = adopt(array, name)
    interface = getattr(array, "__cuda_array_interface__", None)
    if isinstance(interface, Mapping):
        return _of_interface(interface, name)
    if hasattr(array, "__dlpack__"):
        return _of_dlpack(array, name)
    raise TypeError(f"{name} is {type(array).__name__}; allowed: an array with "
                    f"__cuda_array_interface__ or __dlpack__, in device memory")


def current_stream(array: Any, of: View) -> int:
    """The stream that the array's library uses now, as an address; 0: the default stream."""
    library = library_of(array)
    if library == "torch":
        return int(sys.modules["torch"].cuda.current_stream(array.device).cuda_stream)
    if library == "cupy":
        return int(sys.modules["cupy"].cuda.get_current_stream().ptr)
    return own_stream(of) or 0


def own_stream(of: View) -> Optional[int]:
    """The stream on which the array is ready, as an address; None: it does not say."""
    return 0 if of.stream == _LEGACY_STREAM else of.stream


def in_stream(array: Any, stream: int) -> ContextManager[Any]:
    """A block in which the array's library works in that stream: what it copies is ready there, and
    memory that it lets go is taken again only after the work there."""
    library = library_of(array)
    block: ContextManager[Any] = contextlib.nullcontext()
    if library == "torch":
        cuda = sys.modules["torch"].cuda
        block = cuda.stream(
            cuda.ExternalStream(stream, device=array.device)
            if stream else cuda.default_stream(array.device))
    elif library == "cupy":
        block = sys.modules["cupy"].cuda.ExternalStream(stream)
    return block


def empty(like: Any, shape: tuple[int, ...], typestr: str, name: str) -> Any:
    """A new array of the library of `like`, on its device, row after row."""
    library = library_of(like)
    if library == "torch":
        torch = sys.modules["torch"]
        kind = torch.float64 if typestr == FLOAT64 else torch.float32
        return torch.empty(shape, dtype=kind, device=like.device)
    if library == "cupy":
        cupy = sys.modules["cupy"]
        with cupy.cuda.Device(like.device.id):
            return cupy.empty(shape, dtype=typestr)
    if library == "jax":
        jax = sys.modules["jax"]
        kind = jax.numpy.float64 if typestr == FLOAT64 else jax.numpy.float32
        # Nobody else has this array yet, so that writing it breaks no promise of JAX's.
        return jax.device_put(jax.numpy.zeros(shape, dtype=kind),
                              next(iter(like.devices()))).block_until_ready()
    new = getattr(like, "tandem_empty", None)
    if new is not None:
        return new(shape, typestr)
    raise TypeError(f"{name} must be given: {type(like).__module__}.{type(like).__name__} is of no "
                    f"library that Tandem can make a result in (PyTorch, CuPy, JAX)")


def finish(array: Any, stream: int) -> None:
    """After the last work on a result: JAX does not know of the stream, so the host waits."""
    if library_of(array) == "jax":
        from . import _memory
        _memory.wait(stream)


def bytes_of(typestr: str) -> int:
    """The size of an element."""
    return _BYTES[typestr]
