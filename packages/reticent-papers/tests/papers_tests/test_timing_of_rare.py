"""JointGLMRare: what the times at which it recomputes tell."""

import numpy as np

from papers_tests.test_joint_glm_rare import TIMINGS, build
from reticent import Budget, Simulated
from reticent.mechanisms.opening import opened


class Shifted(Simulated):
    """Noise such that, from leaf `leaf` on, matrices are released with `offset` more: z plus offset times the column of
    the encoder. It hides one user's contribution exactly, up to rounding."""

    def __init__(self, bandit, leaf, offset):
        super().__init__(0)
        state, k = opened(bandit._state.prefix).noise, np.arange(bandit.horizon)
        decoder = (state.weights[:, None] * state.decay[:, None] ** k).sum(axis=0)
        self.column, self.leaf, self.offset, self.now = np.zeros(bandit.horizon), leaf, offset, 0
        for n in k:
            self.column[n] = (1 - self.column[:n] @ decoder[1 : n + 1][::-1]) / decoder[0]

    def rows(self, count, size, law):
        out = super().rows(count, size, law)
        if size == len(self.offset):
            if self.now >= self.leaf:
                out[0] += self.column[self.now - self.leaf] * self.offset
            self.now += 1
        return out


FAR, NEAR = 0.57 * np.array([[1.0, 1.0, 1.0]]), 0.01 * np.array([[1.0, 0.0, 0.0]])


def history(arms, reward_comes, source=None, *, timing="strict", at=40, rounds=150):
    """Everyone's arms and rewards are the same but user `at`'s, who is offered `arms` alone: (index, calls for theta_o,
    calls for theta_tau) at each other user's choice, and what that user added to the matrices."""
    options = {"budget": Budget(50.0, 0.02), "ridge": 2.0, "explore": 5.0, "most_o": 60}
    bandit = build(timing=timing, source=source or Simulated(0), **options)
    world, out, added = np.random.default_rng(10), [], np.zeros(bandit.contribution.size)
    for t in range(rounds):
        offered, value = world.uniform(-0.57, 0.57, (5, 3)), float(world.integers(2))
        choice = bandit.choose(arms if t == at else offered)
        if t == at:
            added = opened(bandit._state.prefix).open.copy()
        else:
            out.append((choice.index, *bandit.recomputations))
        if t != at or reward_comes:
            bandit.observe(choice, value)
    return bandit, out, added


def test_strict_timing_is_a_function_of_what_was_released():
    """The neighbour explores in one world; released matrices are made the same, and so later arms and calls are."""
    bandit, explored, far = history(FAR, reward_comes=False)
    _, _, near = history(NEAR, reward_comes=False)
    assert far[:6].any() and not near[:6].any()  # it moved from V to H
    other, hidden, _ = history(NEAR, reward_comes=False, source=Shifted(bandit, 40, far - near))
    assert np.allclose(bandit._state.prefix.released, other._state.prefix.released) and hidden == explored
    assert max(bandit.recomputations) > 2


def test_published_timing_shows_the_raw_context():
    """The released matrices are made the same again. When the neighbour's reward has come, theta_o is recomputed at
    once if its context was uncertain and not otherwise: the next user's round tells the two worlds apart."""
    for timing in TIMINGS:
        bandit, explored, far = history(FAR, reward_comes=True, timing=timing)
        _, _, near = history(NEAR, reward_comes=True, timing=timing)
        source = Shifted(bandit, 40, far - near)
        _, hidden, _ = history(NEAR, reward_comes=True, timing=timing, source=source)
        assert explored[:40] == hidden[:40]
        assert explored[40][1] - hidden[40][1] == (1 if timing == "published" else 0)
