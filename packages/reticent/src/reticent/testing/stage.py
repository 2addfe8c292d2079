"""A stage for attacks on whole bandits: the users, in order, are all the adversary's; fresh runs of one bandit, and a
look at its open step and its releases."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from reticent.core.live import Live
from reticent.data import Array, Raw
from reticent.kernels.block import LOGGED, Block
from reticent.kernels.rounds import BOUNDARY, CHOICES
from reticent.mechanisms.continual import Continual
from reticent.mechanisms.opening import opened
from reticent.privacy.noise import Simulated, Source

Make = Callable[[Source], Any]  # a bandit with that source of noise


class User(NamedTuple):
    """One round: (K, d) arms, and the reward whatever is chosen."""

    arms: Array
    reward: float


def nobody(dim: int, reward: float = 0.0) -> User:
    """A user whose only arm is 0: adds nothing to any sum."""
    return User(np.zeros((1, dim)), reward)


def probe(direction: Array, reward: float) -> User:
    """A user who sees on which side of 0 the estimate lies along `direction`: arms +v and -v, too small to teach."""
    v = 1e-6 * direction
    return User(np.stack([v, -v]), reward)


def users(members: Iterable[User]) -> Block:
    """Rounds for `Bandit.play`, which fills `index` with what each user got."""
    rounds = list(members)
    arms = np.ascontiguousarray(np.stack([user.arms for user in rounds]))
    n, count, _ = arms.shape
    rewards = np.repeat(np.array([[user.reward] for user in rounds]), count, axis=1)
    empty = np.empty(n)
    return Block(
        arms=arms,
        means=rewards,
        noise=np.zeros(n),
        logged=np.full(n, -1),
        kind=np.array([LOGGED]),
        scale=np.ones(1),
        index=np.zeros(n, np.int64),
        reward=empty,
        regret=empty.copy(),
    )


def act(bandit: Any, user: User, person: str | None = None) -> int:
    """One round by the face that people call: for bandits whose noise or bugs the compiled loop does not have. Returns
    which arm the user got."""
    choice = bandit.choose(user.arms, person=person)
    bandit.observe(choice, user.reward)
    return int(choice.index)


def fresh(make: Make, runs: int, rng: Generator, *, source: Callable[[int], Source] = Simulated) -> Iterator[Any]:
    """One bandit, `runs` times at its first round; the noise goes on and is never the same."""
    bandit: Any = make(source(int(rng.integers(2**63))))
    for _ in range(runs):
        yield (bandit := anew(bandit))


def anew(bandit: Any) -> Any:
    """At its first round, with the same noise and policy, which go on."""
    if isinstance(bandit, Live):
        bandit._state, bandit.memory.persons = bandit.init(), bandit._limits()
        return bandit
    given = {"pending": bandit.memory.pending, "source": bandit.source, "policy": bandit.sums.policy}
    return type(bandit)(bandit.algorithm, **given)


def contribution(bandit: Any, x: Sequence[float], reward: float) -> Array:
    """What a user with that arm and reward adds to the first step."""
    bandit = anew(bandit)
    bandit.memory.learner.join(Raw(np.array(x)), Raw(reward))
    return open_step(bandit)


def mechanism(bandit: Any) -> Continual:
    """What releases its sums."""
    holder: Any = bandit if isinstance(bandit, Live) else bandit.plan
    found: Continual = holder.mechanism
    return found


def open_step(bandit: Any) -> Array:
    """RAW. The sum of the step that is open."""
    sums: Array = opened(bandit.memory.learner.state.prefix).open
    return sums.copy()


def released(bandit: Any) -> Array:
    """The sums as they were released last."""
    sums: Array = bandit.memory.learner.state.prefix.released
    return sums


def close(bandit: Any) -> Array:
    """The open step ends, whoever is still to come in it; what is released then."""
    learner = bandit.memory.learner
    learner.counts[CHOICES] = max(learner.counts[CHOICES], learner.counts[BOUNDARY])
    learner.advance()
    return released(bandit)
