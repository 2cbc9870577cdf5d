"""cuBLAS and device memory as ctypes reaches them, for benches in Python.

Arrays are CuPy's, which are in device memory, or NumPy's, of which device memory gets a copy."""
import ctypes


def on_device(array):
    """True of an array of CuPy's, which is in device memory already."""
    return hasattr(array, "get")


def on_host(array):
    return array.get() if on_device(array) else array


class Device:
    """cuBLAS's own cublasDgemm and the one that programs find, by their C interface."""

    def __init__(self, xp):
        xp.zeros((2, 2)) @ xp.zeros((2, 2))  # loads CuPy's cuBLAS
        self.cudart = ctypes.CDLL("libcudart.so.13")
        self.cublas = ctypes.CDLL("libcublas.so.13", mode=ctypes.RTLD_GLOBAL)
        self.native = self.cublas.cublasDgemm_v2
        self.found = ctypes.CDLL(None).cublasDgemm_v2
        self.handle = ctypes.c_void_p()
        self.check(self.cublas.cublasCreate_v2(ctypes.byref(self.handle)))
        self.events = [ctypes.c_void_p() for _ in range(2)]
        self.copies = []  # device memory of NumPy's arrays
        for event in self.events:
            self.check(self.cudart.cudaEventCreate(ctypes.byref(event)))

    @staticmethod
    def check(status):
        if status:
            raise RuntimeError(f"a function of CUDA or cuBLAS returned {status}")

    def put(self, matrix):
        """The matrix as an operand: address in device memory, leading dimension, operation."""
        by_rows = matrix.flags.c_contiguous
        rows, columns = matrix.shape
        return self.address(matrix), (columns if by_rows else rows), int(by_rows)

    def address(self, matrix):
        if on_device(matrix):
            return ctypes.c_void_p(matrix.data.ptr)
        memory, size = ctypes.c_void_p(), ctypes.c_size_t(matrix.nbytes)
        if self.cudart.cudaMalloc(ctypes.byref(memory), size):
            self.cudart.cudaGetLastError()
            raise MemoryError(f"no {matrix.nbytes} bytes of device memory")
        self.copies.append(memory)
        self.check(self.cudart.cudaMemcpy(memory, ctypes.c_void_p(matrix.ctypes.data), size, 1))
        return memory

    def fetch(self, memory, matrix):
        """Waits for the device, and makes a matrix of NumPy's what its device memory holds."""
        self.check(self.cudart.cudaDeviceSynchronize())
        if not on_device(matrix):
            self.check(self.cudart.cudaMemcpy(ctypes.c_void_p(matrix.ctypes.data), memory,
                                              ctypes.c_size_t(matrix.nbytes), 2))

    def release(self):
        while self.copies:
            self.check(self.cudart.cudaFree(self.copies.pop()))

    def multiply(self, function, a, b, c, m, n, k):
        one, zero = ctypes.c_double(1), ctypes.c_double(0)
        self.check(function(self.handle, a[2], b[2], m, n, k, ctypes.byref(one), a[0], a[1],
                            b[0], b[1], ctypes.byref(zero), c, m))

    def milliseconds(self, work):
        taken = ctypes.c_float()
        start, end = self.events
        self.check(self.cudart.cudaEventRecord(start, None))
        work()
        self.check(self.cudart.cudaEventRecord(end, None))
        self.check(self.cudart.cudaEventSynchronize(end))
        self.check(self.cudart.cudaEventElapsedTime(ctypes.byref(taken), start, end))
        return taken.value
