"""The audit of a running server, once: canaries in one run of a scratch bandit, over HTTP.

Everybody is made up. In each step of the schedule there is one canary for each coordinate i: a person who is offered
one arm, the i-th unit vector, and whose reward is the highest or the lowest by a fair coin. All others are offered unit
vectors, too, and have the reward in the middle, so that little is learnt but noise. What is shown after each release
(`estimate`) is the auditor's view: JointLinUCB's sums of y x, and JointGLM's theta, from which those sums follow up to
noise, since all arms are known.

Scores. Let y_t be what is shown of coordinate i after release t, less what it would be with all rewards in the middle,
per unit of its sum (`sensitivity_of`: by the public algorithm itself). Then y = S X + N z, X_j = +-1/2 times what a
canary moves the sum by, S and N the mechanism's responses to data and to noise (audit.canary), and the scores are the
best linear estimates of X from y, for that ratio of noise to signal, at most the claimed one, that y makes likeliest:
where there is less noise than claimed, guesses get better. The sign is the guess, the length says how sure it is."""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from tacit.audit import one_run
from tacit.audit.bound import CONFIDENCE
from tacit.audit.canary import responses
from tacit.audit.service import Asking, version
from tacit.data import Array, Released
from tacit.kernels.rounds import next_boundary
from tacit.mechanisms.grid import Grid
from tacit.privacy import gaussian
from tacit.service.hot import MOST_ROWS

SURE = 6  # the guesses about one canary in so many are counted alone, too: the surest ones
NOISES = 2.0 ** -np.arange(21.0)  # ratios of noise to signal, per the claimed one
FEWEST = 20  # canaries
TIMES = 4  # that the reward of each is sent: whoever counts it again is found


class Person(NamedTuple):
    """Somebody made up, who is offered the unit vector of `place` alone."""

    place: int
    reward: float
    canary: bool
    name: str | None
    dim: int

    @property
    def request(self) -> dict[str, Any]:
        arms = [[float(i == self.place) for i in range(self.dim)]]
        return {"arms": arms} if self.name is None else {"arms": arms, "person": self.name}


class CanaryRun(NamedTuple):
    """coins: (steps, d), 1 or -1, and 0 where there was no canary; shown: (steps, d); sizes: choices of each step."""

    coins: Array
    shown: Array
    sizes: Sequence[int]


class Verdict(NamedTuple):
    """What one run says of (epsilon, delta). `lower` holds for any mechanism that is mu-GDP, `independent` where
    guesses are right independently of each other, as Gaussian noise for each number makes them."""

    epsilon: float
    delta: float
    choices: int
    canaries: int
    right: int
    surest: int
    right_of_surest: int
    lower: float
    independent: float
    confidence: float

    @property
    def convicted(self) -> bool:
        return max(self.lower, self.independent) > self.epsilon * (1 + 1e-6)

    def json(self) -> dict[str, Any]:
        return self._asdict() | {"convicted": self.convicted}

    def __str__(self) -> str:
        found = "BROKEN" if self.convicted else "holds"
        return (
            f"Claimed: epsilon {self.epsilon:.4g} at delta {self.delta:g}. {found}.\n"
            f"{self.choices} made-up choices, {self.canaries} canaries among them: {self.right} guessed rightly; of "
            f"the {self.surest} surest guesses {self.right_of_surest}.\n"
            f"At least {self.lower:.3g}, whatever the mechanism; at least {self.independent:.3g}, if guesses are right "
            f"independently of each other, as the noise of the certificate makes them (each with confidence "
            f"{self.confidence:.1%})."
        )


def check_scratch(bandit: Any, status: dict[str, Any], certificate: dict[str, Any]) -> None:
    """ValueError unless the server's bandit is a scratch one, new, and of these settings."""
    if status.get("scratch_of") is None:
        raise ValueError(
            "Expected a scratch bandit, which has scratch_of in the server's configuration, got one for people: "
            "made-up choices would be learnt from."
        )
    if status["choices"]:
        raise ValueError("Expected a scratch bandit without choices, got one with some: give it a new file (durable).")
    claimed = bandit.privacy
    wanted = [bandit.dim, claimed.epsilon, claimed.delta]
    if [status["dim"], certificate["epsilon"], certificate["delta"]] != wanted:
        raise ValueError("Expected a server with the settings of this configuration, got one with others.")
    if getattr(bandit, "positions", None) is not None or getattr(bandit, "control", None) is not None:
        raise ValueError(
            "Expected a bandit without lists and control group, got another: no canaries are known for it."
        )
    if bandit.features is not None or bandit._blocks > 1 or bandit._public or bandit.earnings is not None:
        raise ValueError(
            "Expected a bandit whose requests have vectors, without earnings and public contexts, got another: no "
            "canaries are known for it."
        )


async def play(ask: Asking, bandit: Any, look: str, rng: Generator, most: int) -> CanaryRun:
    """At most so many choices, in whole steps. look: which part of the estimate is read."""
    dim, rounds = bandit.dim, bandit.max_rounds_per_person or 1
    coins, shown, sizes = list[Array](), list[Any](), list[int]()
    most = min(most, bandit.horizon or most)
    while (ends := int(next_boundary(sum(sizes), *bandit._schedule))) <= most:
        size = ends - sum(sizes)
        flips = np.zeros(dim)
        places = (len(sizes) * (size // rounds) + np.arange(min(dim, size // rounds))) % dim
        flips[places] = rng.choice([-1.0, 1.0], len(places))
        low, high = bandit.rewards
        given = [(place, high if flips[place] > 0 else low) for place in places for _ in range(rounds)]
        given += [(n % dim, (low + high) / 2) for n in range(size - len(given))]
        named = bandit.max_rounds_per_person is not None
        people = [
            Person(place, reward, n < rounds * len(places), f"{ends}-{n // rounds}" if named else None, dim)
            for n, (place, reward) in enumerate(given)
        ]
        await _step(ask, people)
        shown.append((await version(ask, len(shown) + 1))[look])
        coins.append(flips)
        sizes.append(size)
    return CanaryRun(np.array(coins), np.array(shown), sizes)


def scores(bandit: Any, look: str, played: CanaryRun) -> Array:
    """(steps, d): what X is estimated to be, in units of its own size."""
    count, dim = played.coins.shape
    mechanism = bandit.mechanism.real if isinstance(bandit.mechanism, Grid) else bandit.mechanism
    noise, data = responses(dataclasses.replace(mechanism, sigma=bandit.mechanism.sigma))
    data, blur = data[:count, :count], noise[:count] @ noise[:count].T
    middle, slope = sensitivity_of(bandit, look, data, played.sizes)
    signals = [canary_size(bandit) / 2 * data * np.abs(played.coins[:, i]) for i in range(dim)]
    seen = list(np.divide(played.shown - middle, slope, out=np.zeros(slope.shape), where=slope != 0).T)
    pairs = list(zip(signals, seen, strict=True))
    part = min(NOISES, key=lambda part: sum(_surprise(signal @ signal.T + part**2 * blur, y) for signal, y in pairs))
    found = [signal.T @ np.linalg.solve(signal @ signal.T + part**2 * blur, y) for signal, y in pairs]
    return np.stack(found, axis=1)


def _surprise(covariance: Array, y: Array) -> float:
    """-2 log likelihood of y under the likeliest multiple of that covariance, but for a constant."""
    return float(np.linalg.slogdet(covariance)[1] + len(y) * np.log(y @ np.linalg.solve(covariance, y)))


def judged(bandit: Any, look: str, played: CanaryRun, confidence: float = CONFIDENCE) -> Verdict:
    there = played.coins != 0
    found, coins = scores(bandit, look, played)[there], played.coins[there]
    if len(coins) < FEWEST:
        raise ValueError(f"Expected choices for at least {FEWEST} canaries, got {len(coins)}.")
    right = (np.sign(found) == coins)[np.argsort(-np.abs(found))]  # the surest first
    surest, all_right, claim = max(FEWEST, len(coins) // SURE), int(right.sum()), bandit.privacy
    tries = [(int(right[:guessed].sum()), guessed) for guessed in (surest, len(coins))]
    half = (1 + confidence) / 2  # two events share the allowed error
    lower = max(one_run.lower_mu(*each, len(coins), half) for each in tries)
    return Verdict(
        epsilon=claim.epsilon,
        delta=claim.delta,
        choices=sum(played.sizes),
        canaries=len(coins),
        right=all_right,
        surest=surest,
        right_of_surest=tries[0][0],
        lower=gaussian.epsilon(lower, claim.delta),
        independent=gaussian.epsilon(one_run.independent(all_right, len(coins), confidence), claim.delta),
        confidence=confidence,
    )


async def audit(ask: Asking, bandit: Any, rng: Generator, most: int, confidence: float = CONFIDENCE) -> Verdict:
    """One run of at most so many choices. bandit: built from the server's configuration; it is asked nothing but what
    is public. ValueError where the server's is not a new scratch bandit of these settings."""
    check_scratch(bandit, await ask("status"), await ask("certificate"))
    look = "moment" if "moment" in await ask("estimate") else "theta"
    return judged(bandit, look, await play(ask, bandit, look, rng, most), confidence)


def canary_size(bandit: Any) -> float:
    """By how much a canary's two rewards move the sum of its coordinate, in all of its rounds."""
    low, high = bandit.rewards
    return (bandit.max_rounds_per_person or 1) * float(np.linalg.norm(_sum(bandit, 0, high) - _sum(bandit, 0, low)))


def sensitivity_of(bandit: Any, look: str, data: Array, sizes: Sequence[int]) -> tuple[Array, Array]:
    """(middle, slope), each (steps, d): what is shown with all rewards in the middle and no noise, and how it changes
    with the sum of each coordinate."""
    dim, algorithm = bandit.dim, bandit.algorithm
    low, high = bandit.rewards
    ways = [_sum(bandit, i, high) - _sum(bandit, i, low) for i in range(dim)]
    ways = [way / np.linalg.norm(way) for way in ways]
    steps = [sum(_sum(bandit, n % dim, (low + high) / 2) * (size / dim) for n in range(dim)) for size in sizes]
    live = algorithm.live(bandit._declared)
    blank = algorithm.blank(live)
    context = np.zeros(algorithm.plan.contexts)

    def shown(total: Array, step: int) -> Array:
        estimate = algorithm.estimate(blank, Released(total), context, step, live)
        return np.asarray(algorithm.statistics(estimate).moment if look == "moment" else algorithm.theta(estimate))

    middle, slope = np.empty((len(sizes), dim)), np.empty((len(sizes), dim))
    for t in range(len(sizes)):
        total = np.sum([data[t, j] * steps[j] for j in range(t + 1)], axis=0)
        middle[t] = shown(total, t + 1)
        for i, way in enumerate(ways):
            slope[t, i] = (shown(total + 0.1 * way, t + 1)[i] - shown(total - 0.1 * way, t + 1)[i]) / 0.2
    return middle, slope


def _sum(bandit: Any, place: int, reward: float) -> Array:
    """What somebody with that unit vector adds, at the first estimate."""
    algorithm = bandit.algorithm
    out = np.zeros(bandit.mechanism.size)
    adder = algorithm.adder(algorithm.blank(algorithm.live(bandit._declared)))
    adder.each(np.eye(bandit.dim)[place : place + 1], np.array([reward]), *adder.given, out)
    return out


async def _step(ask: Asking, people: Sequence[Person]) -> None:
    """The people of one step, all of whom answer."""
    for start in range(0, len(people), MOST_ROWS):
        part = people[start : start + MOST_ROWS]
        choices = await ask("choose:batch", [one.request for one in part])
        refused = [one["error"] for one in choices if "id" not in one]
        if refused:
            raise ValueError(f"Expected {len(part)} choices of the server, got a refusal: {refused[0]}")
        rewards = [({"id": made["id"], "reward": one.reward}, one) for made, one in zip(choices, part, strict=True)]
        await ask("reward:batch", [reward for reward, _ in rewards])
        for _ in range(TIMES - 1):
            if again := [reward for reward, one in rewards if one.canary]:
                await ask("reward:batch", again)
    await ask.passed()
