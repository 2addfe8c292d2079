"""Online learners for the loss (<x, theta> - y)^2 - |theta|_Sigma^2 on the ball |theta| <= D: Maler, and descent.

Maler keeps one convex expert and, for each rate of a grid, a strongly convex and an exp-concave one, and plays their
average weighted by rate and exponential weights. Experts are rows: 0 the convex one, 1 + 2 i strongly convex and
2 + 2 i exp-concave with rate etas[i + 1]; etas[0] is the convex one's. Reference: Wang, Lu & Zhang 2020 (Maler)."""

from typing import NamedTuple

import numpy as np

from reticent.data import Array, Integers
from reticent.kernels.compile import kernel
from reticent.kernels.linalg import copy
from reticent_papers.kernels.matrices import HALVINGS

ALPHA = 0.5  # of the exp-concave expert: min(1, anything above 1) / 2 for every diameter


class LearnerSettings(NamedTuple):
    radius: float  # D
    clip: float  # G: gradients are cut to this norm
    maler: bool  # else projected gradient descent


class Learner(NamedTuple):
    """One online learner. Its arrays are changed in place."""

    theta: Array  # (d,): its prediction
    steps: Integers  # (1,)
    experts: Array  # (1 + 2 n, d)
    logs: Array  # (1 + 2 n,): log weights
    sigma: Array  # (n, d, d): of the exp-concave experts
    etas: Array  # (1 + n,): rates
    strength: Array  # (1,): mu, the strong convexity of the loss
    settings: LearnerSettings


@kernel
def learner_start(learner: Learner, horizon: float) -> None:
    """Before the first gradient, for that many of them: rates 2^-i / (5 G 2 D), priors 1/3 and
    C / (3 (i + 1) (i + 2))."""
    diameter, G = 2.0 * learner.settings.radius, learner.settings.clip
    n = learner.etas.size - 1
    learner.theta[:] = 0.0
    learner.steps[0] = 0
    learner.experts[:] = 0.0
    learner.etas[0] = 1.0 / (2.0 * G * diameter * np.sqrt(horizon))
    learner.logs[0] = np.log(1.0 / 3.0)
    top = int(np.ceil(0.5 * np.log2(max(horizon, 2.0))))
    C = 1.0 + 1.0 / (1.0 + top)
    for i in range(n):
        learner.etas[i + 1] = 2.0**-i / (5.0 * G * diameter)
        log = np.log(C / (3.0 * (i + 1) * (i + 2))) if i <= top else -np.inf
        learner.logs[1 + 2 * i] = log
        learner.logs[2 + 2 * i] = log
        learner.sigma[i] = 0.0
        for j in range(learner.theta.size):
            learner.sigma[i, j, j] = 1.0 / (4.0 * ALPHA * ALPHA * diameter * diameter)


@kernel
def into_ball(theta: Array, D: float) -> None:
    """The nearest point of |theta| <= D."""
    s = 0.0
    for i in range(theta.size):
        s += theta[i] * theta[i]
    if s > D * D:
        s = D / np.sqrt(s)
        for i in range(theta.size):
            theta[i] *= s


@kernel
def into_ball_in_norm(theta: Array, sigma: Array, D: float) -> None:
    """argmin of |p - theta|_sigma over |p| <= D: p = (sigma + lam I)^-1 sigma theta, lam by bisection in the axes of
    sigma."""
    d = theta.size
    s = 0.0
    for i in range(d):
        s += theta[i] * theta[i]
    if s <= D * D:
        return
    values, axes = np.linalg.eigh(sigma)
    along = np.dot(axes.T, theta)
    low, high = 0.0, values[d - 1] * np.sqrt(s) / D
    for _ in range(HALVINGS):
        lam = 0.5 * (low + high)
        s = 0.0
        for k in range(d):
            s += (values[k] * along[k] / (values[k] + lam)) ** 2
        if s > D * D:
            low = lam
        else:
            high = lam
    for k in range(d):
        along[k] *= values[k] / (values[k] + high)
    copy(np.dot(axes, along), theta)


@kernel
def learner_step(learner: Learner, g: Array) -> None:
    """One gradient g at learner.theta, clipped to norm G. Changes learner."""
    d = g.size
    D, G, mu = learner.settings.radius, learner.settings.clip, learner.strength[0]
    theta, experts, logs = learner.theta, learner.experts, learner.logs
    learner.steps[0] += 1
    t = learner.steps[0]
    clipped = g.copy()
    into_ball(clipped, G)
    if not learner.settings.maler:
        rate = 1.0 / (mu * t + G * np.sqrt(t) / (2.0 * D))
        for i in range(d):
            theta[i] -= rate * clipped[i]
        into_ball(theta, D)
        return
    diameter = 2.0 * D
    move = np.empty(d)
    for e in range(experts.shape[0]):
        if logs[e] == -np.inf:
            continue
        eta = learner.etas[0] if e == 0 else learner.etas[(e + 1) // 2]
        inner, far = 0.0, 0.0
        for i in range(d):
            inner += (experts[e, i] - theta[i]) * clipped[i]  # <expert - theta_t, g>
            far += (experts[e, i] - theta[i]) ** 2
        if e == 0:
            logs[e] -= eta * inner + (eta * G * diameter) ** 2
            for i in range(d):  # the surrogate's gradient is eta g, and the step 2 D / (eta G sqrt t)
                experts[e, i] -= diameter / (G * np.sqrt(t)) * clipped[i]
            into_ball(experts[e], D)
        elif e % 2 == 1:
            logs[e] -= eta * inner + eta * eta * G * G * far
            step = 1.0 / (2.0 * eta * eta * G * G * t)
            for i in range(d):
                move[i] = eta * clipped[i] + 2.0 * eta * eta * G * G * (experts[e, i] - theta[i])
            for i in range(d):
                experts[e, i] -= step * move[i]
            into_ball(experts[e], D)
        else:
            logs[e] -= eta * inner + eta * eta * inner * inner
            sigma = learner.sigma[e // 2 - 1]
            for i in range(d):
                move[i] = (eta + 2.0 * eta * eta * inner) * clipped[i]
            for i in range(d):
                for j in range(d):
                    sigma[i, j] += move[i] * move[j]
            experts[e] -= np.linalg.solve(sigma, move) / ALPHA
            into_ball_in_norm(experts[e], sigma, D)
    top = np.max(logs)
    total = 0.0
    for e in range(experts.shape[0]):
        total += np.exp(logs[e] - top)
    theta[:] = 0.0
    share = 0.0
    for e in range(experts.shape[0]):
        logs[e] -= top + np.log(total)
        eta = learner.etas[0] if e == 0 else learner.etas[(e + 1) // 2]
        w = eta * np.exp(logs[e])
        share += w
        for i in range(d):
            theta[i] += w * experts[e, i]
    for i in range(d):
        theta[i] /= share
