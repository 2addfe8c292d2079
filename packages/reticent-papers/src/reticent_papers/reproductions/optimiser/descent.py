"""The main paper's private optimisers as printed, on data that are counts of a few contexts, so that a step costs the
same for any number of users: what they miss of the smallest loss."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from reticent.core.reward import Reward
from reticent.data import Array
from reticent.model.links import named
from reticent.privacy.budget import Budget
from reticent.privacy.noise import Simulated
from reticent_papers import ShuffleGLM
from reticent_papers.joint.glm_rare_theory import Theory, theory

RADIUS, DELTA, LINK = 3.0, 0.02, "logistic"
CHUNK = 4096  # steps whose noise is drawn at once
CONTEXTS: dict[str, Callable[[int, int, Array, Generator], tuple[Array, Array]]] = {  # vectors, and their frequencies
    "ball": lambda d, n, theta, rng: (_unit(rng.standard_normal((50, d))), np.full(50, 0.02)),
    "one direction": lambda d, n, theta, rng: (_unit(theta[None, :]), np.ones(1)),
    "rare directions": lambda d, n, theta, rng: (np.eye(d), np.r_[1 - (d - 1) / math.sqrt(n), [n**-0.5] * (d - 1)]),
    "short in most directions": lambda d, n, theta, rng: (np.diag(np.geomspace(1.0, 0.01, d)), np.full(d, 1 / d)),
}


class Losses(NamedTuple):
    """sum of l(theta, x, r) + pull / 2 |theta|^2 over n users, as counts of contexts and sums of rewards."""

    x: Array
    users: Array  # with each of these contexts
    rewards: Array  # of all of them
    pull: float


class Descent(NamedTuple):
    steps: int
    rate: float  # of the gradient of the sum
    sigma: float  # of the noise in the sum of gradients
    pull: float  # lambda
    nu: float  # what the paper says of its error, with 1 for the constant under O(.)


def numbers(dim: int, users: int, epsilon: float) -> Theory:
    """Those of J.1."""
    return theory(dim=dim, horizon=users, budget=Budget(epsilon, DELTA), link=LINK, radius=RADIUS)


def joint(dim: int, users: int, epsilon: float) -> Descent:
    """Lemma U.4 for theta_tau, with the numbers of J.1 and rho of J.3; nu_2 of (57)."""
    plan = numbers(dim, users, epsilon)
    steps = math.ceil((users**2 * plan.rho_tau + 6 * math.log(users)) / dim)
    steepest = 1 + RADIUS
    sigma = steepest * math.sqrt(2 * steps / plan.rho_tau)
    return Descent(steps, 2 * RADIUS / (steepest * math.sqrt(steps) * users), sigma, plan.ridge_max, plan.nu_2)


def shuffle(dim: int, users: int, epsilon: float) -> Descent:
    """Algorithm 7 for one batch, with half of the budget, (122) for each step, and lambda_max of E.1; nu of (22)."""
    bandit = ShuffleGLM(
        dim,
        Budget(epsilon, DELTA),
        Reward(LINK, RADIUS),
        horizon=users,
        calibration="paper",
        constants="paper",
        iterations=None,
        source=Simulated(0),
    )
    plan = bandit._plans[0]  # its warm-up, which is all of the users
    fit = plan.fit
    return Descent(fit.gradients, fit.step / users, plan.gradient.std, fit.pull, bandit.theory["nu"])


MODELS = {"joint": joint, "shuffle": shuffle}


def missed(descent: Descent, contexts: str, dim: int, users: int, rng: Generator) -> tuple[float, float]:
    """L(theta) - min L over |theta| <= S of what the descent returns, and of 0."""
    theta = RADIUS * _unit(rng.standard_normal(dim))
    x, shares = CONTEXTS[contexts](dim, users, theta, rng)
    count = rng.multinomial(users, shares)
    data = Losses(x, count.astype(float), rng.binomial(count, named(LINK).mean(x @ theta)).astype(float), descent.pull)
    least = loss(data, smallest(data))
    return loss(data, descend(data, descent, rng)) - least, loss(data, np.zeros(dim)) - least


def loss(data: Losses, theta: Array) -> float:
    z = data.x @ theta
    return float(data.users @ np.logaddexp(0.0, z) - data.rewards @ z + data.pull / 2 * theta @ theta)


def gradient(data: Losses, theta: Array) -> Array:
    return np.asarray(data.x.T @ (data.users * named(LINK).mean(data.x @ theta) - data.rewards) + data.pull * theta)


def descend(data: Losses, descent: Descent, rng: Generator) -> Array:
    """The mean of the iterates of projected descent from 0."""
    theta = np.zeros(data.x.shape[1])
    total = np.zeros_like(theta)
    for start in range(0, descent.steps, CHUNK):
        for noise in descent.sigma * rng.standard_normal((min(CHUNK, descent.steps - start), theta.size)):
            total += theta
            theta = theta - descent.rate * (gradient(data, theta) + noise)
            theta *= min(1.0, RADIUS / max(float(np.linalg.norm(theta)), 1e-300))
    return total / descent.steps


def smallest(data: Losses) -> Array:
    """The minimum over |theta| <= S: with as much more pull as makes it that short (by bisection)."""

    def at(more: float) -> Array:
        theta, pulled = np.zeros(data.x.shape[1]), data._replace(pull=data.pull + more)
        for _ in range(100):
            mean = named(LINK).mean(data.x @ theta)
            hessian = (data.x.T * (data.users * mean * (1 - mean))) @ data.x + pulled.pull * np.eye(theta.size)
            step = np.linalg.solve(hessian, gradient(pulled, theta))
            while loss(pulled, theta - step) > loss(pulled, theta) and np.linalg.norm(step) > 1e-12:
                step = step / 2
            theta = theta - step
            if np.linalg.norm(step) <= 1e-12:
                break
        return theta

    low, high = 0.0, 1.0
    if np.linalg.norm(at(low)) <= RADIUS:
        return at(low)
    while np.linalg.norm(at(high)) > RADIUS:
        low, high = high, 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if np.linalg.norm(at(middle)) > RADIUS else (low, middle)
    return at(high)


def _unit(rows: Array) -> Array:
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True))
