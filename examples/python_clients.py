"""Products of PyTorch and CuPy in FP64, as their users write them: an ordinary program that knows
nothing of Tandem.

usage: python3 python_clients.py

Prints a line for each kind of product with its error, max |C - exact| / (|A| |B|) against NumPy in
long double. What is not installed is left out.
"""

import numpy


def error(c, a, b):
    a, b = numpy.asarray(a, dtype=numpy.longdouble), numpy.asarray(b, dtype=numpy.longdouble)
    return float(numpy.max(numpy.abs(c - a @ b) / (numpy.abs(a) @ numpy.abs(b))))


def show(what, c, a, b):
    print(f"{what:24} error {error(c, a, b):.2e}")


def run_torch(torch):
    torch.manual_seed(0)
    a, b, c = (torch.randn(n, m, dtype=torch.float64, device="cuda")
               for n, m in ((300, 200), (200, 250), (300, 250)))
    numbers = [x.cpu().numpy() for x in (a, b)]
    show("torch a @ b", (a @ b).cpu().numpy(), *numbers)
    show("torch addmm", (torch.addmm(c, a, b) - c).cpu().numpy(), *numbers)
    stacks = [
        torch.randn(7, n, m, dtype=torch.float64, device="cuda") for n, m in ((60, 50), (50, 40))
    ]
    show("torch bmm", torch.bmm(*stacks).cpu().numpy(), *(x.cpu().numpy() for x in stacks))

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        product = a @ b
    a.mul_(2.0)
    graph.replay()
    show("torch graph of a @ b", product.cpu().numpy(), a.cpu().numpy(), numbers[1])

    matrix = torch.randn(500, 500, dtype=torch.float64, device="cuda")
    known = torch.ones(500, 3, dtype=torch.float64, device="cuda")
    solved = torch.linalg.solve(matrix, matrix @ known)
    print(
        f"torch linalg.solve       error {float((solved - known).abs().max()):.2e} of the solution")


def run_cupy(cupy):
    cupy.random.seed(0)
    a, b = cupy.random.randn(300, 200), cupy.random.randn(200, 250)
    show("cupy a @ b", cupy.asnumpy(a @ b), cupy.asnumpy(a), cupy.asnumpy(b))
    show("cupy dot", cupy.asnumpy(cupy.dot(a, b)), cupy.asnumpy(a), cupy.asnumpy(b))


for name, run in (("torch", run_torch), ("cupy", run_cupy)):
    try:
        module = __import__(name)
    except ImportError:
        print(f"{name} is not installed")
        continue
    print(f"{name} {module.__version__}")
    run(module)
