"""mypy refuses what mixes raw sums and released ones here, too."""

from pathlib import Path

import reticent_papers
from tests.whole.mistyped import refused

LEAKS = (  # a file, what stands there, and what leaks
    ("joint/continual.py", "self._update(self._state.prefix.released)", "self._update(self._state.prefix)"),
    ("joint/glm_rare.py", "redesign(released, ", "redesign(self._state.prefix, "),
    ("joint/shariff.py", "linear.ridge(released, ", "linear.ridge(self._state.prefix, "),
    ("joint/shariff_kernel.py", "ridge(prefix.released, ", "ridge(prefix.open, "),
    ("kernels/squarecb.py", "state.played, state.greed", "state.theta, state.greed"),
    ("joint/glm_rare_descent_kernel.py", "released = with_noise(total, noise[n], rule.cell)", "released = total"),
    ("regression/reweighting.py", "asked.release(k, total, count, source), ridge", "total, ridge"),
    (
        "shuffle/glm_kernel.py",
        "return with_coins(rng, total, sums.gradient, users * sums.coins, sums.chance)",
        "return total",
    ),
    ("local/linear_kernel.py", "linear_absorb(report, state)", "linear_absorb(vector, state)"),
    ("local/square_cb_kernel.py", "square_absorb(report, bound, state)", "square_absorb(vector, bound, state)"),
    ("local/reports_kernel.py", "report_absorb(report, state)", "report_absorb(vector, state)"),
    ("shuffle/rounds.py", "self.counts(vector, of, board))", "vector)"),
    (
        "shuffle/aggregation.py",
        "counts = coded(self.value(x, reward), self._noise, self._plan)",
        "counts = np.array([self.value(x, reward)], np.int64)",
    ),
)


def test_mypy_refuses_raw_sums_where_released_ones_are_meant(tmp_path):
    refused(Path(reticent_papers.__file__).parent, LEAKS, tmp_path)
