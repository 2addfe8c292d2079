"""A submission to `reticent arena` that needs nothing of reticent: explore, release one noisy sum, follow it."""

import math

import numpy as np


class Follow:
    """The first n^(2/3) users get random arms. Then the sum of (reward - 1/2) arm is released once, with noise, and
    everybody gets the arm that lies farthest along it."""

    def __init__(self, *, dim, arms, horizon, epsilon, delta, radius, link, seed, scale=1.0):
        self.rng, self.first, self.seen = np.random.default_rng(seed), math.ceil(horizon ** (2 / 3)), 0
        self.epsilon, self.delta, self.total, self.direction = epsilon, delta, np.zeros(dim), None
        rho = (math.sqrt(math.log(1 / delta) + epsilon) - math.sqrt(math.log(1 / delta))) ** 2
        self.sigma = scale * 1.0 / math.sqrt(2 * rho)  # replacing a user moves the sum by at most 1/2 + 1/2

    def choose(self, arms):
        if self.seen < self.first:
            return self.rng.integers(len(arms))
        if self.direction is None:
            self.direction = self.total + self.sigma * self.rng.standard_normal(len(self.total))
        return int(np.argmax(arms @ self.direction))

    def observe(self, arm, reward):
        if self.seen < self.first:
            self.total += (np.clip(reward, 0, 1) - 0.5) * arm / max(1.0, np.linalg.norm(arm))
        self.seen += 1

    def claim(self):
        why = "one Gaussian release of sensitivity 1, by zCDP"
        return {"epsilon": self.epsilon, "delta": self.delta, "relation": "replace", "why": why}
