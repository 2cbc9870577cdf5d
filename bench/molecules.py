"""Molecules of any size for pyscf: lists of (element, position in angstrom)."""
import math

CC, CH = 1.54, 1.09  # lengths of bonds, angstrom


def alkane(carbons):
    """C_n H_2n+2, a zigzag chain along x, with tetrahedral angles."""
    step, rise = CC * math.sqrt(2 / 3), CC * math.sqrt(1 / 3)
    out, up = CH * math.sqrt(2 / 3), CH * math.sqrt(1 / 3)
    atoms = []
    for i in range(carbons):
        side = (-1) ** i
        x, y = step * i, rise * side / 2
        atoms.append(("C", (x, y, 0.0)))
        atoms += [("H", (x, y + up * side, z)) for z in (out, -out)]
    for x, turn, i in ((0.0, -1, 0), (step * (carbons - 1), 1, carbons - 1)):
        side = (-1) ** i
        atoms.append(("H", (x + turn * out, rise * side / 2 - up * side, 0.0)))
    return atoms


def ring(carbons):
    """C_n H_2n, its carbons on a circle."""
    radius = CC / (2 * math.sin(math.pi / carbons))
    atoms = []
    for i in range(carbons):
        angle = 2 * math.pi * i / carbons
        for element, out, z in (("C", 0.0, 0.0), ("H", 0.63, 0.89), ("H", 0.63, -0.89)):
            r = radius + out
            atoms.append((element, (r * math.cos(angle), r * math.sin(angle), z)))
    return atoms


def waters(count):
    """Molecules of water on a cubic grid of 3.2 angstrom, each turned another way about z."""
    side = math.ceil(count ** (1 / 3) - 1e-9)
    atoms = []
    for i in range(count):
        x, y, z = (3.2 * (i // side ** axis % side) for axis in range(3))
        atoms.append(("O", (x, y, z)))
        for half in (-1, 1):
            angle = 1.9 * i + half * math.radians(104.5 / 2)
            atoms.append(("H", (x + 0.96 * math.cos(angle), y + 0.96 * math.sin(angle), z)))
    return atoms
