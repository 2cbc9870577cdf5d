"""Pieces of work as tutorials of NumPyro, lineax, optimistix, diffrax and JAX have them."""

from pieces import piece


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
