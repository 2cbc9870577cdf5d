"""The propagator of tests/clients in NumPy: usage: check_propagator.py CLIENTS"""

import contextlib
import io
import sys
import unittest

try:
    import numpy as np
except ImportError:
    print("skipped: there is no NumPy")
    sys.exit(77)

sys.path.insert(0, sys.argv[1])
import programs  # noqa: E402
import propagator  # noqa: E402


class Numpy(propagator.Propagators):
    name, version = "numpy", np.__version__
    solve = staticmethod(np.linalg.solve)

    def put(self, array):
        return array

    def wait(self):
        pass


class Wrong(Numpy):
    @staticmethod
    def solve(a, b):
        return np.linalg.solve(a, b) * (1 + 1e-9)


class Propagator(unittest.TestCase):
    def test_exponential(self):
        for batch in propagator.generators(60):
            found = propagator.exponential(batch, np.eye(60, dtype=complex), np.linalg.solve)
            for a, u in zip(batch, found, strict=True):
                energies, states = np.linalg.eigh(1j * a)
                expected = states * np.exp(-1j * energies) @ states.conj().T
                self.assertLess(abs(u - expected).max(), 1e-13)

    def test_norm_is_what_the_approximant_takes(self):
        *_, last = propagator.generators(propagator.LEVELS)
        largest = max(np.linalg.norm(a, 1) for a in last)
        self.assertLess(largest / 2**propagator.SQUARINGS, 5.37)

    def run_program(self, framework):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            worst = programs.run(framework(), True, None)
        self.assertRegex(output.getvalue(), r"^numpy  propagator 3 x 100 +\S+ ms  error +\S+\n$")
        return worst

    def test_program(self):
        self.assertLess(self.run_program(Numpy), 1.0)
        self.assertGreater(self.run_program(Wrong), programs.WORST)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
