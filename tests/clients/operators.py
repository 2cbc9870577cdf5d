"""PyTorch's own samples of its operators of linear algebra, and their gradients, in FP64.

usage: tandem run --mode MODE -- python3 operators.py [--seconds S] [--most N]

Each operator that multiplies, solves or factors, of those that PyTorch describes for its own tests
(`op_db`), runs with the samples that come with it, float64 and complex128: on the CPU, natively on
the GPU in a region of Python's module tandem, and in MODE. Both results on the GPU have to be of
the same kind: values or the same exception, shapes, types, whole numbers, where numbers are finite.
A result's numbers in MODE may be off the CPU's by 30 n 2^-53 of the largest, n of them; or by 30
times what native ones are, or what these move by if the operands' numbers do by a unit of rounding,
or by 2^-29 of what binary32 makes of them: the CPU and the GPU may round alike, and be off alike.
What is not so is printed; exit status 1 if anything was. Needs PyTorch and the package expecttest.
"""

import argparse
import collections
import sys
import time
import warnings

import tandem
import torch
from torch.testing._internal.common_methods_invocations import op_db

PARTS = ("linalg", "mm", "matmul", "einsum", "tensordot", "inner", "dot", "outer", "kron", "chol",
         "lu", "qr", "svd", "lstsq", "inv", "det", "matrix", "solve", "cdist", "linear", "mv",
         "addr", "ger", "cov", "corrcoef", "eig", "triangular", "norm", "cross", "vander")
MOST_WORSE, UNIT = 30.0, 2.0**-53
SEEDS = (7, 11)  # of samples, and of what an operator draws
Result = collections.namedtuple("Result", ("values", "reason"))


def tensors(x):
    if torch.is_tensor(x):
        return [x]
    if isinstance(x, dict):
        x = x.values()
    elif not isinstance(x, (tuple, list)):
        return []
    return [t for y in x for t in tensors(y)]


def kept(x):
    return (x if x.layout == torch.strided else x.to_dense()).detach().cpu()


def gradients(results, sample):
    outputs = [x for x in results if x.requires_grad]
    inputs = [x for x in tensors([sample.input, sample.args, sample.kwargs]) if x.requires_grad]
    if not outputs or not inputs:
        return []
    loss = sum((x.abs() ** 2).sum() for x in outputs)
    return [g for g in torch.autograd.grad(loss, inputs, allow_unused=True) if g is not None]


def result_of(operator, sample):
    torch.manual_seed(SEEDS[1])
    try:
        made = tensors(operator(sample.input, *sample.args, **sample.kwargs))
        values = made + gradients(made, sample)
        return Result([kept(x) for x in values], None)
    except Exception as error:  # what an operator refuses is compared, too
        return Result([], type(error).__name__)


def numbers(x):
    return (torch.view_as_real(x.resolve_conj()) if x.is_complex() else x).double()


def apart(x, y):
    """The largest distance of finite numbers; infinite for other shapes."""
    if x.shape != y.shape:
        return float("inf")
    a, b = numbers(x), numbers(y)
    both = torch.isfinite(a) & torch.isfinite(b)
    return (a - b)[both].abs().max().item() if both.any() else 0.0


def fault(cpu, native, mode, moves):
    """What is wrong with a result in MODE; None: nothing. moves(i, x): how far from x the i-th
    native number is of operands that are a unit of rounding away."""
    if native.reason != mode.reason or len(native.values) != len(mode.values):
        return f"{native.reason} natively, {mode.reason}"
    for i, (x, y) in enumerate(zip(native.values, mode.values)):
        if x.shape != y.shape or x.dtype != y.dtype:
            return f"result {i} is of another kind"
        if not (x.is_floating_point() or x.is_complex()):
            if not torch.equal(x, y):
                return f"whole numbers of result {i}"
            continue
        if not torch.equal(torch.isfinite(numbers(x)), torch.isfinite(numbers(y))):
            return f"result {i} is finite elsewhere"
        right = cpu.values[i] if i < len(cpu.values) else x
        size = numbers(x)[torch.isfinite(numbers(x))].abs()
        least = x.numel() * UNIT * (size.max().item() if size.numel() else 0.0)
        off = apart(y, right)
        if off > MOST_WORSE * max(apart(x, right), least) and off > MOST_WORSE * moves(i, x):
            return f"result {i} is off by {off:.2g}, natively {apart(x, right):.2g}"
    return None


def samples_of(operator, kind, most):
    torch.manual_seed(SEEDS[0])
    samples = operator.sample_inputs(torch.device("cuda"), kind,
                                     requires_grad=operator.supports_autograd)
    return [sample for sample, _ in zip(samples, range(most))]


def changed(sample, change):
    def one(x):
        return change(x.detach()).requires_grad_(x.requires_grad) if torch.is_tensor(x) else x
    return sample.transform(one)


def rounded_otherwise(x):
    if not (x.is_floating_point() or x.is_complex()):
        return x.clone()
    return x * (1.0 + 2.0 * UNIT * (2 * torch.randint(2, x.shape, device=x.device) - 1))


def natively(operator, sample):
    with tandem.mode("native", everywhere=True):  # gradients have threads of their own
        return result_of(operator, sample)


def in_binary32(x):
    kinds = {torch.float64: torch.float32, torch.complex128: torch.complex64}
    return x.to(kinds[x.dtype]) if x.dtype in kinds else x.clone()


def moved(operator, sample, i, x):
    most = 0.0
    for change, part in ((rounded_otherwise, 1.0), (in_binary32, 2.0**-29)):
        values = natively(operator, changed(sample, change)).values
        if i < len(values) and values[i].shape == x.shape:
            most = max(most, part * apart(values[i], x))
    return most


def operators():
    for operator in op_db:
        name = ".".join(filter(None, (operator.name, operator.variant_test_name)))
        for kind in (torch.float64, torch.complex128):
            if any(part in name for part in PARTS) and operator.supports_dtype(kind, "cuda"):
                yield name, kind, operator


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300.0, help="when to stop")
    parser.add_argument("--most", type=int, default=24, help="samples of an operator")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)  # samples are small
    end, count, faults = time.monotonic() + arguments.seconds, 0, 0
    for name, kind, operator in operators():
        if time.monotonic() > end:
            print(f"time is over before {name}")
            break
        for i, sample in enumerate(samples_of(operator, kind, arguments.most)):
            mode = result_of(operator, sample)
            what = fault(result_of(operator, changed(sample, torch.Tensor.cpu)),
                         natively(operator, sample), mode,
                         lambda i, x, sample=sample: moved(operator, sample, i, x))
            count += 1
            if what:
                faults += 1
                print(f"{name}, {kind}, sample {i}: {what}")
    print(f"{count} samples, {faults} otherwise than natively")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
