"""Pieces of work for libraries.py, as tutorials of numerical libraries have them."""

import functools

PIECES = {}


def piece(family, n, condition=1.0):
    """A piece of work: a function of a size, at most `n`, that returns a function without
    arguments, which returns arrays. `condition` is what its results may lose beside n roundings."""

    def add(function):
        PIECES[function.__name__.replace("_", " ")] = family, function, n, condition
        return function

    return add


# ---- torch ----


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


# ---- bayes: GPyTorch and BoTorch ----


def smooth(torch, x):
    return torch.sin(3.0 * x).sum(-1) + 0.1 * torch.cos(20.0 * x[:, 0])


def points(torch, seed, *shape):
    return torch.rand(*shape, device="cuda", dtype=torch.float64,
                      generator=torch.Generator("cuda").manual_seed(seed))


def exact_gp(n):
    """GPyTorch's first tutorial: a model, its likelihood, and the step that trains it."""
    import gpytorch
    import torch

    class Model(gpytorch.models.ExactGP):

        def __init__(self, x, y, likelihood):
            super().__init__(x, y, likelihood)
            self.mean = gpytorch.means.ConstantMean()
            self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    x = points(torch, 1, n, 4)
    y = smooth(torch, x) + 0.1 * torch_normal(2, n)
    likelihood = gpytorch.likelihoods.GaussianLikelihood().to("cuda").double()
    likelihood.noise = 0.1
    model = Model(x, y, likelihood).to("cuda").double()
    model.train()
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)

    def step():
        torch.manual_seed(3)
        model.zero_grad()
        loss = -objective(model(x), y)
        loss.backward()
        return (loss.detach(), *(p.grad.clone() for p in model.parameters()))

    return step


@piece("bayes", 4000, 1e4)
def exact_gp_by_cholesky(n):
    import gpytorch

    step = exact_gp(n)

    def work():
        with gpytorch.settings.fast_computations(False, False, False):
            return step()

    return work


@piece("bayes", 6000, 1e6)
def exact_gp_by_conjugate_gradients(n):
    """The condition is that of Lanczos's small matrices, whose later vectors amplify roundings."""
    import gpytorch

    step = exact_gp(n)

    def work():
        with gpytorch.settings.max_cholesky_size(100), gpytorch.settings.cg_tolerance(1e-3):
            return step()

    return work


def botorch_model(n, columns=1):
    import torch
    from botorch.models import SingleTaskGP

    x = points(torch, 1, n, 6)
    y = smooth(torch, x)[:, None] + 0.1 * torch_normal(2, n, columns)
    model = SingleTaskGP(x, y)
    model.likelihood.noise = 0.05
    model.eval()
    return model, y


@piece("bayes", 2000, 1e5)
def expected_improvement(n):
    """Value and gradient of qLogEI at 64 sets of four points, the start of its optimisation."""
    import torch
    from botorch.acquisition.logei import qLogExpectedImprovement
    from botorch.sampling.normal import SobolQMCNormalSampler

    model, y = botorch_model(n)
    sampler = SobolQMCNormalSampler(torch.Size([256]), seed=1)
    improvement = qLogExpectedImprovement(model, best_f=y.mean() + y.std(), sampler=sampler)
    x = points(torch, 5, 64, 4, 6).requires_grad_()

    def work():
        model.prediction_strategy = None
        value = improvement(x)
        return value.detach(), torch.autograd.grad(value.sum(), x)[0]

    return work


@piece("bayes", 1000, 1e6)
def knowledge_gradient(n):
    """One-shot qKG, whose fantasies are models of their own."""
    import torch
    from botorch.acquisition import qKnowledgeGradient
    from botorch.sampling.normal import SobolQMCNormalSampler

    model, _ = botorch_model(n)
    gradient = qKnowledgeGradient(model, num_fantasies=16,
                                  sampler=SobolQMCNormalSampler(torch.Size([16]), seed=1))
    x = points(torch, 5, 8, 2 + 16, 6).requires_grad_()

    def work():
        value = gradient(x)
        return value.detach(), torch.autograd.grad(value.sum(), x)[0]

    return work


@piece("bayes", 1500, 1e5)
def fitted_model(n):
    """Some steps of the optimiser that fits BoTorch's model."""
    import torch
    from botorch.models import SingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood

    x = points(torch, 1, n, 6)
    y = smooth(torch, x)[:, None] + 0.1 * torch_normal(2, n, 1)

    def work():
        model = SingleTaskGP(x, y)
        model.train()
        objective = ExactMarginalLogLikelihood(model.likelihood, model)
        optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(5):
            optimiser.zero_grad()
            loss = -objective(model(*model.train_inputs), model.train_targets)
            loss.backward()
            optimiser.step()
        return (loss.detach(),)

    return work


@piece("bayes", 3000, 1e5)
def leave_one_out(n):
    """Kernel regression's errors without each point, by the diagonal of an inverse."""
    import torch

    x = points(torch, 1, n, 5)
    y = smooth(torch, x)[:, None]
    one = torch.eye(n, device="cuda", dtype=torch.float64)

    def work():
        k = torch.exp(-torch.cdist(x, x, compute_mode="use_mm_for_euclid_dist")**2 / 0.5)
        inverse = torch.cholesky_inverse(torch.linalg.cholesky(k + 0.1 * one))
        return (inverse @ y / inverse.diagonal()[:, None],)

    return work


# ---- cupy ----


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


# ---- jax ----


def jax_normal(seed, *shape):
    import jax

    return jax.random.normal(jax.random.key(seed), shape, dtype="float64")


@piece("jax", 800, 1e6)
def hmc_of_a_gaussian_process(n):
    """NumPyro's example, by HMC with steps of a fixed length, which lose digits slowly."""
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import HMC

    x = jnp.linspace(-1.0, 1.0, n)
    y = jnp.sin(6.0 * x) + 0.1 * jax_normal(1, n)

    def model(x, y):
        variance, noise, length = (numpyro.sample(name, dist.LogNormal(0.0, 1.0))
                                   for name in ("variance", "noise", "length"))
        k = variance * jnp.exp(-0.5 * ((x[:, None] - x) / length)**2)
        numpyro.sample("y", dist.MultivariateNormal(
            jnp.zeros(n), covariance_matrix=k + (noise + 1e-3) * jnp.eye(n)), obs=y)

    kernel = HMC(model, step_size=1e-3, trajectory_length=1e-2, adapt_step_size=False,
                 adapt_mass_matrix=False)
    state = kernel.init(jax.random.key(2), 0, None, (x, y), {})
    run = jax.jit(lambda s: jax.lax.fori_loop(0, 3, lambda _, s: kernel.sample(s, (x, y), {}), s))

    def work():
        z = run(state).z
        return tuple(z[name] for name in sorted(z))

    return work


@piece("jax", 2500, 1e3)
def solutions_of_lineax(n):
    import jax
    import lineax

    a = jax_normal(1, n, n) + 3.0 * n**0.5 * jax.numpy.eye(n)
    tall, b = jax_normal(2, 2 * n, n // 3), jax_normal(3, 2 * n)

    @jax.jit
    def work(a, tall, b):
        def solved(matrix, solver):
            return lineax.linear_solve(lineax.MatrixLinearOperator(matrix), b[:len(matrix)],
                                       solver).value

        return (solved(a, lineax.LU()), solved(tall, lineax.QR()),
                solved(tall[:n // 5, :n // 5] + 60.0 * jax.numpy.eye(n // 5), lineax.SVD()))

    return lambda: work(a, tall, b)


@piece("jax", 500, 1e4)
def levenberg_marquardt(n):
    """Optimistix fits a layer of n weights to 8 n numbers."""
    import jax
    import jax.numpy as jnp
    import optimistix

    a = jax_normal(1, 8 * n, n) / n**0.5
    y = jnp.tanh(a @ jax_normal(2, n)) + 0.01 * jax_normal(3, 8 * n)
    solver = optimistix.LevenbergMarquardt(rtol=1e-10, atol=1e-10)
    fit = jax.jit(lambda start: optimistix.least_squares(
        lambda w, _: jnp.tanh(a @ w) - y, solver, start, max_steps=64, throw=False).value)
    start = jnp.zeros(n)
    return lambda: (fit(start),)


@piece("jax", 1500, 1e4)
def bfgs(n):
    """Optimistix on a convex function of n variables."""
    import jax
    import jax.numpy as jnp
    import optimistix

    a, b = jax_normal(1, 2 * n, n) / n**0.5, jax_normal(2, 2 * n)
    solver = optimistix.BFGS(rtol=1e-9, atol=1e-9)
    fit = jax.jit(lambda start: optimistix.minimise(
        lambda w, _: (jnp.logaddexp(0.0, a @ w - b).sum() + 0.5 * w @ w) / n, solver, start,
        max_steps=100, throw=False).value)
    start = jnp.zeros(n)
    return lambda: (fit(start),)


@piece("jax", 1500, 10.0)
def flow_of_a_linear_system(n):
    """Diffrax's matrix exponential times 200 vectors, steps of a fixed length."""
    import diffrax
    import jax

    a, y = jax_normal(1, n, n) / n**0.5, jax_normal(2, n, 200)
    flow = jax.jit(lambda a, y: diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, a: a @ y), diffrax.Tsit5(), 0.0, 1.0, 0.05, y, a,
        stepsize_controller=diffrax.ConstantStepSize()).ys)
    return lambda: (flow(a, y),)


@piece("jax", 600, 100.0)
def kalman_filter_of_jax(n):
    """By lax.scan, with the logarithm of the likelihood."""
    import jax
    import jax.numpy as jnp

    m = n // 3
    one, f = jnp.eye(n), 0.9 * jnp.linalg.qr(jax_normal(1, n, n))[0]
    h, seen = jax_normal(2, m, n) / n**0.5, jax_normal(3, 30, m)

    def step(carry, z):
        x, p = f @ carry[0], f @ carry[1] @ f.T + 0.1 * one
        s = jax.scipy.linalg.cho_factor(h @ p @ h.T + jnp.eye(m), lower=True)
        gain = jax.scipy.linalg.cho_solve(s, h @ p).T
        left = z - h @ x
        value = -0.5 * left @ jax.scipy.linalg.cho_solve(s, left) - jnp.log(
            jnp.diag(s[0])).sum()
        return (x + gain @ left, p - gain @ h @ p), value

    filtered = jax.jit(lambda x, p, seen: jax.lax.scan(step, (x, p), seen))

    def work():
        (x, p), values = filtered(jnp.zeros(n), one, seen)
        return x, p, values

    return work


@piece("jax", 1500, 1e4)
def tangent_kernel(n):
    """Of a network of equinox: all gradients, their products, and a regression by them."""
    import equinox
    import jax
    import jax.numpy as jnp

    net = equinox.nn.MLP(8, "scalar", 64, 3, key=jax.random.key(1), dtype="float64")
    weights, rest = equinox.partition(net, equinox.is_array)
    x = jax_normal(2, n, 8)

    @jax.jit
    def regression(weights, x):
        gradients = jax.vmap(jax.grad(lambda w, x: equinox.combine(w, rest)(x)), (None, 0))(
            weights, x)
        j = jnp.concatenate([g.reshape(n, -1) for g in jax.tree.leaves(gradients)], 1)
        k = j @ j.T + jnp.eye(n)
        return k, jax.scipy.linalg.solve(k, jnp.sin(x.sum(1)), assume_a="pos")

    return lambda: regression(weights, x)


@piece("jax", 1500, 10.0)
def functions_of_jax(n):
    """A matrix exponential, and the gradient of a logarithm of a determinant."""
    import jax
    import jax.numpy as jnp

    a = jax_normal(1, n, n) / n**0.5
    gradient = jax.grad(lambda a: jnp.linalg.slogdet(3.0 * jnp.eye(n) + a)[1])
    functions = jax.jit(lambda a: (jax.scipy.linalg.expm(a), gradient(a)))
    return lambda: functions(a)
