"""Pieces of work as tutorials of CuPy have them."""

from pieces import piece


def cupy_normal(seed, *shape):
    import cupy

    return cupy.random.RandomState(seed).standard_normal(shape)


@piece("cupy", 4000, 1e5)
def kernel_ridge(n):
    import cupy

    x, fresh = cupy_normal(1, n, 30), cupy_normal(2, n // 2, 30)
    y = cupy.sin(x.sum(1))

    def gram(a, b):
        return cupy.exp(-((a * a).sum(1)[:, None] + (b * b).sum(1) - 2.0 * a @ b.T) / 60.0)

    return lambda: (gram(fresh, x) @ cupy.linalg.solve(gram(x, x) + 0.1 * cupy.eye(n), y),)


@piece("cupy", 4000)
def principal_components(n):
    import cupy

    a = cupy_normal(1, 10 * n, n // 8) * cupy.linspace(1.0, 5.0, n // 8)

    def work():
        centred = a - a.mean(0)
        values, vectors = cupy.linalg.eigh(centred.T @ centred / a.shape[0])
        return values, abs(vectors[:, -1])

    return work


@piece("cupy", 3000, 1e3)
def solutions_of_cupyx(n):
    """LU's factors used twice, and triangular solutions with many right-hand sides."""
    import cupy
    import cupyx.scipy.linalg as linalg

    a = cupy_normal(1, n, n) + 3.0 * n**0.5 * cupy.eye(n)
    b = cupy_normal(2, n, n // 4)

    def work():
        factors = linalg.lu_factor(a)
        return (linalg.lu_solve(factors, b[:, 0]), linalg.lu_solve(factors, b, trans=1),
                linalg.solve_triangular(a, b, lower=True, trans="T"))

    return work


@piece("cupy", 1500, 10.0)
def exponential_of_cupyx(n):
    import cupyx.scipy.linalg as linalg

    a = cupy_normal(1, n, n) / n**0.5
    return lambda: (linalg.expm(a),)


@piece("cupy", 4000, 100.0)
def krylov_of_cupyx(n):
    """Some eigenvalues, singular values and a solution of dense matrices by iterations. The values
    that are asked for are well apart from the rest."""
    import cupy
    import cupyx.scipy.sparse.linalg as linalg

    a, largest = cupy_normal(1, n, n) / n**0.5, cupy.zeros(n)
    largest[:8] = 20.0 + 10.0 * cupy.arange(8)
    s, other = a + a.T + cupy.diag(largest), a + cupy.diag(largest)
    regular, b = a + 3.0 * cupy.eye(n), cupy_normal(2, n)

    def work():
        cupy.random.seed(3)
        return (linalg.eigsh(s, k=6, which="LA", return_eigenvectors=False),
                linalg.svds(other, k=4, return_singular_vectors=False),
                linalg.gmres(regular, b, rtol=1e-13)[0])

    return work


@piece("cupy", 4000, 100.0)
def lobpcg_of_cupyx(n):
    import cupy
    import cupyx.scipy.sparse.linalg as linalg

    a = cupy_normal(1, n, n) / n**0.5
    s = a + a.T + cupy.diag(cupy.arange(1.0, n + 1.0))
    start = cupy_normal(2, n, 20)
    inverse = cupy.diag(1.0 / cupy.arange(1.0, n + 1.0))
    return lambda: (linalg.lobpcg(s, start, M=inverse, tol=1e-9, maxiter=15, largest=False)[0][:5],)


@piece("cupy", 300, 10.0)
def matrix_product_states(n):
    """The overlap of two chains of complex tensors."""
    import cupy

    a, b = (cupy_normal(s, 12, n, 3, n) + 1j * cupy_normal(s + 9, 12, n, 3, n) for s in (1, 2))
    a, b = a / n, b / n

    def work():
        e = cupy.eye(n, dtype=complex)
        for upper, lower in zip(a, b):
            e = cupy.einsum("ab,asc,bsd->cd", e, upper.conj(), lower, optimize=True)
            e /= abs(e).max()
        return (e,)

    return work
