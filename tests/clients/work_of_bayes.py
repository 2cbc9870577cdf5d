"""Pieces of work as tutorials of GPyTorch and BoTorch have them."""

from pieces import piece
from work_of_torch import torch_normal


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
