"""What ozaki2 decides for matrices of bench/real_kinds.py, and what other rules would decide.

    moduli.py [--today] [--out FILE] [--kind PART-OF-A-TITLE] [--file FILE] [N ...]

Each kind is made in sizes of about N x N (default 1024). The row `today` of a kind repeats the
definition of docs/numerics.md in whole numbers: shifts along k, lines, scales, certificates and
choice. Other rows, which --today leaves out, change one rule each and say what would follow; where
lines alone decide, rules about elements have none. A row has the moduli (0: all of C in binary64),
the elements that are left to repairs, and the cost of a tile in moduli: these, repairs, and CRTs
that are added where k is cut. --file reads matrices from a file of three int64 (m, n, k), then A
and B in binary64, column-major. It needs NumPy, and pyscf for chemistry."""
import argparse
import csv
import math
import sys

import numpy as np

LOG = 256  # logarithms are in units of 1 / LOG
TILE, FEW, UNIT = 64, 8, 64
GROUP, STAGE = 64, 128  # blocks of zeros: lines, elements of k
MODULI = (256, 255, 253, 251, 247, 241, 239, 233, 229, 227,
          223, 217, 211, 199, 197, 193, 191, 181, 179, 173)
FEWEST, LEAST, MOST, BINARY64 = 2, 14, 20, 24
NOTHING = -(1 << 28)


# ---- logarithms: kernels/arithmetic/logarithm.h ----

def log_below(x):
    """The logarithms of whole numbers above 0, at most."""
    x = np.atleast_1d(np.asarray(x, dtype=np.uint64))
    top = np.floor(np.log2(x.astype(np.float64))).astype(np.int64)
    top -= (x >> top.astype(np.uint64)) == 0
    top += (top < 63) & ((x >> np.minimum(top + 1, 63).astype(np.uint64)) != 0)
    leading = (x << (63 - top).astype(np.uint64)) >> np.uint64(32)
    log = top
    for _ in range(8):
        leading = leading * leading
        carry = leading >> np.uint64(63) != 0
        leading = np.where(carry, leading >> np.uint64(32), leading >> np.uint64(31))
        log = 2 * log + carry
    return log


def log_above(x):
    x = np.atleast_1d(np.asarray(x, dtype=np.uint64))
    return log_below(x) + np.where(x & (x - np.uint64(1)), 2, 0)


def level(moduli, k):
    """The logarithm of the largest norm of a line that is rounded to whole numbers."""
    product = math.prod(MODULI[:moduli])
    if moduli >= 8:
        return math.floor(LOG * ((math.log2(product - 1) - 1) / 2 - 2.0 ** -16)) - 1
    room = math.isqrt(product * 65535 // 131072) - math.isqrt((k + 3) // 4 - 1) - 1
    return int(log_below(room)[0]) if room > 0 else -LOG


# ---- lines: kernels/measure ----

class Lines:
    """Rows of an operand, each element times a power of two of its own along k: their records."""

    def __init__(self, x, shift):
        self.x, self.shift = x, shift
        significand, exponent = np.frexp(np.abs(x))
        exponent = exponent.astype(np.int32) - 1 + shift[None].astype(np.int32)
        full = x != 0
        self.full = full
        lines, k = x.shape
        log = LOG * exponent + np.floor(LOG * (2 * significand - 1)).astype(np.int32)
        count = full.sum(1)
        self.zero = count == 0
        self.has_mean = count == k
        self.mean = np.where(self.has_mean,
                             np.where(full, log, 0).sum(1, dtype=np.int64) // k, NOTHING)
        self.low = self.lowest(significand, exponent, full)
        self.measure_norms(significand, exponent, full)
        self.typical = self.total - log_above(np.maximum(count, 1))
        self.count = count

    @staticmethod
    def lowest(significand, exponent, full):
        whole = np.ldexp(significand, 53).astype(np.int64)
        last = np.frexp((whole & -whole).astype(np.float64))[1] - 1  # trailing zeros
        return np.where(full, exponent - 52 + last, 1 << 15).min(1).astype(np.int64)

    def measure_norms(self, significand, exponent, full):
        lines, k = full.shape
        pad = -k % UNIT
        e = np.pad(np.where(full, exponent, NOTHING), ((0, 0), (0, pad)),
                   constant_values=NOTHING).reshape(lines, -1, UNIT)
        m = np.pad(np.where(full, 2 * significand, 0), ((0, 0), (0, pad))).reshape(e.shape)
        top = e.max(2)
        down = np.minimum(top[:, :, None] - e, 1 << 20)
        q = np.where(down > 11, 1.0, np.ceil(np.ldexp(m, (11 - np.minimum(down, 11)))))
        q = np.where(m == 0, 0.0, q)
        magnitudes, squares = q.sum(2).astype(np.int64), (q * q).sum(2).astype(np.int64)
        most = top.max(1)
        by = np.clip(most[:, None] - top, 0, 62)
        total = (-(-magnitudes >> by)).sum(1)
        square = (-(-squares >> np.minimum(2 * by, 62))).sum(1)
        most = np.where(self.zero, 0, most)
        self.norm = LOG * (most - 11) + (log_above(np.maximum(square, 1)) + 1) // 2
        self.total = LOG * (most - 11) + log_above(np.maximum(total, 1))

    def unit(self, finer=0):
        return self.typical // LOG - 4 - finer

    def scaled(self, exponents):
        """Elements times the line's power of two, shifts included, in binary64."""
        return np.ldexp(self.x, np.clip(exponents[:, None] + self.shift[None], -2000, 2000))

    def magnitudes(self, finer):
        return np.minimum(np.floor(np.abs(self.scaled(-self.unit(finer)))), 127.0)

    def scale(self, moduli):
        return (level(moduli, self.x.shape[1]) - self.norm) // LOG

    def is_exact(self, moduli):
        """True of lines that so many moduli do not round."""
        return self.zero | (self.scale(moduli) + self.low >= 0)

    def part(self, first, end):
        return Lines(self.x[:, first:end], self.shift[first:end])


def shifts_of_maxima(a, b):
    """d_l, by the largest exponents; zeros where none are needed."""
    top_a, top_b = (np.where(x != 0, np.frexp(x)[1] - 1, NOTHING).max(0) for x in (a, b))
    both = (top_a > NOTHING) & (top_b > NOTHING)
    apart = np.where(both, top_b - top_a, 0)
    if not both.any() or apart[both].max() - apart[both].min() <= 16:
        return np.zeros(a.shape[1], dtype=np.int64)
    return (apart // 2) * both


def measured(a, b, shift):
    return Lines(a, shift), Lines(b, -shift)


def rise(now, before):
    counted = ~now.zero
    change = (now.norm + now.total) // 2 - (before.norm + before.total) // 2
    return change[counted].sum() // max(counted.sum(), 1)


def lines_of_today(a, b):
    plain = measured(a, b, np.zeros(a.shape[1], dtype=np.int64))
    shift = shifts_of_maxima(a, b)
    if not shift.any() or skips_estimate(len(a), len(b), a.shape[1]):
        return plain
    shifted = measured(a, b, shift)
    less = sum(rise(now, before) for now, before in zip(shifted, plain)) < 0
    return shifted if less else plain


def balanced(a, b, lines, rounds=60):
    """Shifts that make the mean logarithm of all norms least, which is a convex problem: there
    each index of k has the same share of the squares of both operands' lines."""
    shift = lines[0].shift.astype(np.float64)
    squares = []
    for s in lines:
        full = s.scaled(-(s.norm // LOG))
        squares.append(full * full)
    move = np.zeros(a.shape[1])
    for _ in range(rounds):
        shares = []
        for square, sign in zip(squares, (1, -1)):
            weight = np.exp2(2 * sign * move)
            norms = square @ weight
            inverse = np.where(norms > 0, 1 / np.where(norms > 0, norms, 1), 0)
            shares.append(weight * (inverse @ square) / max((norms > 0).sum(), 1))
        both = (shares[0] > 0) & (shares[1] > 0)
        step = np.zeros_like(move)
        step[both] = 0.25 * np.log2(shares[1][both] / shares[0][both])
        move += step
    return np.rint(shift + move).astype(np.int64)


# ---- certificates and choice: kernels/select ----

def least_moduli(m, n, k):
    return LEAST + (m * n <= 1 << 22 and k > 2048)


def tiles(m, n):
    return -(-m // 64) * -(-n // 64)


def is_thin(m, n, k):
    """True if all is left to binary64 whatever the data."""
    return (m * n * k >= 1 << 24 and tiles(m, n) >= 64
            and 200 * 1024 // m + 200 * 1024 // n >= 1024)


def skips_estimate(m, n, k):
    """True if all is left to binary64 where the fewest moduli do not do by lines."""
    if is_thin(m, n, k):
        return True
    if m * n * k < 1 << 24 or (tiles(m, n) <= 96 and k > 2048):
        return False
    return 660 * 1024 // m + 660 * 1024 // n + 440 * 1024 // k >= 1024


def estimate_of(a, b, finer=0):
    """The logarithm of abs(A)abs(B), at most; units of lines are 2^-finer of today's."""
    k = a.x.shape[1]
    sums = -(-k // 16384)
    length = (-(-k // sums) + 63) // 64 * 64
    u, v = a.magnitudes(finer), b.magnitudes(finer)
    eighths = 0.0
    for first in range(0, k, length):
        s = u[:, first:first + length] @ v[:, first:first + length].T
        e = np.frexp(s)[1] - 1
        eighths = eighths + np.ldexp(np.floor(np.ldexp(s, 3 - e)), e)
    m, e = np.frexp(eighths)
    log = LOG * (e - 4) + np.floor(LOG * (2 * m - 1)).astype(np.int64)
    units = a.unit(finer)[:, None] + b.unit(finer)[None]
    return if_they_meet(a, b, np.where(eighths > 0, log + LOG * units, NOTHING))


def add_logs(x, y):
    return np.maximum(x, y) + np.where(np.abs(x - y) >= 8 * LOG, 2, LOG)


def loss_of_today(a, b, moduli):
    k = a.x.shape[1]
    rounding = np.maximum((a.total + LOG * a.scale(moduli))[:, None],
                          (b.total + LOG * b.scale(moduli))[None])
    return add_logs(rounding, log_above(k)[0] - 2 * LOG)


def loses_nothing(a, b, moduli):
    exact = a.is_exact(moduli)[:, None] & b.is_exact(moduli)[None]
    return exact | a.zero[:, None] | b.zero[None]


def allowed(a, b):
    """The logarithm of abs(A)abs(B) over what X may be off."""
    log_k = log_below(a.x.shape[1])[0]
    terms = 2 * np.minimum((a.total - a.norm)[:, None], (b.total - b.norm)[None])
    return np.maximum(51 * LOG - log_k // 2, 52 * LOG - terms)


def if_they_meet(a, b, logs):
    """logs, but as much as any needs where no block of k has numbers of both lines' groups."""
    met = blocks(a).astype(int) @ blocks(b).astype(int).T > 0
    met = np.repeat(np.repeat(met, GROUP, 0)[:len(a.x)], GROUP, 1)[:, :len(b.x)]
    return np.where(met | (a.x.shape[1] > 16384), logs, -NOTHING)


def certified(a, b, moduli, logs, loss):
    """logs: of abs(A)abs(B), at most; of what X may be off."""
    scales = LOG * (a.scale(moduli)[:, None] + b.scale(moduli)[None])
    log_k = log_below(a.x.shape[1])[0]
    by_means = a.mean[:, None] + b.mean[None] + scales >= 51 * LOG - 3 * log_k // 2 + loss
    by_estimate = logs + scales >= allowed(a, b) + loss
    return by_means | by_estimate | loses_nothing(a, b, moduli)


def tiles_of(flags):
    m, n = flags.shape
    padded = np.pad(flags, ((0, -m % TILE), (0, -n % TILE)))
    return padded.reshape(-(-m // TILE), TILE, -(-n // TILE), TILE).sum((1, 3))


def blocks(lines):
    full = lines.full
    padded = np.pad(full, ((0, -full.shape[0] % GROUP), (0, -full.shape[1] % STAGE)))
    return padded.reshape(padded.shape[0] // GROUP, GROUP, -1, STAGE).any((1, 3))


def share_of_blocks(a, b):
    if a.x.shape[1] > 16384:
        return 1.0
    one, other = blocks(a).sum(0), blocks(b).sum(0)
    met = int((one * other).sum())
    return (16 + 48 * met // (len(one) * len(blocks(a)) * len(blocks(b)))) / 64


def cheapest(certify, a, b):
    """(moduli or 0, elements left, cost) of what costs least; certify(N) is a matrix of flags."""
    m, n = len(a.x), len(b.x)
    share = share_of_blocks(a, b)
    best = 0, m * n, float(BINARY64)
    if skips_estimate(m, n, a.x.shape[1]):
        return best
    for moduli in range(least_moduli(m, n, a.x.shape[1]), MOST + 1):
        left = ~certify(moduli)
        tiles = tiles_of(left)
        cost = share * moduli + BINARY64 * np.minimum(tiles, FEW).mean() / FEW
        if cost < best[2]:
            best = moduli, int(left.sum()), cost
        if not left.any():
            break
    return best


def spread_of(s):
    return np.where(s.has_mean, np.maximum(0, (s.norm + s.total) // 2 - s.mean), 1 << 20)


def by_lines(a, b):
    """The moduli of which lines alone tell that they do; 0 if none."""
    k = a.x.shape[1]
    if is_thin(len(a.x), len(b.x), k):
        return 0
    log_k, least = log_below(k)[0], least_moduli(len(a.x), len(b.x), k)
    most = []
    for s in (a, b):
        spread = np.where(s.zero, -(1 << 20), spread_of(s))
        most.append((np.where(s.is_exact(least), -(1 << 20), spread).max(), spread.max()))
    spread = max(most[0][0] + most[1][1], most[0][1] + most[1][0])
    for moduli in range(FEWEST, least):
        if a.is_exact(moduli).all() and b.is_exact(moduli).all():
            return moduli
    more = 0 if skips_estimate(len(a.x), len(b.x), k) else 2 if k <= 2048 else 1
    for moduli in range(least, least + more + 1):
        if spread < level(moduli, k) - 52 * LOG + 3 * log_k // 2:
            return moduli
    return 0


def choice_of(a, b):
    """As the definition has it."""
    moduli = by_lines(a, b)
    if moduli:
        left = ~certified(a, b, moduli, NOTHING, loss_of_today(a, b, moduli))
        return moduli, int(left.sum()), moduli * share_of_blocks(a, b)
    logs = estimate_of(a, b)
    return cheapest(lambda n: certified(a, b, n, logs, loss_of_today(a, b, n)), a, b)


# ---- other rules ----

def log2(x):
    with np.errstate(divide="ignore"):
        return np.maximum(LOG * np.log2(x), NOTHING)


def product_of_magnitudes(a, b):
    """The logarithm of abs(A)abs(B), to binary64's accuracy."""
    one, other = (np.abs(s.scaled(-(s.norm // LOG))) for s in (a, b))
    logs = log2(one @ other.T) + LOG * ((a.norm // LOG)[:, None] + (b.norm // LOG)[None])
    return if_they_meet(a, b, logs)


def loss_by_elements(a, b, moduli):
    """What rounding costs at most, by each element: half a unit, what it has, or nothing."""
    fixed = [np.abs(s.scaled(s.scale(moduli))) for s in (a, b)]
    off = [np.where(x == np.rint(x), 0.0, np.minimum(x, 0.5)) for x in fixed]
    return log2(off[0] @ (fixed[1] + off[1]).T + fixed[0] @ off[1].T)


def loss_by_blocks(a, b, moduli):
    """As today, but of each block of k only where both lines' groups have numbers."""
    sums, inside = [], []
    for s in (a, b):
        x = np.abs(s.scaled(s.scale(moduli)))
        sums.append(np.add.reduceat(x, np.arange(0, x.shape[1], STAGE), axis=1))
        inside.append(np.repeat(blocks(s), GROUP, axis=0)[:len(x)].astype(np.float64))
    off = [inside[0] @ sums[1].T, sums[0] @ inside[1].T]
    return log2((off[0] + off[1]) / 2 + a.x.shape[1] / 4)


def loss_by_lines(a, b, moduli):
    """As `faithful` has it: of lines that are rounded, by how many of their elements are."""
    def of_rounding(s, other):
        count = log2(np.maximum(s.count, 1))[:, None] / 2
        scale = LOG * other.scale(moduli)
        units = np.exp2(np.minimum(other.total + scale, count + other.norm + scale) / LOG - 1)
        return np.where(s.is_exact(moduli)[:, None], 0, units)

    return np.ceil(log2(of_rounding(a, b) + of_rounding(b, a).T + a.x.shape[1] / 4))


def segments(a, b, logs, count, order=None):
    """k cut in parts with scales of their own; sums are joined in binary64."""
    k = a.x.shape[1]
    if order is not None:
        a, b = (Lines(s.x[:, order], s.shift[order]) for s in (a, b))
    ends = [round(k * i / count / STAGE) * STAGE if i < count else k for i in range(count + 1)]
    parts = [(a.part(f, e), b.part(f, e)) for f, e in zip(ends, ends[1:]) if f < e]
    room = allowed(a, b)

    def certify(moduli):
        worst = np.full(logs.shape, float(NOTHING))
        for p, q in parts:
            off = loss_of_today(p, q, moduli) - LOG * (p.scale(moduli)[:, None] +
                                                        q.scale(moduli)[None])
            off = np.where(loses_nothing(p, q, moduli), NOTHING, off)
            worst = np.maximum(worst, off) + LOG * np.log1p(
                np.exp2(-np.abs(worst - off) / LOG)) / math.log(2)
        return (logs >= room + worst) | (worst <= NOTHING + LOG)
    return certify


def scales_by_products(a, b, product):
    """Bits that lines can have more, as abs(A)abs(B) is less than the product of their norms."""
    cosine = product - a.norm[:, None] - b.norm[None]
    rows = -cosine.max(1) // (2 * LOG)
    columns = -(cosine + LOG * rows[:, None]).max(0) // LOG
    rows = -(cosine + LOG * columns[None]).max(1) // LOG
    return np.maximum(rows, 0), np.maximum(columns, 0)


def with_more(a, b, more, logs):
    def certify(moduli):
        loss = loss_of_today(a, b, moduli)
        rows, columns = more
        rounding = np.maximum((a.total + LOG * (a.scale(moduli) + rows))[:, None],
                              (b.total + LOG * (b.scale(moduli) + columns))[None])
        loss = add_logs(rounding, log_above(a.x.shape[1])[0] - 2 * LOG)
        scales = LOG * ((a.scale(moduli) + rows)[:, None] + (b.scale(moduli) + columns)[None])
        return (logs + scales >= allowed(a, b) + loss) | loses_nothing(a, b, moduli)
    return certify


def moduli_by_group(a, b, logs):
    """The mean number of moduli of a tile, if each group of lines has a level of its own, and if
    each tile has; two elements of a tile are left for nothing."""
    needed = np.full(logs.shape, MOST + 1)
    for moduli in range(MOST, LEAST - 1, -1):
        needed[certified(a, b, moduli, logs, loss_of_today(a, b, moduli))] = moduli
    m, n = needed.shape
    wide = np.pad(needed, ((0, -m % TILE), (0, -n % TILE)))
    tiles = wide.reshape(-(-m // TILE), TILE, -(-n // TILE), TILE).transpose(0, 2, 1, 3)
    ranked = np.partition(tiles.reshape(*tiles.shape[:2], -1), -3, axis=2)
    tile = np.minimum(ranked[:, :, -3], MOST)
    rows, columns = tile.max(1), tile.max(0)
    return float(((rows[:, None] + columns[None]) / 2).mean()), float(tile.mean())


def dropped_blocks(a, b, product):
    """The share of products of blocks that have numbers, and of those that all together matter."""
    room = product - allowed(a, b)
    one, other = blocks(a), blocks(b)
    stages = one.shape[1]
    matters = np.zeros((one.shape[0], other.shape[0]), dtype=int)
    met = matters.copy()
    for s in range(stages):
        l = slice(s * STAGE, (s + 1) * STAGE)
        part = product_of_magnitudes(a.part(l.start, l.stop), b.part(l.start, l.stop))
        counts = tiles_of(part + log2(float(stages)) > room) > 0
        both = one[:, s][:, None] & other[:, s][None]
        met += both
        matters += both & counts
    return met.mean() / stages, matters.mean() / stages


def whole_moduli(a, b):
    """The fewest moduli by which A' B' is exact with equal levels, and with any."""
    bits = [int(np.where(s.zero, 0, s.norm - LOG * s.low).max()) for s in (a, b)]
    levels = [(count, level(count, a.x.shape[1])) for count in range(FEWEST, MOST + 1)]
    return (next((count for count, most in levels if most >= max(bits)), 0),
            next((count for count, most in levels if 2 * most >= sum(bits)), 0))


CRT = 2.0  # moduli that a CRT more and its sums cost, of a product with k = 4096


def rules(a, b, lines):
    """Yields (rule, moduli, elements left, cost) of other rules."""
    k = a.shape[1]
    plain = measured(a, b, np.zeros(k, dtype=np.int64))
    yield "no shifts", *choice_of(*plain)
    flat = measured(a, b, balanced(a, b, lines))
    yield "balanced shifts", *choice_of(*flat)
    equal, any_levels = whole_moduli(*lines)
    yield "exact, equal levels", equal, 0, equal or ""
    yield "exact, any levels", any_levels, 0, any_levels or ""
    if not by_lines(*lines):
        logs, product = estimate_of(*lines), product_of_magnitudes(*lines)
        yield from rules_of_estimates(lines, logs, product)
        yield from rules_of_parts(b, lines, logs, product)


def rules_of_estimates(lines, logs, product):
    """Rules with other estimates of abs(A)abs(B), or of what rounding costs."""
    for finer in (1, 2, 3, 4):
        by_finer = estimate_of(*lines, finer)
        yield f"units 2^-{finer}", *cheapest(
            lambda N: certified(*lines, N, by_finer, loss_of_today(*lines, N)), *lines)
    yield "exact abs(A)abs(B)", *cheapest(
        lambda N: certified(*lines, N, product, loss_of_today(*lines, N)), *lines)
    yield "loss by lines", *cheapest(
        lambda N: certified(*lines, N, logs, loss_by_lines(*lines, N)), *lines)
    yield "loss by blocks", *cheapest(
        lambda N: certified(*lines, N, logs, loss_by_blocks(*lines, N)), *lines)
    yield "loss by elements", *cheapest(
        lambda N: certified(*lines, N, logs, loss_by_elements(*lines, N)), *lines)
    yield "both exact", *cheapest(
        lambda N: certified(*lines, N, product, loss_by_elements(*lines, N)), *lines)


def rules_of_parts(b, lines, logs, product):
    """Rules that give parts of k, of lines or of C moduli of their own."""
    for count in (2, 4):
        crts = CRT * 4096 / b.shape[1] * (count - 1)
        in_turn = cheapest(segments(*lines, logs, count), *lines)
        yield f"{count} segments", *in_turn[:2], in_turn[2] + crts
        order = np.argsort(lines[0].shift - np.frexp(np.abs(b).max(0))[1], kind="stable")
        by_size = cheapest(segments(*lines, logs, count, order), *lines)
        yield f"{count} sorted segments", *by_size[:2], by_size[2] + crts
    more = scales_by_products(*lines, product)
    yield "scales by abs(A)abs(B)", *cheapest(with_more(*lines, more, logs), *lines)
    by_group, by_tile = moduli_by_group(*lines, logs)
    yield "moduli by groups of lines", round(by_group, 2), "", by_group * share_of_blocks(*lines)
    yield "moduli by tiles", round(by_tile, 2), "", by_tile * share_of_blocks(*lines)
    met, matter = dropped_blocks(*lines, product)
    yield "blocks with numbers", round(met, 3), "", ""
    yield "blocks that matter", round(matter, 3), "", ""


def from_file(path):
    with open(path, "rb") as file:
        m, n, k = (int(x) for x in np.fromfile(file, dtype=np.int64, count=3))
        a = np.fromfile(file, count=m * k).reshape(k, m).T
        return a, np.fromfile(file, count=k * n).reshape(n, k).T


def kinds(arguments):
    if arguments.file:
        yield arguments.file, 0, lambda: from_file(arguments.file)
        return
    from real_data import own_shape
    from real_kinds import KINDS, Matrices
    used = set()
    for size in arguments.sizes or [1024]:
        matrices = Matrices(size)
        for title, make in KINDS.items():
            if arguments.kind in title:
                yield title, size, lambda make=make: own_shape(np, *make(matrices), used)


def tabulate(arguments, file):
    table = csv.writer(file, lineterminator="\n")
    table.writerow(["kind", "size", "m", "n", "k", "rule", "moduli", "left", "cost"])
    for title, size, make in kinds(arguments):
        try:
            a, b = make()
        except ImportError as reason:
            print(f"moduli: {title}: left out: {reason}", file=sys.stderr)
            continue
        a, b = np.ascontiguousarray(a), np.ascontiguousarray(b.T)
        lines = lines_of_today(a, b)
        rows = [("today", *choice_of(*lines)), *([] if arguments.today else rules(a, b, lines))]
        for rule, moduli, left, cost in rows:
            cost = round(float(cost), 2) if cost != "" else ""
            table.writerow([title, size, len(a), len(b), a.shape[1], rule, moduli, left, cost])
        file.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("sizes", nargs="*", type=int, metavar="N")
    parser.add_argument("--today", action="store_true", help="no other rules")
    parser.add_argument("--out", help="a CSV file")
    parser.add_argument("--kind", default="", help="a part of a title")
    parser.add_argument("--file", help="matrices, instead of kinds")
    arguments = parser.parse_args()
    if not arguments.out:
        tabulate(arguments, sys.stdout)
        return
    with open(arguments.out, "w", newline="", encoding="utf-8") as file:
        tabulate(arguments, file)


if __name__ == "__main__":
    main()
