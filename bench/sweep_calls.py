"""Calls of cuBLAS and cublasLt by ctypes, for bench/never_slower.py.

prepare(device, row, left, right) returns a Call, which is made by any library that has the
function: cuBLAS's own, or Tandem's. Operands are arrays (members, columns, rows): matrices stored
by columns, one after the other."""
import ctypes
import dataclasses

from device import on_device
from sweep_rows import CAPTURED, CAPTURED_COMPLEX, DEVICE_SCALARS, SOLVES, WITH_TRIANGLE

OPERATIONS = {"N": 0, "T": 1, "C": 2}
SIDES, TRIANGLES, DIAGONALS = {"L": 0, "R": 1}, {"L": 0, "U": 1}, {"N": 0, "U": 1}
TYPES = {"d": 1, "z": 5}  # CUDA_R_64F, CUDA_C_64F
COMPUTE_64F, ANY_ALGORITHM = 70, -1
ON_HOST, ON_DEVICE = 0, 1  # where scalars are
LT_WORKSPACE = 32 << 20
DRAWN = 4  # members of a batch that differ
long = ctypes.c_longlong


class Operand:
    """An array of one member or more in device memory, of which so many numbers come first."""

    def __init__(self, device, array, skew=0):
        self.array, self.skew = array, skew
        self.address = ctypes.c_void_p(device.address(array).value + skew * array.itemsize)
        self.members, self.columns, self.rows = array.shape
        self.stride = self.columns * self.rows
        self.bytes = array.nbytes

    @property
    def start(self):
        """Where the array begins in device memory."""
        return ctypes.c_void_p(self.address.value - self.skew * self.array.itemsize)

    def put(self, device, array):
        """Writes an array of the same shape to where this one is in device memory."""
        if on_device(array):
            self.array[...] = array
        else:
            device.check(device.cudart.cudaMemcpy(self.start, ctypes.c_void_p(array.ctypes.data),
                                                  ctypes.c_size_t(array.nbytes), 1))

    def fetch(self, device):
        """A copy of what is in device memory."""
        found = self.array.copy()
        device.fetch(self.start, found)
        return found

    def pointers(self, device, xp):
        """The addresses of the members, in device memory."""
        step = self.stride * self.array.itemsize
        own = xp.arange(self.members, dtype=xp.int64) * step + self.address.value
        return Operand(device, own.reshape(1, 1, -1))


def scalar(value, letter):
    return (ctypes.c_double * (2 if letter == "z" else 1))(value)


@dataclasses.dataclass
class Call:
    function: str
    arguments: tuple
    restore: object = None  # what must be done before the call can be made again
    scalars: int = ON_HOST
    keep: tuple = ()  # what the arguments refer to
    left: Operand = None
    result: Operand = None  # C

    def make(self, library):
        return getattr(library, self.function)(*self.arguments)

    def release(self):
        """Gives back what is not memory of arrays."""


class Captured(Call):
    """A call that is captured into a graph for each library, whose launches are the calls."""
    RELAXED = 2

    def bind(self, device):
        self.device, self.graphs, self.stream = device, {}, ctypes.c_void_p()
        device.check(device.cudart.cudaStreamCreate(ctypes.byref(self.stream)))
        return self

    def capture(self, library):
        cudart, cublas, check = self.device.cudart, self.device.cublas, self.device.check
        graph, ready = ctypes.c_void_p(), ctypes.c_void_p()
        check(cublas.cublasSetStream_v2(self.device.handle, self.stream))
        try:
            check(cudart.cudaStreamBeginCapture(self.stream, self.RELAXED))
            status = super().make(library)
            check(cudart.cudaStreamEndCapture(self.stream, ctypes.byref(graph)))
            check(status)
        finally:
            check(cublas.cublasSetStream_v2(self.device.handle, None))
        check(cudart.cudaGraphInstantiate(ctypes.byref(ready), graph, ctypes.c_ulonglong(0)))
        check(cudart.cudaGraphDestroy(graph))
        return ready

    def make(self, library):
        if library not in self.graphs:
            self.graphs[library] = self.capture(library)
        return self.device.cudart.cudaGraphLaunch(self.graphs[library], None)

    def release(self):
        self.device.check(self.device.cudart.cudaDeviceSynchronize())
        for graph in self.graphs.values():
            self.device.check(self.device.cudart.cudaGraphExecDestroy(graph))
        self.device.check(self.device.cudart.cudaStreamDestroy(self.stream))


@dataclasses.dataclass
class Setting:
    """What every form needs: the row, its operands and scalars."""
    device: object
    xp: object
    row: object
    a: Operand
    b: Operand
    c: Operand

    @property
    def operations(self):
        return tuple(OPERATIONS[op]
                     for op in (self.row.op_a, self.row.op_b) if op in OPERATIONS)

    @property
    def sizes(self):
        return self.row.m, self.row.n, self.row.k

    @property
    def alpha(self):
        return scalar(1, self.row.type)

    @property
    def beta(self):
        return scalar(self.row.beta, self.row.type)

    @property
    def side(self):
        return SIDES[self.row.place[0]]

    @property
    def triangle(self):
        return TRIANGLES[self.row.place[1]]

    @property
    def diagonal(self):
        return DIAGONALS[self.row.place[2]]

    def call(self, *arguments, **others):
        return Call(self.row.function, (self.device.handle, *arguments), **others)


def plain(s):
    return s.call(*s.operations, *s.sizes, s.alpha, s.a.address, s.a.rows, s.b.address, s.b.rows,
                  s.beta, s.c.address, s.c.rows)


def captured(s):
    call = plain(s)
    return Captured(call.function, call.arguments).bind(s.device)


def with_device_scalars(s):
    both = Operand(s.device, s.xp.asarray([[[1.0, s.row.beta]]]))
    alpha, beta = both.address, ctypes.c_void_p(both.address.value + 8)
    return s.call(*s.operations, *s.sizes, alpha, s.a.address, s.a.rows, s.b.address, s.b.rows,
                  beta, s.c.address, s.c.rows, scalars=ON_DEVICE, keep=(both,))


def typed(s):
    kind = TYPES[s.row.type]
    return s.call(*s.operations, *s.sizes, s.alpha, s.a.address, kind, s.a.rows, s.b.address, kind,
                  s.b.rows, s.beta, s.c.address, kind, s.c.rows, COMPUTE_64F, ANY_ALGORITHM)


def strided(s):
    return s.call(*s.operations, *s.sizes, s.alpha, s.a.address, s.a.rows, long(s.a.stride),
                  s.b.address, s.b.rows, long(s.b.stride), s.beta, s.c.address, s.c.rows,
                  long(s.c.stride), s.row.batch)


def by_pointers(s):
    a, b, c = (operand.pointers(s.device, s.xp) for operand in (s.a, s.b, s.c))
    return s.call(*s.operations, *s.sizes, s.alpha, a.address, s.a.rows, b.address, s.b.rows,
                  s.beta, c.address, s.c.rows, s.row.batch, keep=(a, b, c))


def update(s):
    return s.call(s.triangle, s.operations[0], s.row.n, s.row.k, s.alpha, s.a.address, s.a.rows,
                  s.beta, s.c.address, s.c.rows)


def update_of_two(s):
    return s.call(s.triangle, s.operations[0], s.row.n, s.row.k, s.alpha, s.a.address, s.a.rows,
                  s.b.address, s.b.rows, s.beta, s.c.address, s.c.rows)


def symmetric(s):
    return s.call(s.side, s.triangle, s.row.m, s.row.n, s.alpha, s.a.address, s.a.rows, s.b.address,
                  s.b.rows, s.beta, s.c.address, s.c.rows)


def triangular(s):
    return s.call(s.side, s.triangle, s.operations[0], s.diagonal, s.row.m, s.row.n, s.alpha,
                  s.a.address, s.a.rows, s.b.address, s.b.rows, s.c.address, s.c.rows)


def solve(s):
    """In place: C is what is solved, and gets the right-hand sides before each call."""
    def restore():
        s.device.check(s.device.cudart.cudaMemcpyAsync(
            s.c.address, s.b.address, ctypes.c_size_t(s.b.bytes), 3, None))
    return s.call(s.side, s.triangle, s.operations[0], s.diagonal, s.row.m, s.row.n, s.alpha,
                  s.a.address, s.a.rows, s.c.address, s.c.rows, restore=restore)


# ---- cublasLt ----

class Heuristic(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t."""
    _fields_ = [("algorithm", ctypes.c_uint64 * 8), ("workspace", ctypes.c_size_t),
                ("status", ctypes.c_int), ("waves", ctypes.c_float), ("reserved", ctypes.c_int * 4)]


class Lt:
    """cublasLt's own library, a handle and a workspace, as a program has them for all its calls."""
    BATCH_COUNT, BATCH_STRIDE, OPERATION_A, OPERATION_B, MOST_WORKSPACE = 5, 6, 3, 4, 1

    def __init__(self, device):
        self.device, self.library = device, ctypes.CDLL("libcublasLt.so.13")
        self.handle, self.workspace = ctypes.c_void_p(), ctypes.c_void_p()
        device.check(self.library.cublasLtCreate(ctypes.byref(self.handle)))
        device.check(device.cudart.cudaMalloc(ctypes.byref(self.workspace),
                                              ctypes.c_size_t(LT_WORKSPACE)))
        self.preference = self.create("MatmulPreference")
        self.set("MatmulPreference", self.preference, self.MOST_WORKSPACE,
                 ctypes.c_uint64(LT_WORKSPACE))

    def create(self, what, *arguments):
        made = ctypes.c_void_p()
        self.device.check(getattr(self.library, f"cublasLt{what}Create")(
            ctypes.byref(made), *arguments))
        return made

    def set(self, what, of, attribute, value):
        self.device.check(getattr(self.library, f"cublasLt{what}SetAttribute")(
            of, attribute, ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value))))

    def layout(self, operand, letter):
        made = self.create("MatrixLayout", TYPES[letter], ctypes.c_uint64(operand.rows),
                           ctypes.c_uint64(operand.columns), ctypes.c_int64(operand.rows))
        self.set("MatrixLayout", made, self.BATCH_COUNT, ctypes.c_int32(operand.members))
        self.set("MatrixLayout", made, self.BATCH_STRIDE, ctypes.c_int64(operand.stride))
        return made

    def algorithm(self, *problem):
        found, count = Heuristic(), ctypes.c_int()
        self.device.check(self.library.cublasLtMatmulAlgoGetHeuristic(
            self.handle, *problem, self.preference, 1, ctypes.byref(found), ctypes.byref(count)))
        if count.value == 0:
            raise RuntimeError("cublasLt has no algorithm for a product")
        return found


def by_lt(s):
    if not hasattr(s.device, "lt"):
        s.device.lt = Lt(s.device)
    lt = s.device.lt
    product = lt.create("MatmulDesc", COMPUTE_64F, TYPES[s.row.type])
    for attribute, operation in zip((lt.OPERATION_A, lt.OPERATION_B), s.operations):
        lt.set("MatmulDesc", product, attribute, ctypes.c_int32(operation))
    a, b, c = (lt.layout(operand, s.row.type) for operand in (s.a, s.b, s.c))
    found = lt.algorithm(product, a, b, c, c)
    return Call(s.row.function, (
        lt.handle, product, s.alpha, s.a.address, a, s.b.address, b, s.beta, s.c.address, c,
        s.c.address, c, ctypes.byref(found.algorithm), lt.workspace, ctypes.c_size_t(LT_WORKSPACE),
        None))


FORMS = {
    "cublasDgemm_v2": plain, "cublasZgemm_v2": plain, DEVICE_SCALARS: with_device_scalars,
    CAPTURED: captured, CAPTURED_COMPLEX: captured,
    "cublasGemmEx": typed, "cublasDgemmStridedBatched": strided,
    "cublasZgemmStridedBatched": strided, "cublasDgemmBatched": by_pointers,
    "cublasZgemmBatched": by_pointers,
    "cublasLtMatmul": by_lt, "cublasDsyrk_v2": update, "cublasZherk_v2": update,
    "cublasDsyr2k_v2": update_of_two, "cublasZher2k_v2": update_of_two,
    "cublasDsyrkx": update_of_two, "cublasZherkx": update_of_two,
    "cublasDsymm_v2": symmetric, "cublasZsymm_v2": symmetric, "cublasZhemm_v2": symmetric,
    "cublasDtrmm_v2": triangular, "cublasZtrmm_v2": triangular,
    "cublasDtrsm_v2": solve, "cublasZtrsm_v2": solve,
}


# ---- operands ----

def stored(xp, matrix, operation):
    """op(X) as it is stored, by columns."""
    if operation == "N":
        return xp.ascontiguousarray(matrix.T)
    return xp.ascontiguousarray(matrix.conj() if operation == "C" else matrix)


def tame(xp, triangle):
    """The same numbers as a triangle whose inverse is near 1: scaled by a power of two."""
    most = float(abs(triangle).max()) or 1.0
    tamed = triangle * 2.0 ** -float(xp.ceil(xp.log2(xp.asarray(most * len(triangle)))))
    i = xp.arange(len(triangle))
    tamed[i, i] = 1.0
    return tamed


def in_triangle(xp, row, order):
    """Which elements of a matrix, rows by columns, are in the row's triangle: a call reads these of
    A, or writes these of C."""
    i, j = xp.arange(order)[:, None], xp.arange(order)[None]
    triangle = i >= j if row.place[1] == "L" else i <= j
    return triangle & (i != j) if row.place[2] == "U" else triangle


def laid_out(xp, matrix, row):
    """The matrix, as it is stored, with what the row has between its lines and before them."""
    if row.pad == row.skew == 0:
        return matrix
    columns, rows = matrix.shape
    room = xp.zeros((columns + 1) * (rows + row.pad), dtype=matrix.dtype)
    lines = room[row.skew:row.skew + columns * (rows + row.pad)].reshape(columns, -1)
    lines[:, :rows] = matrix
    return room.reshape(columns + 1, -1)


def many(xp, matrices):
    return xp.stack(matrices) if len(matrices) > 1 else matrices[0][None]


def members(xp, draw, operation, row):
    """At most DRAWN members that differ, each as often as the others."""
    few = [laid_out(xp, stored(xp, draw(i), operation), row) for i in range(min(row.batch, DRAWN))]
    return many(xp, [few[i % len(few)] for i in range(row.batch)])


def zeros(xp, row):
    one = xp.zeros((row.n, row.m), dtype="f8" if row.type == "d" else "c16")
    return many(xp, [laid_out(xp, one, row)] * row.batch)


def prepare(device, xp, row, draw):
    """The call of a row; draw(left or right, member) makes op(A) and op(B)."""
    first, second = ("right", "left") if row.is_at_right else ("left", "right")
    a = members(xp, lambda i: draw(first, i), row.op_a, row)
    if row.form in SOLVES:
        a = tame(xp, a[0])[None]
    if row.form in WITH_TRIANGLE:
        a[0] = xp.where(in_triangle(xp, row, len(a[0])).T, a[0], xp.nan)
    c = zeros(xp, row)
    b = c if row.op_b == "-" else members(xp, lambda i: draw(second, i), row.op_b, row)
    operands = [Operand(device, array, row.skew) for array in (a, b, c)]
    call = FORMS[row.form](Setting(device, xp, row, *operands))
    call.left, call.result = operands[0], operands[2]
    call.keep += tuple(operands)
    return call
