"""Matrices of the kinds that programs multiply, for bench/real_data.py.

KINDS has a function for each kind, by its title. It takes a Matrices of some size n, and returns
op(A), m x k, and op(B), k x n, of about that size, as arrays in row-major or column-major order.
Arrays are CuPy's where that is installed, else NumPy's. Kinds of chemistry need pyscf: their
functions raise ImportError without."""
import functools

import numpy as np

import molecules

try:
    import cupy as xp
except ImportError:
    xp = np

PANEL = 256  # columns of a panel of Householder vectors, at most


class Kinds(dict):
    """Functions that make matrices, by their titles."""

    def kind(self, title):
        assert "," not in title, "tables of kinds are CSV without quotes"

        def register(make):
            self[title] = make
            return make
        return register


KINDS = Kinds()
kind = KINDS.kind


class Matrices:
    """Random matrices of n rows and columns; what several kinds are made of is made once."""

    def __init__(self, n, seed=1):
        self.n = n
        self.random = xp.random.RandomState(seed)

    def normal(self, *shape):
        return self.random.standard_normal(shape or (self.n, self.n))

    def uniform(self, *shape):
        return self.random.random_sample(shape or (self.n, self.n))

    @functools.cached_property
    def kernel(self):
        """Covariance of a Gaussian process of n points in eight dimensions, with noise 0.1."""
        points = self.uniform(self.n, 8)
        squares = (points ** 2).sum(1)
        distance = squares[:, None] + squares[None] - 2 * points @ points.T
        return xp.exp(-2.0 * xp.maximum(distance, 0)) + 0.1 * xp.eye(self.n)

    @functools.cached_property
    def kernel_factor(self):
        return xp.linalg.cholesky(self.kernel)

    @functools.cached_property
    def kernel_factor_inverse(self):
        return xp.tril(xp.linalg.inv(self.kernel_factor))

    @functools.cached_property
    def vectors(self):
        """Eigenvectors of a random symmetric matrix."""
        x = self.normal()
        return xp.linalg.eigh(x + x.T)[1]

    @functools.cached_property
    def householder(self):
        """The Householder vectors of a panel's QR factorisation: unit lower trapezoidal."""
        width = min(PANEL, self.n // 2)
        raw = xp.linalg.qr(self.normal(self.n, width), mode="raw")[0]
        raw = raw if raw.shape[0] == self.n else raw.T
        return xp.ascontiguousarray(xp.tril(raw, -1) + xp.eye(self.n, width))

    @functools.cached_property
    def differences(self):
        """Finite differences of a plane: five diagonals, coefficients that vary by 10^3."""
        side = int(self.n ** 0.5)
        n = side * side
        a = xp.zeros((n, n))
        c = 10.0 ** (3 * self.uniform(n))
        i = xp.arange(n)
        for step, inside in ((1, (i + 1) % side != 0), (side, i + side < n)):
            at = i[inside & (i + step < n)]
            flow = 2.0 / (1.0 / c[at] + 1.0 / c[at + step])
            a[at, at + step] = a[at + step, at] = -flow
            a[at, at] += flow
            a[at + step, at + step] += flow
        a[i, i] += 1e-3 * c
        return a

    @functools.cached_property
    def elements(self):
        """Stiffness and mass by linear triangles on a plane, whose coefficients vary by 10^3."""
        return tuple(xp.asarray(a) for a in triangle_matrices(int(self.n ** 0.5)))

    def fitting(self, atoms):
        """Density fitting of a chain or a ring, by about n functions: 111 for each carbon."""
        return Fitting(atoms(max(3, round((self.n - 36) / 111))))

    def filled(self, matrix, rows, columns):
        """The matrix, repeated and cut to so many rows and columns, on the device."""
        matrix = xp.asarray(np.ascontiguousarray(matrix[:rows, :columns]))
        times = -(-rows // matrix.shape[0]), -(-columns // matrix.shape[1])
        return xp.ascontiguousarray(xp.tile(matrix, times)[:rows, :columns])


def triangle_matrices(side):
    """Stiffness and mass of linear elements on side x side nodes; each square is two triangles."""
    random = np.random.default_rng(1)
    n = side * side
    corner = (np.arange(side - 1)[:, None] * side + np.arange(side - 1)).ravel()
    opposite = corner + side + 1
    nodes = np.concatenate([np.stack((corner, corner + 1, corner + side), 1),
                            np.stack((opposite, corner + side, corner + 1), 1)])
    coefficient = 10.0 ** (3 * random.random(len(nodes)))
    local_stiffness = 0.5 * np.array([[2, -1, -1], [-1, 1, 0], [-1, 0, 1]])
    local_mass = (np.ones((3, 3)) + np.eye(3)) / (24 * (side - 1) ** 2)
    stiffness, mass = np.zeros((n, n)), np.zeros((n, n))
    for i in range(3):
        for j in range(3):
            np.add.at(stiffness, (nodes[:, i], nodes[:, j]), coefficient * local_stiffness[i, j])
            np.add.at(mass, (nodes[:, i], nodes[:, j]), local_mass[i, j])
    return stiffness + mass, mass  # the mass makes the stiffness definite


# ---- linear algebra ----

@kind("random x random")
def random_numbers(make):
    return make.normal(), make.normal()


@kind("L L' of a random covariance")
def covariance_factors(make):
    x = make.normal()
    lower = xp.linalg.cholesky(x @ x.T / make.n + xp.eye(make.n))
    return lower, lower.T


@kind("eigenvectors Q Q'")
def orthogonal(make):
    return make.vectors, make.vectors.T


@kind("divide and conquer Q U")
def secular(make):
    d = xp.sort(make.uniform(make.n))
    z = make.normal(make.n) / make.n ** 0.5
    return make.vectors, xp.linalg.eigh(xp.diag(d) + xp.outer(z, z))[1]


@kind("localised eigenvectors V' Q")
def localised(make):
    off = xp.full(make.n - 1, 0.3)
    tridiagonal = xp.diag(make.normal(make.n)) + xp.diag(off, 1) + xp.diag(off, -1)
    return xp.linalg.eigh(tridiagonal)[1].T, make.vectors


@kind("spectral V diag V'")
def spectral(make):
    return make.vectors * 10.0 ** xp.linspace(0, -12, make.n)[None], make.vectors.T


@kind("Householder panel V' C")
def panel_product(make):
    return make.householder.T, make.normal()


@kind("Householder panel V W")
def panel_update(make):
    return make.householder, make.householder.T @ make.normal()


@kind("Vandermonde x random")
def vandermonde(make):
    points = 2 * make.uniform(make.n, 1) - 1
    return points ** xp.arange(make.n)[None], make.normal()


# ---- Gaussian processes ----

@kind("kernel K K")
def kernel_product(make):
    return make.kernel, make.kernel


@kind("kernel factor L L'")
def kernel_factors(make):
    return make.kernel_factor, make.kernel_factor.T


@kind("kernel factor L^-1 K")
def inverse_factor(make):
    return make.kernel_factor_inverse, make.kernel


@kind("kernel factor L^-T L^-1")
def inverse_factors(make):
    return make.kernel_factor_inverse.T, make.kernel_factor_inverse


@kind("kernel inverse K^-1 K")
def inverse_kernel(make):
    return xp.linalg.inv(make.kernel), make.kernel


# ---- discretised equations ----

@kind("finite differences x random")
def differences_product(make):
    return make.differences, make.normal(len(make.differences), make.n)


@kind("finite differences L L'")
def differences_factors(make):
    lower = xp.linalg.cholesky(make.differences)
    return lower, lower.T


@kind("finite elements x random")
def elements_product(make):
    stiffness, _ = make.elements
    return stiffness, make.normal(len(stiffness), make.n)


@kind("finite elements L L'")
def elements_factors(make):
    lower = xp.linalg.cholesky(make.elements[0])
    return lower, lower.T


@kind("finite elements L^-1 K of M = L L'")
def elements_reduction(make):
    stiffness, mass = make.elements
    return xp.tril(xp.linalg.inv(xp.linalg.cholesky(mass))), stiffness


# ---- data ----

@kind("0/1 design X'X")
def design(make):
    x = (make.uniform(2 * make.n, make.n) < 0.3).astype(float)
    return x.T, x


@kind("outliers and zeros X'X")
def outliers(make):
    x = make.normal() * 10.0 ** xp.linspace(-3, 4, make.n)[None]
    x[make.uniform() < 0.001] *= 1e6
    x[make.uniform() < 0.1] = 0.0
    return x.T, x


@kind("correlation matrix squared")
def correlation(make):
    x = make.normal(make.n, 64) @ make.normal(64, 4 * make.n)
    x += 0.3 * make.normal(*x.shape)
    x -= x.mean(1, keepdims=True)
    x /= (x ** 2).sum(1, keepdims=True) ** 0.5
    c = x @ x.T
    return c, c


@kind("softmax x random")
def softmax(make):
    x = xp.exp(4 * make.normal())
    return x / x.sum(1, keepdims=True), make.normal()


@kind("one-hot x random")
def one_hot(make):
    a = xp.zeros((make.n, make.n))
    a[xp.arange(make.n), make.random.randint(0, make.n, make.n)] = 1.0
    return a, make.normal()


@kind("2 % sparse x sparse")
def sparse(make):
    return tuple(make.normal() * (make.uniform() < 0.02) for _ in range(2))


@kind("5 % sparse x random")
def sparse_dense(make):
    return make.normal() * (make.uniform() < 0.05), make.normal()


@kind("whole numbers below 1000")
def whole_numbers(make):
    return tuple(xp.floor(1000 * make.uniform()) for _ in range(2))


# ---- wide ranges ----

def wide(make, phi):
    """Even numbers times log-normal ones: the literature's spread phi."""
    return tuple((make.uniform() - 0.5) * xp.exp(phi * make.normal()) for _ in range(2))


for spread in (1, 2, 4):
    kind(f"wide (phi {spread}) both")(functools.partial(wide, phi=spread))


@kind("log-normal (sigma 4) x random")
def lognormal(make):
    return make.normal() * xp.exp(4 * make.normal()), make.normal()


@kind("log-normal (sigma 4) both")
def lognormal_both(make):
    return tuple(make.normal() * xp.exp(4 * make.normal()) for _ in range(2))


@kind("Cauchy x random")
def cauchy(make):
    return xp.tan(np.pi * (make.uniform() - 0.5)), make.normal()


@kind("graded against each other")
def graded(make):
    scale = 10.0 ** xp.linspace(-20, 20, make.n)
    return make.normal() * scale[None], make.normal() / scale[:, None]


@kind("rows and columns over 10^16")
def graded_rows(make):
    scale = 10.0 ** xp.linspace(-8, 8, make.n)
    return make.normal() * scale[:, None], make.normal() * scale[None]


@kind("denormals among numbers")
def denormals(make):
    a = make.normal()
    a[make.uniform() < 0.2] = 1e-310
    return a, make.normal()


@kind("scattered over 2^+-300")
def scattered(make):
    def exponents():
        return make.random.randint(-300, 300, (make.n, make.n)).astype(float)
    return tuple(make.normal() * xp.exp2(exponents()) for _ in range(2))


PLAIN = tuple(KINDS)  # the kinds so far need NumPy alone

# ---- chemistry ----

class Fitting:
    """The basis of density fitting of a molecule, and its integrals."""

    def __init__(self, atoms):
        from pyscf import df, gto
        self.molecule = gto.M(atom=atoms, basis="def2-tzvp", verbose=0)
        self.basis = df.addons.make_auxmol(self.molecule, "def2-tzvpp-jkfit")

    @property
    def inverse_factor(self):
        """The inverse of the Cholesky factor of (P|Q), on the device."""
        return xp.tril(xp.linalg.inv(xp.linalg.cholesky(xp.asarray(self.basis.intor("int2c2e")))))

    def integrals(self, most):
        """Three-centre integrals (P|mn) of at most so many pairs of orbitals, a column each."""
        from pyscf import df
        few = min(self.molecule.nbas, 60)
        b = df.incore.aux_e2(self.molecule, self.basis, intor="int3c2e", aosym="s1",
                             shls_slice=(0, few, 0, few, 0, self.basis.nbas))
        b = b.reshape(-1, b.shape[-1])
        b = b[abs(b).max(axis=1) > 1e-14]
        return b[np.sort(np.random.default_rng(1).permutation(len(b))[:most])].T


class Orbitals:
    """The Hartree-Fock orbitals of octane (202 functions) and its integrals, by density fitting."""

    def __init__(self):
        from pyscf import gto, lib, scf
        molecule = gto.M(atom=molecules.alkane(8), basis="def2-svp", verbose=0)
        field = scf.RHF(molecule).density_fit()
        field.kernel()
        self.fock, self.density = field.get_fock(), field.make_rdm1()
        occupied = field.mo_occ > 0
        self.coefficients = field.mo_coeff[:, occupied]
        self.three = lib.unpack_tril(field.with_df._cderi)  # fitting x orbitals x orbitals
        self.half = np.einsum("pmn,ni->pmi", self.three, self.coefficients, optimize=True)
        pairs = np.einsum("pmi,ma->pia", self.half, field.mo_coeff[:, ~occupied], optimize=True)
        self.pairs = pairs.reshape(len(pairs), -1)
        energy = field.mo_energy
        self.gaps = (energy[occupied][:, None] - energy[~occupied][None]).ravel()


@functools.lru_cache
def octane():
    return Orbitals()


def density_fitting(make, atoms):
    """16 n pairs of orbitals, of which 4 n differ."""
    fitting = make.fitting(atoms)
    b = fitting.integrals(4 * make.n)
    return fitting.inverse_factor, make.filled(b, len(b), 16 * make.n)


for shape, shaped in {"chain": molecules.alkane, "ring": molecules.ring}.items():
    kind(f"density fitting L^-1 (P|mn) {shape}")(functools.partial(density_fitting, atoms=shaped))


@kind("overlap S S")
def overlap(make):
    s = make.fitting(molecules.alkane).basis.intor("int1e_ovlp")
    return make.filled(s, *s.shape), make.filled(s, *s.shape)


@kind("Fock matrix x density")
def fock(make):
    return tuple(make.filled(a, make.n, make.n) for a in (octane().fock, octane().density))


@kind("MP2 amplitudes x integrals")
def amplitudes(make):
    """(ia|jb) over the difference of orbital energies, times (jb|kc)."""
    orbitals = octane()
    most = min(make.n, len(orbitals.gaps))
    pairs, gaps = orbitals.pairs[:, :most], orbitals.gaps[:most]
    integrals = pairs.T @ pairs
    divided = integrals / (gaps[:, None] + gaps[None])
    return tuple(make.filled(a, make.n, make.n) for a in (divided, integrals))


@kind("exchange (P|mn) C")
def exchange_half(make):
    """Tall and narrow: 32 n rows, a column for each occupied orbital."""
    three = octane().three
    coefficients = octane().coefficients
    return (make.filled(three.reshape(-1, three.shape[-1]), 32 * make.n, three.shape[-1]),
            make.filled(coefficients, *coefficients.shape))


@kind("exchange K = X X'")
def exchange(make):
    """Short and long: k = 32 n of (P|mi)."""
    half = octane().half.transpose(1, 0, 2)
    half = half.reshape(len(half), -1)
    x = make.filled(half, len(half), 32 * make.n)
    return x, x.T
