"""The theoretical parameters of the rarely switching joint-private GLM bandit: Sarmasarkar 2026, arXiv:2602.00417, J.1.

They are printed beside the practical ones, and far from them: at d = 3 and T = 5000 the cut-off of Criterion I alone is
above the horizon by orders of magnitude."""

import math

import msgspec

from reticent import checks
from reticent.model import links
from reticent.privacy.budget import Budget
from reticent_lab import plain


class Theory(msgspec.Struct, frozen=True, kw_only=True):
    """ridge = lambda of (50), width = beta of (51), gamma of (52), and what section 6 derives from them."""

    kappa: float
    kappa_star: float
    ridge: float
    ridge_min: float
    ridge_max: float
    width: float
    gamma: float
    explore: float  # gamma sqrt(kappa): the width of UCB_o
    most_o: float  # cut-off of Criterion I
    most_tau: float  # cut-off of Criterion II
    rho_o: float  # zCDP budget of one call of the optimiser
    rho_tau: float
    sigma_noise: float  # of a node of the trees of J.3, in each number of the svec
    levels: int  # m of J.3
    nu_1: float  # error of the optimiser (56)
    nu_2: float  # and (57)

    def __str__(self) -> str:
        return "\n".join(f"  {name:<12}{getattr(self, name):.6g}" for name in self.__struct_fields__)


def theory(
    *,
    dim: int,
    horizon: int,
    budget: Budget,
    link: str,
    radius: float,
    failure: float | None = None,
    kappa_star: float | None = None,
    largest_reward: float = 1.0,
    constant: float = 1.0,
) -> Theory:
    """With L_T = log(T / failure), L_delta = log(1 / delta), R the largest reward, C = constant ("sufficiently large"):

        lambda = 5/4 d L_T + 100 sqrt(d) L_delta log T (sqrt L_T + sqrt d) / (epsilon kappa*)                     (50)
        beta   = C [R sqrt(d L_T) + R S d^1/4 (L_T L_delta)^1/2 (d + L_T)^1/4 / sqrt(epsilon min(kappa*, 1))]     (51)
        gamma  = C [R^2 S sqrt(d L_T) + R^2 S d^1/4 (L_T L_delta)^1/2 (d + L_T)^1/4 / sqrt(epsilon kappa*)
                    + R^4 S^4 d sqrt(kappa) L_T L_delta^1/2 / epsilon]                                           (52)
        count1 = 8 d R^2 kappa gamma^2 log T,  count2 = 4 log2(1 + T R^3 / d)
        lambda_min, lambda_max = lambda (4 sqrt d) / (4 sqrt d + 1), lambda (4 sqrt d + 2) / (4 sqrt d + 1)
        rho of a call = epsilon^2 / (144 count log(8 / delta))
        sigma_noise^2 = 72 m log(32 / delta)^2 / (kappa* epsilon)^2,  m = ceil(log2 T + 1)                       (J.3)
        nu_1 = R^2 S^2 gamma sqrt(d kappa log T log(8 / delta)) sqrt(d log T) / epsilon                           (56)
        nu_2 = R S^2 sqrt(log(8 / delta) log2(1 + T R^3 / d)) sqrt(d + log T) / epsilon,                          (57)
    with constants 1 in the last two. J.3 symmetrises (Z + Z') / 2, so that the svec of a node's noise has independent
    entries of variance sigma_noise^2.

    kappa = 1 / min mu' over |z| <= S. kappa*: the paper's is a property of the instance; without a declared bound it
    is 1 / mu'(0), the smallest it can be. failure (zeta): 1 / T unless given; the theorem wants it below delta."""
    checks.positive_int(dim=dim, horizon=horizon)
    checks.positive(radius=radius, largest_reward=largest_reward, constant=constant)
    chosen = links.named(link)
    failure = 1 / max(2, horizon) if failure is None else failure
    checks.probability(failure=failure)
    kappa = plain.kappa(chosen, radius)
    star = 1 / float(chosen.slope(0.0)) if kappa_star is None else kappa_star
    checks.positive(kappa_star=star)
    d, e, r, s = dim, budget.epsilon, largest_reward, radius
    log_t, log_f, log_d = math.log(max(2, horizon)), math.log(horizon / failure), math.log(1 / budget.delta)
    ridge = 1.25 * d * log_f + 100 * math.sqrt(d) * log_d * log_t * (math.sqrt(log_f) + math.sqrt(d)) / (e * star)
    mixed = s * d**0.25 * math.sqrt(log_f * log_d) * (d + log_f) ** 0.25
    width = constant * (r * math.sqrt(d * log_f) + r * mixed / math.sqrt(e * min(star, 1)))
    gamma = constant * (
        r**2 * s * math.sqrt(d * log_f)
        + r**2 * mixed / math.sqrt(e * star)
        + r**4 * s**4 * d * math.sqrt(kappa) * log_f * math.sqrt(log_d) / e
    )
    most_o = 8 * d * r**2 * kappa * gamma**2 * log_t
    most_tau = 4 * math.log2(1 + horizon * r**3 / d)
    root, log_8 = 4 * math.sqrt(d), math.log(8 / budget.delta)
    levels = math.ceil(math.log2(horizon) + 1)
    return Theory(
        kappa=kappa,
        kappa_star=star,
        ridge=ridge,
        ridge_min=ridge * root / (root + 1),
        ridge_max=ridge * (root + 2) / (root + 1),
        width=width,
        gamma=gamma,
        explore=gamma * math.sqrt(kappa),
        most_o=most_o,
        most_tau=most_tau,
        rho_o=e**2 / (144 * most_o * log_8),
        rho_tau=e**2 / (144 * most_tau * log_8),
        sigma_noise=math.sqrt(72 * levels) * math.log(32 / budget.delta) / (star * e),
        levels=levels,
        nu_1=r**2 * s**2 * gamma * math.sqrt(d * kappa * log_t * log_8 * d * log_t) / e,
        nu_2=r * s**2 * math.sqrt(log_8 * math.log2(1 + horizon * r**3 / d) * (d + log_t)) / e,
    )
