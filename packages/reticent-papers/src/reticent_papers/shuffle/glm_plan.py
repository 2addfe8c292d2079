"""ShuffleGLM's plan: how long batches are, how their sums are coded and fitted; and the paper's own parameters."""

import math
from typing import Any, NamedTuple

import numpy as np

from reticent.core.choices import Index
from reticent.errors import BudgetExceeded
from reticent.model.vectors import packed_size
from reticent.privacy.budget import Budget
from reticent_devices.mechanisms.shuffle.calibration import ShufflePlan
from reticent_devices.mechanisms.shuffle.encoding import reach
from reticent_devices.roles.analyzer import fewest, honest, liars
from reticent_papers.shuffle import apart as rounds
from reticent_papers.shuffle.composed import Sum, calibrate_sums, composed_epsilon
from reticent_papers.shuffle.glm_kernel import Fit, Sums
from reticent_papers.shuffle.published import COIN, PaperPlan, calibrate_paper

RIDGE, RIDGE_PER_STD = 0.5, 2.0  # lambda: so much, and so many times sqrt d more per unit of the noise's std
SENT = 1.0  # no gradient that a user sends is longer: |mu - r| |x| <= 1
NO_NOISE = 2.0**20  # grid cells per unit where no noise is asked for


class BatchPlan(NamedTuple):
    """Public: what the users of one batch do, and how the server fits."""

    users: int
    minimum: int  # reports that each round needs
    liars: int  # of them who may leave out their coins
    parts: tuple[Sum, Sum]
    information: ShufflePlan | PaperPlan
    gradient: ShufflePlan | PaperPlan
    sums: Sums
    fit: Fit


def ends(bandit: Any) -> Index:
    """The user counts at which batches end: every `first` users; or (6)-(7); or lengths a, a sqrt(a), ... whose last
    one would be the horizon."""
    horizon, count = bandit.horizon, bandit.batches
    if bandit.first is not None:
        return np.append(np.arange(bandit.first, horizon, bandit.first), horizon)
    a = horizon ** (1 / (2 - 2.0 ** (1 - count)))
    lengths = [a]
    if bandit.constants == "paper":
        parameters = theory(bandit)
        a = parameters["alpha"]
        lengths = [parameters["warm_up"], a]
    while len(lengths) < count:
        lengths.append(a * math.sqrt(lengths[-1]))
    out = np.minimum(np.cumsum(np.ceil(lengths)), horizon).astype(np.int64)
    out[-1] = horizon
    return np.unique(out)


def batch_plan(bandit: Any, batch: int, users: int) -> BatchPlan:
    """Of one batch of so many users, or an error if its budget cannot be kept."""
    budget, dim = bandit.budget, bandit.dim
    count = bandit.iterations or formula_iterations(bandit, users)
    largest = 1.0 if batch == 0 else 1 / bandit.kappa_star
    sizes = packed_size(dim), dim
    matrices, gradients = rounds.apart()
    farthest = tuple(largest * far for far in matrices)
    parts = Sum(sizes[0], farthest, largest, 0.5), Sum(sizes[1], gradients, SENT, 0.5, count)
    information: ShufflePlan | PaperPlan
    gradient: ShufflePlan | PaperPlan
    chance = 0.5
    if budget.epsilon == math.inf:
        silent = [ShufflePlan(users, s.size, NO_NOISE, reach(NO_NOISE, s.norm), 0, max(s.apart)) for s in parts]
        (information, gradient), std = silent, 0.0
    elif bandit.calibration == "exact":
        sure = honest(users, bandit.dropout, bandit.malicious)
        information, gradient = calibrate_sums(budget, users=users, sums=parts, honest=sure)
        spent = composed_epsilon([(information, parts[0]), (gradient, parts[1])], budget.delta, sure)
        if spent > budget.epsilon * (1 + 1e-6):
            raise BudgetExceeded(f"Expected epsilon at most {budget.epsilon:g} in all rounds, got {spent:.6g}.")
        std = information.std
    else:
        half = Budget(budget.epsilon / 2, budget.delta / 2)
        each = half.epsilon / (2 * math.sqrt(2 * count * math.log(1 / half.delta)))
        once = Budget(each, half.delta / (count + 1))
        information = calibrate_paper(half, users=users, dim=dim, sensitivity=largest, matrix=True)
        ridge, pull = _ridges(bandit, information.std)
        steepest = max(SENT, lipschitz(bandit, users, pull))
        gradient = calibrate_paper(once, users=users, dim=dim, sensitivity=steepest)
        chance, std = COIN, information.std
    ridge, pull = _ridges(bandit, std)
    step = 4 * bandit.radius / (lipschitz(bandit, users, pull) * math.sqrt(count))  # 2 D / (L sqrt T), D = 2 S
    step *= 1.0 if bandit.iterations is None else bandit.step_scale
    coins = float(information.trials), float(gradient.trials)
    sums = Sums(information.scale, coins[0], gradient.scale, coins[1], chance, largest)
    fit = Fit(count, step, ridge, pull, float(bandit.radius))
    least, lying = fewest(users, bandit.dropout), liars(users, bandit.malicious)
    return BatchPlan(users, least, lying, parts, information, gradient, sums, fit)


def _ridges(bandit: Any, std: float) -> tuple[float, float]:
    """lambda in the information and in the loss."""
    if bandit.constants == "paper":
        parameters = theory(bandit)
        return parameters["lambda"], parameters["lambda_max"]
    ridge = RIDGE + RIDGE_PER_STD * math.sqrt(bandit.dim) * std
    return ridge, ridge


def lipschitz(bandit: Any, users: int, pull: float) -> float:
    """L of a user's loss: with the paper's own descent R S + S + S lambda_max / B_k (E.4, R = 1), which a small S
    makes smaller than the gradients that are sent; else their bound."""
    s = float(bandit.radius)
    return 2 * s + s * pull / users if bandit.iterations is None else SENT


def formula_iterations(bandit: Any, users: int) -> int:
    """epsilon^2 n^2 / (d ln^3(n d / delta)): Algorithm 7."""
    budget, dim = bandit.budget, int(bandit.dim)
    e = 1.0 if budget.epsilon == math.inf else float(budget.epsilon) / 2
    return max(1, math.ceil(e**2 * users**2 / (dim * math.log(users * dim / float(budget.delta)) ** 3)))


def theory(bandit: Any) -> dict[str, float]:
    """The parameters of App. E.1 with C = 1 and the constant under O(.) of nu taken as 1, that of sigma as 8: with it
    (20) and (23) agree, lambda_min >= 20 d ln T as Theorem F.1 needs. alpha is that of the line after (7), with which
    B_2 = alpha, B_k = alpha sqrt(B_{k-1}) end at B_M = T; App. G has 2^-M where it has 2^(1-M)."""
    d, s, t, delta = bandit.dim, bandit.radius, bandit.horizon, bandit.budget.delta
    epsilon, count = bandit.budget.epsilon, max(2, bandit.batches)
    sigma = 0.0 if epsilon == math.inf else 8 * math.log(d**2 / delta) / (bandit.kappa_star * epsilon)
    nu = 0.0 if epsilon == math.inf else s**2 / epsilon * math.sqrt(d * math.log(t * d / delta) ** 3)
    lam = 20 * d * math.log(t) + sigma * (2 * math.sqrt(math.log(2 * d * count * t / delta)) + 4 * math.sqrt(d))
    gamma = s * math.sqrt(lam) + math.sqrt(4 * s * nu)
    alpha = t ** (1 / (2 - 2.0 ** (2 - count)))
    warm = (math.sqrt(bandit.kappa) * math.exp(3 * s) * d**2 * gamma**2 / s * alpha) ** (2 / 3)
    spread = sigma * (4 * math.sqrt(d) + 2 * math.sqrt(math.log(2 * count * t / delta)))
    out = {"sigma": sigma, "nu": nu, "lambda": lam, "gamma": gamma, "alpha": alpha, "warm_up": warm}
    return out | {"lambda_max": lam + spread, "lambda_min": lam - spread}
