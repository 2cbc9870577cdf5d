"""Rows of bench/never_slower.py that a seed draws: no list of kinds or shapes can be tuned to them.

draw_rows(kinds, count, seed, factor) returns so many rows. Each has a kind of data whose numbers
(widths, shares, ranges) are drawn, too, and which `kinds` gets by its title; a form of call; sizes
whose logarithms are equally likely, of LEAST_WORK multiply-adds of reals or more; operations; and
the layout of the operands in memory: leading dimensions that are longer than lines, and addresses
that no more than an element aligns."""
import math
import random

import sweep_rows
from sweep_kinds import band, decaying, lognormal, scale, sparse, whole, xp

LEAST_WORK, MOST_WORK = 2 ** 29, 2 ** 36  # of real multiply-adds; at the least some 20 us natively
MOST_NUMBERS = 1 << 26  # reals of all operands
LEAST_SIZE, MOST_SIZE = 32, 20000
PRODUCTS = {"cublasDgemm_v2": 8, "cublasGemmEx": 2, "cublasZgemm_v2": 5}
BATCHES = {"cublasDgemmStridedBatched": 3, "cublasDgemmBatched": 2, "cublasZgemmStridedBatched": 2,
           "cublasZgemmBatched": 1}
OTHERS = {"cublasLtMatmul": 2, "cublasDsyrk_v2": 1, "cublasZherk_v2": 1,
          **dict.fromkeys((*sweep_rows.UPDATES_OF_TWO, *sweep_rows.WITH_TRIANGLE), 0.5)}
FORMS = PRODUCTS | BATCHES | OTHERS
FAMILIES = []


def family(draw):
    """A function that draws a kind: it returns the kind's title and the function of a Maker."""
    FAMILIES.append(draw)
    return draw


def spread(some, least, most):
    """A number whose logarithm is equally likely from the least to the most."""
    return math.exp(some.uniform(math.log(least), math.log(most)))


# ---- plain numbers ----

@family
def plain(some):
    low = some.choice([-1.0, 0.0, 0.5])
    return f"uniform {low}..1", lambda make: make.parts(lambda: low + (1 - low) * make.chance())


@family
def whole_numbers(some):
    bits = some.randint(2, 53)
    return f"whole numbers of {bits} bits", lambda make: whole(make, bits)


@family
def log_normal(some):
    sigma = round(spread(some, 0.3, 20), 1)
    return f"log-normal (sigma {sigma})", lambda make: lognormal(make, sigma)


@family
def heavy_tails(some):
    power = round(some.uniform(0.3, 4), 1)
    return (f"tails of power {power}",
            lambda make: make.normal() * (make.chance() + 1e-12) ** (-1 / power))


@family
def two_sizes(some):
    share, size = spread(some, 1e-4, 0.5), some.choice([-310, -200, -100, -20, -8, 8, 20, 100, 200])
    title = f"{100 * share:.2g} % of 1e{size}"
    return title, lambda make: make.normal() * xp.where(make.chance() < share, 10.0 ** size, 1.0)


# ---- zeros ----

@family
def zeros(some):
    share = spread(some, 1e-4, 0.9)
    return f"{100 * share:.2g} % not 0", lambda make: sparse(make, share)


@family
def diagonals(some):
    width = 2 * round(spread(some, 1, 500)) + 1
    return f"band of {width} diagonals", lambda make: band(make, width)


@family
def tiles(some):
    side, of = round(spread(some, 8, 300)), some.randint(2, 40)

    def tiled(make):
        here = make.chance(-(-make.rows // side), -(-make.columns // side)) < 1 / of
        here[0, 0] = True
        return make.normal() * here.repeat(side, 0).repeat(side, 1)[:make.rows, :make.columns]
    return f"blocks of {side} one of {of}", tiled


@family
def triangle(some):
    tenth = some.choice([0.0, 0.1, 0.5])

    def half(make):
        return xp.where(make.offset > tenth * make.columns, 0.0, make.normal())
    return f"below diagonal {tenth}", half


@family
def permutation(some):
    most = round(spread(some, 1, 400))

    def permuted(make):
        a = xp.zeros(make.shape)
        i = xp.arange(max(make.shape))
        exponents = 2.0 * most * make.chance(len(i)) - most
        a[i % make.rows, (i * 7919 + 3) % make.columns] = 2.0 ** xp.floor(exponents)
        return make.turned(a)
    return f"permutation over 2^+-{most}", permuted


# ---- decay ----

@family
def from_diagonal(some):
    length = round(spread(some, 0.3, 500), 1)
    return f"exp(-|i-j|/{length})", lambda make: decaying(make, length)


@family
def cauchy(some):
    power = round(some.uniform(0.5, 12), 1)

    def quotients(make):
        i, j = xp.arange(make.rows)[:, None], xp.arange(make.columns)[None]
        return make.turned((i + j + 1.0 + make.chance(make.rows, 1)) ** -power)
    return f"(i+j)^-{power}", quotients


@family
def powers(some):
    low, high = round(some.uniform(0.3, 1), 2), round(some.uniform(1, 1.5), 2)

    def vandermonde(make):
        bases = low + (high - low) * make.chance(make.rows, 1)
        exponents = xp.arange(make.columns) % int(600 / math.log2(1 + high)) % 1000
        return make.turned(bases ** exponents[None])
    return f"powers of {low}..{high}", vandermonde


@family
def along_k(some):
    ratio = round(spread(some, 1e-3, 1), 4)

    def falling(make):
        last = make.shape[make.inner] - 1
        return scale(make, make.inner, xp.maximum(ratio ** xp.arange(last + 1.0), 1e-280))
    return f"{ratio}^l along k", falling


@family
def gaussian(some):
    width, points = round(spread(some, 0.02, 3), 2), some.randint(1, 6)

    def covariance(make):
        x, y = make.chance(make.rows, points), make.chance(make.columns, points)
        distance = (x ** 2).sum(1)[:, None] + (y ** 2).sum(1)[None] - 2 * x @ y.T
        return make.turned(xp.exp(-xp.maximum(distance, 0) / width ** 2))
    return f"Gaussian of {points} dimensions and {width}", covariance


@family
def softmax(some):
    heat = round(spread(some, 0.5, 60), 1)

    def rows(make):
        a = xp.exp(heat * make.real_normal())
        return make.turned(a / a.sum(make.inner, keepdims=True))
    return f"softmax (heat {heat})", rows


# ---- structure that no number shows ----

@family
def low_rank(some):
    rank, noise = some.randint(1, 8), some.choice([1e-4, 1e-10, 1e-17])
    title = f"rank {rank} and noise of {noise:g}"
    return title, lambda make: (make.normal(make.rows, rank) @ make.normal(rank, make.columns)
                                + noise * make.normal())


@family
def kronecker(some):
    ratio, period = round(spread(some, 1.2, 1000), 1), some.randint(2, 9)

    def product(make):
        i, j = xp.arange(make.rows)[:, None] % period, xp.arange(make.columns)[None] % period
        return make.normal() * ratio ** xp.asarray((i * j) % (2 * period) - period, dtype=float)
    return f"{ratio}^(i j mod {2 * period})", product


@family
def differences(some):
    penalty = 10.0 ** some.randint(0, 12)

    def laplacian(make):
        near = xp.where(make.offset == 0, 4.0, xp.where(abs(make.offset) <= 2, -1.0, 0.0))
        heavy = make.chance(make.rows, 1) < 0.02
        return make.turned(near * xp.where(heavy, penalty, 1.0) + 1e-3 * make.real_normal())
    return f"differences with penalties of {penalty:g}", laplacian


# ---- ranges ----

def lines_scaled(some, name, axis_of):
    most = round(spread(some, 2, 250))

    def scaled(make):
        axis = axis_of(make)
        return scale(make, axis, 10.0 ** (2 * most * make.chance(make.shape[axis]) - most))
    return f"{name} lines over 10^+-{most}", scaled


@family
def outer_lines(some):
    return lines_scaled(some, "outer", lambda make: 1 - make.inner)


@family
def inner_lines(some):
    return lines_scaled(some, "inner", lambda make: make.inner)


@family
def few_lines(some):
    share, most = spread(some, 1e-3, 0.3), round(spread(some, 3, 150))

    def wide(make):
        lines, length = make.shape[1 - make.inner], make.shape[make.inner]
        sizes = xp.where(make.chance(lines, 1) < share, 1.0, 0.0) * xp.linspace(-most, most, length)
        sizes = 10.0 ** sizes
        return make.normal() * (sizes if make.inner else sizes.T)
    return f"{100 * share:.2g} % of lines over 10^+-{most}", wide


@family
def outliers(some):
    share, size = spread(some, 1e-7, 1e-3), some.choice([1e3, 1e8, 1e12, 1e30, 1e150])
    title = f"{share:.1g} outliers of {size:g}"
    return title, lambda make: make.normal() * xp.where(make.chance() < share, size, 1.0)


# ---- rows ----

def size(some, most):
    """Any number, or a multiple of 8 or 64."""
    value = spread(some, LEAST_SIZE, most)
    step = some.choice([1, 1, 8, 64])
    return max(LEAST_SIZE, round(value / step) * step)


def draw_sizes(some, form, letter, is_at_right):
    """m, n, k and members, of work and memory within the limits."""
    while True:
        batch = round(spread(some, 2, 100)) if form in BATCHES else 1
        m, n, k = (size(some, 2048 if form in BATCHES else MOST_SIZE) for _ in range(3))
        m = n if form in sweep_rows.OF_A_TRIANGLE else m
        k = (n if is_at_right else m) if form in sweep_rows.WITH_TRIANGLE else k
        parts = 2 if letter == "z" else 1
        work = parts ** 2 * m * n * k * batch
        if (LEAST_WORK <= work <= MOST_WORK
                and parts * batch * (m * k + k * n + m * n) <= MOST_NUMBERS):
            return m, n, k, batch


def draw_operations(some, form, letter):
    choices = "NTC" if letter == "z" else "NT"
    adjoint = choices[-1]
    if form in sweep_rows.OF_A_TRIANGLE:
        op_a, op_b = some.choice([("N", adjoint), (adjoint, "N")])
        return op_a, "-" if form in sweep_rows.UPDATES else op_b
    if form in sweep_rows.WITH_TRIANGLE:
        return some.choice(choices) if form in sweep_rows.TRIANGULAR else "N", "N"
    return some.choice(choices), some.choice(choices)


def draw_place(some, form):
    if form in sweep_rows.OF_A_TRIANGLE:
        return some.choice(["LLN", "LUN"])
    if form in sweep_rows.SYMMETRIC:
        return some.choice("LR") + some.choice("LU") + "N"
    if form in sweep_rows.TRIANGULAR:
        return some.choice("LR") + some.choice("LU") + some.choice("NU")
    return sweep_rows.LEFT_LOWER


def draw_row(some, kinds):
    form = some.choices(list(FORMS), FORMS.values())[0]
    letter = "z" if "cublasZ" in form else "d" if "cublasD" in form else some.choice("dz")
    title, make = some.choice(FAMILIES)(some)
    kinds[title] = make
    place = draw_place(some, form)
    m, n, k, batch = draw_sizes(some, form, letter, place[0] == "R")
    sides = "both" if form in sweep_rows.UPDATES else some.choice(["both", "both", "left", "right"])
    has_layout = form not in OTHERS and some.random() < 0.5
    return sweep_rows.Row(
        title, sides, form, letter, *draw_operations(some, form, letter), m, n, k, batch,
        0 if form in sweep_rows.TRIANGULAR else some.choice([0, 0, 1]),
        sweep_rows.shape_title(letter, m, n, k, batch),
        pad=some.choice([0, 1, 3, 8]) if has_layout else 0,
        skew=some.choice([0, 1]) if has_layout else 0, place=place)


def draw_rows(kinds, count, seed, factor):
    some = random.Random(seed)
    rows = [draw_row(some, kinds) for _ in range(count)]
    for row in rows if factor > 1 else []:
        sweep_rows.shrink(row, factor)
    sweep_rows.tell_apart(rows)
    return rows
