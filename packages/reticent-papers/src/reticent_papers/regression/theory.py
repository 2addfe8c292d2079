"""The paper's own schedules and widths, with its unspecified absolute constants set to 1: to be printed and compared.

Reference: Chen, Li, Rakhlin & Simchi-Levi 2025, arXiv:2502.13115.
"""

import math

SCHEDULES = ("practical", "paper")
FAILURE = 0.05
TIGHT = 1.1  # c of Proposition C.5


def spectral_steps(count: int) -> int:
    """K of Proposition 4.3: max(log log N, 20)."""
    return max(math.ceil(math.log(max(math.log(max(count, 3)), 1.0))), 20)


def tight_steps(count: int) -> int:
    """K of Proposition C.5: max(log log(1 / eps_N), 10)."""
    return max(math.ceil(math.log(max(math.log(max(count, 3)), 1.0))), 10)


def sampling_error(std: float, dim: int, people: int, steps: int, failure: float = FAILURE) -> float:
    """eps_N of Proposition 4.3: sqrt(log(K / failure) / N) + s sqrt(d + log(K / failure)), s the noise's std in the
    mean."""
    log = math.log(steps / failure)
    return math.sqrt(log / people) + std * math.sqrt(dim + log)


def growing_ridge(step: int, error: float) -> float:
    """lambda_k = (2 k + 5) eps_N of Proposition 4.3 (and C.7): of Sigma_(k) in (13), from which U_(k+1) follows, and at
    k = K of the result."""
    return (2 * step + 5) * error


def tight_error(std: float, dim: int, people: int, steps: int, failure: float = FAILURE) -> float:
    """eps_N of Lemma C.4: log(K d / failure) / N + s sqrt(d + log(K / failure))."""
    return math.log(steps * dim / failure) / people + std * math.sqrt(dim + math.log(steps / failure))


def tight_ridge(error: float, ratio: float = TIGHT) -> float:
    """lambda = (c^2 + 1) / (c^2 - 1) eps_N of Proposition C.5: the smallest lambda with lambda - eps >= c^-2 (lambda +
    eps), which is what its induction needs."""
    return (ratio**2 + 1) / (ratio**2 - 1) * error


def linear_error(people: int, failure: float = FAILURE) -> float:
    """epsilon of Proposition D.3: sqrt(log(6 / (failure failure_0)) / (c N)), failure_0 = failure / N and c = 35 / 72,
    the largest for which Lemma D.4 has its 6: E exp(c z^2) <= (1 - 2 c)^-1/2 where z is sub-Gaussian of variance 1."""
    return math.sqrt(math.log(6 * people / failure**2) / (35 / 72 * people))


def descent_steps(condition: float, count: int) -> int:
    """K = 16 kappa log T of Proposition C.6, kappa the ratio of the link's largest and smallest slope."""
    return math.ceil(16 * condition * math.log(max(count, 3)))


def descent_error(condition: float, dim: int, noise: float, count: int, failure: float = FAILURE) -> float:
    """The bound (17) on L |w - w*_U|: kappa^3/2 sqrt(log T log(log T / failure) / T)
    + noise (kappa^3/2 + kappa sqrt d) log T sqrt(log(log T / failure)) / T, noise = sigma_{alpha, beta} (joint). For
    the local bound (18) give noise sqrt T, and drop the first term."""
    log = math.log(max(count, 3))
    tail = math.log(max(log, 1.1) / failure)
    power = float(condition**1.5)
    statistical = power * math.sqrt(log * tail / count)
    return statistical + noise * (power + condition * math.sqrt(dim)) * log * math.sqrt(tail) / count


def batches(count: int, noise: float, model: str, failure: float = FAILURE) -> int:
    """K of Theorems 6.2 and 6.3: min(sqrt(T / (log T log(1 / failure))), (T / (noise sqrt log(1 / failure)))^2/3) for
    joint, (T / (noise^2 log(T / failure)))^1/3 for local; noise = sigma_{alpha, beta} times the sensitivity."""
    log, tail = math.log(max(count, 3)), math.log(1 / failure)
    if model == "local":
        return max(
            1, math.floor(float((count / (noise**2 * math.log(count / failure))) ** (1 / 3))) if noise else count
        )
    quiet = math.sqrt(count / (log * tail))
    loud = float((count / (noise * math.sqrt(tail))) ** (2 / 3)) if noise else quiet
    return max(1, math.floor(min(quiet, loud)))
