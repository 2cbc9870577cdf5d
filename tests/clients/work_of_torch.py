"""Pieces of work as tutorials of PyTorch, torchdiffeq, e3nn and opt_einsum have them."""

import functools

from pieces import piece


def torch_normal(seed, *shape, dtype="float64"):
    import torch

    torch.manual_seed(seed)
    return torch.randn(*shape, dtype=getattr(torch, dtype), device="cuda")


@piece("torch", 1500)
def randomised_svd(n):
    """Singular values fall by halves of ten, so that those that are asked for are well apart from
    the rest."""
    import torch

    q, _ = torch.linalg.qr(torch_normal(1, 4 * n, 100))
    p, _ = torch.linalg.qr(torch_normal(2, 2 * n, 100))
    a = (q * 0.8**torch.arange(100, device="cuda", dtype=torch.float64)) @ p.T

    def work():
        torch.manual_seed(3)
        u, s, v = torch.svd_lowrank(a, q=60, niter=4)
        return s[:40], (u[:200, :20] * s[:20]) @ v[:200, :20].T

    return work


@piece("torch", 1500, 100.0)
def jacobians_of_solutions(n):
    """Of x(p) = (A + diag(p))^-1 b for a batch, by vmap and jacrev."""
    import torch

    n //= 20
    a = torch_normal(1, n, n) + 4.0 * n**0.5 * torch.eye(n, device="cuda", dtype=torch.float64)
    b, p = torch_normal(2, n), torch_normal(3, 60, n)
    jacobians = torch.func.vmap(
        torch.func.jacrev(lambda q: torch.linalg.solve(a + torch.diag(q), b)))
    return lambda: (jacobians(p),)


@piece("torch", 1500, 100.0)
def hessian_of_a_determinant(n):
    import torch

    n //= 4
    one = torch.eye(n, device="cuda", dtype=torch.float64)
    parts, p = torch_normal(1, 8, n, n) / n**0.5, torch_normal(2, 8) / 20.0
    hessian = torch.func.hessian(
        lambda q: torch.linalg.slogdet(one + torch.einsum("p,pij->ij", q, parts))[1])
    return lambda: (hessian(p),)


@piece("torch", 800, 100.0)
def kalman_filter_of_torch(n):
    """Covariances in Joseph's form."""
    import torch

    m = n // 2
    one = torch.eye(n, device="cuda", dtype=torch.float64)
    f, h = 0.9 * torch.linalg.qr(torch_normal(1, n, n))[0], torch_normal(2, m, n) / n**0.5
    r, seen = torch.eye(m, device="cuda", dtype=torch.float64), torch_normal(3, 20, m, 1)

    def work():
        x, p = torch.zeros(n, 1, device="cuda", dtype=torch.float64), one
        for z in seen:
            x, p = f @ x, f @ p @ f.T + 0.1 * one
            gain = torch.cholesky_solve(h @ p, torch.linalg.cholesky(h @ p @ h.T + r)).T
            x, keep = x + gain @ (z - h @ x), one - gain @ h
            p = keep @ p @ keep.T + gain @ r @ gain.T
        return x, p

    return work


@piece("torch", 5000, 10.0)
def sinkhorn(n):
    """Of 64 pairs of measures on the same points."""
    import torch

    x = torch.rand(n, 3, device="cuda", dtype=torch.float64,
                   generator=torch.Generator("cuda").manual_seed(1))
    k = torch.exp(-torch.cdist(x, x)**2 / 0.1)
    a, b = (torch.softmax(torch_normal(s, n, 64), 0) for s in (2, 3))

    def work():
        u = torch.ones_like(a)
        for _ in range(30):
            v = b / (k.T @ u)
            u = a / (k @ v)
        return u * (k @ v), v

    return work


@piece("torch", 600, 1000.0)
def layers_of_a_grating(n):
    """Scattering matrices of waves in ten layers, joined by Redheffer's star product."""
    import torch

    n //= 2
    one = torch.eye(n, device="cuda", dtype=torch.complex128)
    layers = 0.3 * torch_normal(1, 10, 4, n, n, dtype="complex128") / n**0.5

    def joined(a, b):
        d = torch.linalg.solve(one - b[0] @ a[3], one)
        f = torch.linalg.solve(one - a[3] @ b[0], one)
        return (a[0] + a[1] @ d @ b[0] @ a[2], a[1] @ d @ b[1], b[2] @ f @ a[2],
                b[3] + b[2] @ f @ a[3] @ b[1])

    return lambda: functools.reduce(joined, layers)


@piece("torch", 300, 100.0)
def two_sites_of_a_chain(n):
    """A step of DMRG's: the effective Hamiltonian on two sites, and the values that are kept."""
    import opt_einsum
    import torch

    d, w = 4, 5
    left, right = (torch_normal(s, n, w, n, dtype="complex128") for s in (1, 2))
    one, two = (torch_normal(s, w, w, d, d, dtype="complex128") for s in (3, 4))
    state = torch_normal(5, n, d, d, n, dtype="complex128")

    def work():
        y = state
        for _ in range(2):
            y = opt_einsum.contract("awb,wxst,xyuv,cyd,btvd->asuc", left, one, two, right, y)
            y = y / torch.linalg.norm(y)
        return y, torch.linalg.svdvals(y.reshape(n * d, n * d)[:n, :n])

    return work


@piece("torch", 1500, 1000.0)
def linalg_of_torch(n):
    """What torch.linalg has beside the usual: least squares, LDL', Householder vectors, inverses
    of tensors."""
    import torch

    a = torch_normal(1, 2 * n, n)
    s = torch_normal(2, n, n)
    s = s + s.T + 5.0 * n**0.5 * torch.eye(n, device="cuda", dtype=torch.float64)
    b, side = torch_normal(3, 2 * n, 3), int(n**0.5)

    def work():
        factors, tau = torch.geqrf(a)
        ld, pivots = torch.linalg.ldl_factor(s)
        tensor = s[:side**2, :side**2].reshape(side, side, side, side)
        return (torch.linalg.lstsq(a, b).solution, torch.linalg.householder_product(factors, tau),
                torch.linalg.ldl_solve(ld, pivots, b[:n]),
                torch.linalg.tensorinv(tensor),
                torch.linalg.matrix_exp(s / (5.0 * n**0.5)))

    return work


@piece("torch", 2000)
def lobpcg_of_torch(n):
    """The largest values of a matrix whose largest are well apart."""
    import torch

    q, _ = torch.linalg.qr(torch_normal(1, n, n))
    values = torch.rand(n, device="cuda", dtype=torch.float64)
    values[:10] = torch.arange(20.0, 10.0, -1.0)
    a, start = (q * values) @ q.T, torch_normal(2, n, 10)
    return lambda: (torch.lobpcg(a, k=10, X=start, niter=30, tol=1e-12)[0],)


@piece("torch", 2500, 10.0)
def compiled_attention(n):
    """By torch.compile: products with what lies between them as one kernel."""
    import torch

    q, k, v = (torch_normal(s, n, n // 2) for s in (1, 2, 3))

    @torch.compile
    def attention(q, k, v):
        return torch.softmax(q @ k.T / q.shape[1]**0.5, dim=1) @ v + torch.tanh(q)

    return lambda: (attention(q, k, v),)


@piece("torch", 3000, 100.0)
def graph_of_a_factorisation(n):
    """A CUDA graph of a product, Cholesky's factor and a triangular solution."""
    import torch

    x, b = torch_normal(1, n, n) / n**0.5, torch_normal(2, n, 200)
    one = torch.eye(n, device="cuda", dtype=torch.float64)

    def step():
        factor, _ = torch.linalg.cholesky_ex(x @ x.T + one)
        return factor, torch.linalg.solve_triangular(factor, b, upper=False)

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = step()

    def work(operands=(x, b, one)):  # which the graph reads, but does not keep
        graph.replay()
        return results

    return work


@piece("torch", 2000, 10.0)
def linear_differential_equations(n):
    """By torchdiffeq, 200 right-hand sides."""
    import torch
    import torchdiffeq

    a, y = torch_normal(1, n, n) / n**0.5, torch_normal(2, n, 200)
    times = torch.linspace(0.0, 1.0, 11, dtype=torch.float64, device="cuda")
    return lambda: (torchdiffeq.odeint(lambda t, y: a @ y, y, times, method="rk4")[-1],)


@piece("torch", 2000, 10.0)
def equivariant_product(n):
    """Forward and back through a tensor product of e3nn."""
    import torch
    from e3nn import o3

    irreps = "32x0e + 32x1o + 16x2e"
    torch.manual_seed(1)
    layer = o3.FullyConnectedTensorProduct(irreps, "1x0e + 1x1o + 1x2e", irreps).to("cuda").double()
    x = torch_normal(2, n, layer.irreps_in1.dim).requires_grad_()
    y = torch_normal(3, n, layer.irreps_in2.dim)

    def work():
        out = layer(x, y)
        return out.detach(), torch.autograd.grad((out**2).sum(), x)[0]

    return work
