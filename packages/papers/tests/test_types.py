"""mypy refuses what mixes raw sums and released ones here, too."""

from pathlib import Path

import tacit_papers
from tests.whole.mistyped import refused

LEAK_IN_A_MATRIX = ("joint/glm_rare.py", "redesign(released, ", "redesign(self._state.prefix, ")
LEAK_OF_AN_ITERATE = ("kernels/squarecb.py", "state.played, state.greed", "state.theta, state.greed")
LEAK_IN_A_DESCENT = (
    "joint/glm_rare_descent_kernel.py",
    "released = with_noise(total, noise[n], rule.cell)",
    "released = total",
)
LEAK_IN_AN_ESTIMATE = (
    "regression/reweighting.py",
    "asked.release(k, total, count, source), ridge",
    "total, ridge",
)
LEAK_IN_A_SHUFFLED_DESCENT = (
    "shuffle/glm_kernel.py",
    "return with_coins(rng, total, sums.gradient, users * sums.coins, sums.chance)",
    "return total",
)
LEAK_IN_A_LOCAL_LOOP = (
    "local/linear_kernel.py",
    "linear_absorb(report, state)",
    "linear_absorb(vector, state)",
)
LEAK_IN_A_LOCAL_DESCENT = (
    "local/square_cb_kernel.py",
    "square_absorb(report, bound, state)",
    "square_absorb(vector, bound, state)",
)
LEAK_IN_A_LOCAL_STEP = (
    "local/reports_kernel.py",
    "report_absorb(report, state)",
    "report_absorb(vector, state)",
)
LEAK_IN_A_ROUND = ("shuffle/rounds.py", "self.counts(vector, of, board))", "vector)")
LEAK_IN_A_SHARE = (
    "shuffle/aggregation.py",
    "counts = coded(self.value(x, reward), self._noise, self._plan)",
    "counts = np.array([self.value(x, reward)], np.int64)",
)
LEAKS = (
    LEAK_IN_A_MATRIX,
    LEAK_OF_AN_ITERATE,
    LEAK_IN_A_DESCENT,
    LEAK_IN_AN_ESTIMATE,
    LEAK_IN_A_SHUFFLED_DESCENT,
    LEAK_IN_A_LOCAL_LOOP,
    LEAK_IN_A_LOCAL_DESCENT,
    LEAK_IN_A_LOCAL_STEP,
    LEAK_IN_A_ROUND,
    LEAK_IN_A_SHARE,
)


def test_mypy_refuses_raw_sums_where_released_ones_are_meant(tmp_path):
    refused(Path(tacit_papers.__file__).parent, LEAKS, tmp_path)
