"""Algorithm 2 of Sarmasarkar 2026, arXiv:2602.00417, as its author's code has it: numbers, fits, and what they cost.

Read from the public repository Sahasrajit123/Shuffle_joint_dp_generalized_linear_contextual_bandits at its second
commit (d9c93e1, 30 April 2026, "Binary tree bug fixed and switching fixes"), whose notebook prints table 2 of version
2. Choices are made by (theta_o + theta_tau) / 2. A fit is gradient descent in batches on clipped gradients, without
projection, from that mean; its length and its noise depend on the number of users, which is raw."""

import functools
import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from reticent import extras
from reticent.data import Array
from reticent.kernels.noise import gaussian_law
from reticent.model import links
from reticent.privacy import ledger
from reticent.privacy.budget import Budget
from reticent.privacy.ledger import GaussianRelease
from reticent.privacy.noise import Source
from reticent.privacy.relations import REPLACE
from reticent_lab import plain
from reticent_lab.mechanisms.tree import Tree
from reticent_papers.joint.glm_rare_descent_kernel import Data, Rule, descend_as_coded
from reticent_papers.joint.glm_rare_printed import LEAK

CLIP = 0.2  # of a user's gradient
RATE = 10.0  # of step k, over sqrt k
PENALTY = 1e-5  # of the loss: this times |theta|^2
BATCH = 2048
BURN_IN = 10  # epochs that the average leaves out
FLOOR = 1e-12  # of the eigenvalues of V and H
FEW = 10  # calls up to which composition is naive
STARTS = ((0.1, 15), (0.3, 25), (1.0, 50), (2.0, 75), (math.inf, 100))  # epsilon of a call up to which: epochs
LARGEST = 1024.0
SIGMAS = 1e-5, 4e7  # within which the root finder looks

CODED = (
    " Nor is the noise that of the claim, epsilon {:.3g}. With the numbers of users in each fit taken as public, "
    "replacing one user costs epsilon {:.3g} at delta {:.3g} if that user changes the criterion, {:.3g} if it stays in "
    "I and {:.3g} if it stays in II. One fit costs {:.3g} at its delta, where {:.3g} is claimed: its noise is for a "
    "gradient that comes or goes, not for one that is replaced."
)


class Code(msgspec.Struct, frozen=True, kw_only=True):
    """What the constructor computes. Rewards are at most R = 1."""

    dim: int
    horizon: int
    kappa: float
    kappa_star: float
    ridge: float  # lambda of V and of H
    gamma: float
    width: float  # beta
    threshold: float  # of |x|^2_{V^-1}, Criterion I
    growth: float  # of H in some direction, Criterion II
    most_o: int
    most_tau: int
    sigma: float  # of a node of V's tree; H's is 1 / kappa* times as much
    levels: int
    call_o: Budget
    call_tau: Budget


def code(settings: Any) -> Code:
    """Of a bandit's dim, horizon, budget, link, radius and kappa_star. With zeta = delta, L = log(4 T / zeta) and
    p = log(4 / delta) L^2 / (epsilon kappa*):

        lambda = 2 p + .75 d L,  gamma = S sqrt(d log(T / zeta)),  beta = 4 sqrt(d log(T / zeta))
        Criterion I: |x|^2_{V^-1} > 100 / (kappa S^2 d);  II: H not <= (1.05 + 5 / (8 sqrt d)) H_tau
        count1 = d kappa gamma^2 log T / 20000
        count2 = 3 log2((lambda + 1.5 p) / (lambda - 1.5 p) + T / (kappa*^2 (lambda - 1.5 p) d))

    The trees have epsilon / 3 and delta / 3 each by zCDP, for a leaf of norm 1 (V) and 1 / kappa* (H) that comes or
    goes; the fits of each kind have epsilon / 3 and delta / 3, in equal parts."""
    dim, horizon, radius, budget = settings.dim, settings.horizon, settings.radius, settings.budget
    link = links.built_in(settings.link)
    e, delta, zeta = budget.epsilon, budget.delta, budget.delta
    kappa = plain.kappa(link, radius)
    star = 1 / float(link.slope(0.0)) if settings.kappa_star is None else settings.kappa_star
    long = math.log(4 * horizon / zeta)
    private = math.log(4 / delta) * long**2 / (e * star)
    ridge = 2 * private + 0.75 * dim * long
    root = math.sqrt(dim * math.log(horizon / zeta))
    low, high = ridge - 1.5 * private, ridge + 1.5 * private
    most_o = max(1, int(dim * kappa * (radius * root) ** 2 * math.log(horizon) / 20000))
    most_tau = max(1, int(3 * math.log2(high / low + horizon / (star**2 * low * dim))))
    third = math.log(3 / delta)
    rho = (math.sqrt(third + e / 3) - math.sqrt(third)) ** 2
    levels = math.ceil(math.log2(horizon)) + 1
    return Code(
        dim=dim,
        horizon=horizon,
        kappa=kappa,
        kappa_star=star,
        ridge=ridge,
        gamma=radius * root,
        width=4 * root,
        threshold=100 / (kappa * radius**2 * dim),
        growth=1.05 + 5 / (8 * math.sqrt(dim)),
        most_o=most_o,
        most_tau=most_tau,
        sigma=math.sqrt(levels / (2 * rho)),
        levels=levels,
        call_o=_share(budget, most_o),
        call_tau=_share(budget, most_tau),
    )


def _share(budget: Budget, calls: int) -> Budget:
    """Of one of so many calls that have epsilon / 3 and delta / 3 together: equal parts, or by advanced composition."""
    e, delta = budget.epsilon / 3, budget.delta / 3
    if calls <= FEW:
        return Budget(e / calls, delta / calls)
    spread = math.sqrt(2 * calls * math.log(2 / delta))
    low, high = 0.0, e / spread
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if spread * middle + calls * middle * math.expm1(middle) <= e else (low, middle)
    return Budget(low, delta / (2 * calls))


def tree(numbers: Code, size: int) -> Tree:
    """Of V and H stacked, without noise."""
    return Tree(leaves=1 << (numbers.levels - 1), size=size, sigma=0.0)


def rule(numbers: Code) -> dict[str, Any]:
    """What the rule of the bandit has from them."""
    return {
        "coded": True,
        "explore": 1 / math.sqrt(numbers.threshold),
        "eliminate": numbers.gamma * math.sqrt(numbers.kappa),
        "width": numbers.width,
        "ridge": numbers.ridge,
        "ridge_hessian": numbers.ridge,
        "floor": FLOOR / numbers.ridge,
        "growth": numbers.growth,
        "slope": math.e / numbers.kappa_star,  # leaves of H in units of 1 / kappa*, as the noise is
        "share": 0.5,
        "shrink_o": PENALTY,
        "shrink_tau": PENALTY,
        "step": RATE,
        "most_o": numbers.most_o,
        "most_tau": numbers.most_tau,
        "pace": 0.0,
        "cell": 0.0,
    }


class Fit(msgspec.Struct, frozen=True):
    """One call: descent in batches."""

    epochs: int
    burn_in: int
    batch: int
    sigma: float  # of the noise of a batch's sum of gradients, over CLIP

    @property
    def mu(self) -> float:
        """Of replacing one user: its gradient is in one batch of each epoch and moves that sum by at most 2 CLIP. (What
        the draw of the batches may add to privacy is left out.)"""
        return 2 * math.sqrt(self.epochs) / self.sigma


def fit(call: Budget, users: int, dim: int) -> Fit:
    """The length and the noise of a call on so many users (raw): epochs by STARTS, then those of a few multiples for
    which steps / noise^2 is largest. In one batch all have the same, and rounding errors of the root finder decide.
    ValueError where no noise reaches the call's epsilon: the accountant loses its digits at high orders, so that a
    small delta has none in batches. The code then tries smaller batches, which is not here."""
    batch, started = min(BATCH, users), next(epochs for most, epochs in STARTS if call.epsilon <= most)

    def sigma_for(epochs: int) -> float:
        one = batch == users
        return multiplier(call, epochs * (users // batch), 1 if one else batch, 1 if one else users)

    first = sigma_for(started) * CLIP / batch
    few = max(2, math.ceil(math.log(dim + 1)))
    factors: tuple[float, ...] = (0.5, 0.75, 1.0, 1.25, 1.5)
    if first > 8:
        factors = (0.1, 0.25, 0.5, 1.0, 1.5)
    elif first > 5:
        factors = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
    else:
        few = max(5, few)
    candidates = sorted({max(few, round(started * factor)) for factor in factors} | {started})
    sigmas = [sigma_for(epochs) for epochs in candidates]
    scores = [epochs / (sigma * CLIP / batch) ** 2 for epochs, sigma in zip(candidates, sigmas, strict=True)]
    _, epochs, sigma = max(zip(scores, candidates, sigmas, strict=True))
    burn_in = BURN_IN if epochs == started else max(1, round(BURN_IN * epochs / started))
    return Fit(epochs, burn_in, batch, sigma)


def fitted(data: Data, count: int, explored: int, start: Array, source: Source, call: Budget, rule: Rule) -> Array:
    """theta from the users of Criterion I (explored = 1) or from all that were kept, from `start`."""
    mine = np.flatnonzero(data.explored[:count]) if explored else np.arange(count)
    if not len(mine):  # the code fails here; noise alone can bring Criterion II about in round 1
        return start.copy()
    how = fit(call, len(mine), start.size)
    parts = len(mine) // how.batch
    batches = np.tile(np.arange(how.batch), (how.epochs, 1, 1))
    if how.batch < len(mine):  # in the order of Gaussian draws: each epoch shuffles anew
        batches = np.argsort(source.rows(how.epochs, len(mine), gaussian_law(1.0)), axis=1)
        batches = batches[:, : parts * how.batch].reshape(how.epochs, parts, how.batch)
    noise = source.rows(how.epochs * parts, start.size, gaussian_law(how.sigma * CLIP))
    out: Array = descend_as_coded(data, mine, start, noise, batches, how.burn_in, CLIP, rule)
    return out


@functools.lru_cache(maxsize=4096)
def multiplier(call: Budget, steps: int, batch: int, users: int) -> float:
    """sigma for which that many steps cost the call's epsilon, by Renyi orders and a root finder (xtol 1e-6): batches
    count as drawn without replacement."""
    from scipy.optimize import brentq  # a tenth of a second to import

    orders, place = _orders(call.epsilon), [22]

    def over(sigma: float) -> float:
        """The least over the orders; in batches from where it was last, since one order then takes milliseconds: as a
        function of the order it falls, then grows."""
        if batch == users:
            return _epsilon(sigma, call, steps, batch, users, orders) - call.epsilon
        now = at(sigma, place[0])
        for step in (1, -1):
            while 0 <= place[0] + step < len(orders) and at(sigma, place[0] + step) < now:
                place[0] += step
                now = at(sigma, place[0])
        return now - call.epsilon

    @functools.cache
    def at(sigma: float, index: int) -> float:
        return _epsilon(sigma, call, steps, batch, users, orders[index : index + 1])

    bounds = SIGMAS
    if batch < users:  # what the bound comes to where sigma is large
        near = 2 * batch / users * multiplier(call, steps, 1, 1)
        bounds = near / 2, near * 4
    if not (over(bounds[0]) > 0 > over(bounds[1])):
        raise ValueError(f"Expected an epsilon that some noise reaches, got {call.epsilon:.3g} for one call.")
    return float(brentq(over, *bounds, xtol=1e-6))


def _epsilon(sigma: float, call: Budget, steps: int, batch: int, users: int, orders: Sequence[float]) -> float:
    rdp = extras.load("dp_accounting.rdp", "the fits of constants='code'", extra="composition")
    events = extras.load("dp_accounting.dp_event", "the fits of constants='code'", extra="composition")
    relation = extras.load(
        "dp_accounting.privacy_accountant", "the fits of constants='code'", extra="composition"
    ).NeighboringRelation
    accountant = rdp.RdpAccountant(orders=list(orders), neighboring_relation=relation.REPLACE_ONE)
    accountant.compose(events.SampledWithoutReplacementDpEvent(users, batch, events.GaussianDpEvent(sigma)), steps)
    return float(accountant.get_epsilon(call.delta))


def _orders(epsilon: float) -> list[float]:
    tail = [64.0, 96.0, 128.0, 192.0, 256.0, 384.0, 512.0, 768.0, LARGEST]
    return [1.25, 1.5, 1.75, *map(float, range(2, 64)), *(tail if epsilon < 0.3 else tail[:-2])]


def releases(numbers: Code) -> dict[str, tuple[GaussianRelease, ...]]:
    """What a replaced user is in, if it changes the criterion ("both") or stays in I or in II; the numbers of users in
    fits are taken as public, and so is when a fit happens.

    V's leaf has norm at most 1 (x x' / (1 + |x|^2_{V^-1})) and H's at most 1 / e in units of 1 / kappa*: one that comes
    or goes moves its tree by that, one that is replaced by sqrt 2 times as much. Users of either criterion are in the
    fits of theta_tau, those of I in those of theta_o as well; a gradient that comes or goes moves a sum by CLIP."""
    column = math.sqrt(numbers.levels)
    fits = []
    for call, calls in ((numbers.call_o, numbers.most_o), (numbers.call_tau, numbers.most_tau)):
        mus = [fit(call, users, numbers.dim).mu for users in {min(BATCH, numbers.horizon), numbers.horizon}]
        fits.append(GaussianRelease("fits", f"{calls} fits", 1.0, math.sqrt(calls) * max(mus), 1.0, relation=REPLACE))
    half = GaussianRelease("fits", fits[0].statistic, 0.5, fits[0].column_norm, 1.0, relation=REPLACE)

    def matrix(name: str, sensitivity: float) -> GaussianRelease:
        return GaussianRelease(name, "tree", sensitivity, column, numbers.sigma, relation=REPLACE)

    return {
        "both": (matrix("V", 1.0), matrix("H", math.exp(-1)), half, fits[1]),
        "I": (matrix("V", math.sqrt(2)), *fits),
        "II": (matrix("H", math.sqrt(2) * math.exp(-1)), fits[1]),
    }


def spent(numbers: Code, budget: Budget) -> dict[str, float]:
    """epsilon at the budget's delta for each, by the ledger; "fit": of one call for theta_tau at its own delta."""
    together = {name: ledger.epsilon_of(entries, budget.delta) for name, entries in releases(numbers).items()}
    one = fit(numbers.call_tau, min(BATCH, numbers.horizon), numbers.dim)
    single = GaussianRelease("fit", "one fit", 1.0, one.mu, 1.0, relation=REPLACE)
    return together | {"fit": ledger.epsilon_of([single], numbers.call_tau.delta)}


def caveat(numbers: Code, budget: Budget) -> str:
    """Why there is no certificate, and what the noise costs."""
    try:
        cost = spent(numbers, budget)
    except ValueError as error:  # as the code itself, when it comes to such a fit
        return f"{LEAK} Nor has it noise for all of its calls. {error}"
    return LEAK + CODED.format(
        budget.epsilon, cost["both"], budget.delta, cost["I"], cost["II"], cost["fit"], numbers.call_tau.epsilon
    )
