"""Attacks through HTTP: the service as it ships, on a database, with secure noise; what its untrusted readers see."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from reticent.core.claim import Sources, claimed
from reticent.core.onepass import OnePass
from reticent.core.plan import Plan
from reticent.data import Array
from reticent.privacy.noise import Secure
from reticent.testing.stage import User
from reticent_lab.audit import service
from reticent_lab.audit import stored_mutants as bugs
from reticent_lab.audit.attack import Attack
from reticent_lab.audit.attacks.bandits import Pair
from reticent_lab.audit.stored_mutants import Plant
from reticent_serve.service import config

BUDGET = {"epsilon": 6.0, "delta": 0.02}  # less noise: what a run tells grows with it, and each run is a service
SHARE = 0.02
FEWEST = 40  # runs that a bug is found with
RESTARTS = 16
AGAIN = 4  # times that a reward is sent
VIEW = "estimate over HTTP"
CLICK = Pair(([1.0], 0.0), ([1.0], 1.0))


class ServedRun(NamedTuple):
    """One run: the service's settings, what follows from them, and the folder of its database."""

    setting: dict[str, Any]
    plan: Plan
    place: Path

    @property
    def nobody(self) -> dict[str, Any]:
        """A user who adds nothing to any sum."""
        return {"arms": [[0.0] * self.plan.dim]}


Run = Callable[[ServedRun, int], Awaitable[float]]  # of a world: its score
Look = Callable[[Any], Array]  # at the estimate that is shown


def attacks() -> Sequence[Attack]:
    """As it is served; and planted: bugs of the store, each of which claims what the sound code does."""
    return [
        glm("joint-glm-served"),
        glm("served-raw-release", bug=bugs.RAW_RELEASE),
        glm("served-redrawn-on-restart", restarts=RESTARTS, bug=bugs.REDRAWN),
        glm("served-counted-twice", times=AGAIN, bug=bugs.COUNTED_TWICE),
        timing("served-triggered-by-rewards", bug=bugs.TRIGGERED),
    ]


def glm(name: str, *, times: int = 1, restarts: int = 0, bug: Plant | None = None) -> Attack:
    """The estimate is all that is shown of JointGLM's sums. The others' curvature is known, and keeps the noisy one
    above 0, below which nothing is shown."""

    async def run(play: ServedRun, world: int) -> float:
        others, again = User(np.eye(1), 0.5), {"times": times, "restarts": restarts}
        found = await estimate(play, CLICK, world, lambda shown: np.array(shown["theta"]), others=others, **again)
        return float(found[0])

    often = f", sent {times} times" if times > 1 else ""
    mean = f"the mean, over {restarts} restarts, of " if restarts else ""
    how = f"{CLICK}{often}, the others arm (1) and 0.5; score: {mean}the estimate"
    return attack("joint-glm", 1, name, run, how, bug=bug)


def timing(name: str, *, bug: Plant | None = None) -> Attack:
    """One of the first step's users answers or does not; all others of that step do. Nobody contributes anything."""

    async def run(play: ServedRun, world: int) -> float:
        with service.opened(play.setting, play.place) as ask:
            first = int(play.plan.schedule.first)
            choices = await ask("choose:batch", [play.nobody] * (first + 1))
            answers = [{"id": choice["id"], "reward": 1.0} for choice in choices[1 - world : first]]
            await ask("reward:batch", answers)
            return float((await ask("status"))["next_release_after"])

    how = "an arm of 0 and answers or not, where the others of its step do; score: when the open step is to close"
    return attack("joint-glm", 1, name, run, how, view="status over HTTP", bug=bug)


async def estimate(
    play: ServedRun,
    pair: Pair,
    world: int,
    look: Look,
    *,
    times: int = 1,
    restarts: int = 0,
    others: User | None = None,
) -> Array:
    """What is shown after the first release, in the mean over restarts."""
    with service.opened(play.setting, play.place) as ask:
        await first_step(ask, play, pair.user(world), others, times=times)
        seen = [look(await service.version(ask, 1))]
    for _ in range(restarts):
        with service.opened(play.setting, play.place) as ask:
            seen.append(look(await service.version(ask, 1)))
    return np.asarray(np.mean(seen, axis=0))


async def first_step(
    ask: service.Ask, play: ServedRun, user: User, others: User | None = None, *, times: int = 1
) -> None:
    """User 1's reward, sent so often, and those of the others, if they contribute anything; then all of them enter."""
    other = play.nobody if others is None else {"arms": others.arms.tolist()}
    choices = await ask("choose:batch", [{"arms": user.arms.tolist()}, *[other] * (int(play.plan.schedule.first) - 1)])
    rewards = [{"id": choices[0]["id"], "reward": user.reward}] * times
    if others is not None:
        rewards += [{"id": choice["id"], "reward": others.reward} for choice in choices[1:]]
    await ask("reward:batch", rewards)
    await ask.passed()


def planned(kind: str, dim: int) -> dict[str, Any]:
    """Settings with the shortest horizon in which the first release is followed by a choice."""
    for horizon in range(2, 1000):
        setting = {"kind": kind, "features": dim, "budget": BUDGET, "horizon": horizon}
        if built(setting).plan.schedule.first + 2 <= horizon:
            return setting
    raise ValueError("Expected a horizon below 1000, got none.")


def built(setting: dict[str, Any]) -> OnePass:
    document = {"bandits": {"one": setting | {"database": "unused.db"}}}
    return config.build(config.convert(document).bandits["one"], "one").one_pass(exact=True)


def attack(kind: str, dim: int, name: str, run: Run, how: str, *, view: str = VIEW, bug: Plant | None = None) -> Attack:
    setting = planned(kind, dim)
    algorithm = built(setting)
    epsilon = claimed(algorithm, Sources(Secure(), policy_given=False)).epsilon
    assert epsilon is not None

    async def played(world: int, runs: int, folder: Path) -> list[float]:
        out = []
        for i in range(runs):
            place = folder / str(i)
            place.mkdir()
            out.append(await run(ServedRun(setting, algorithm.plan, place), world))
        return out

    def scores(world: int, runs: int, rng: Generator) -> Array:
        with service.folder() as folder, contextlib.nullcontext() if bug is None else bug.planted():
            return np.array(asyncio.run(played(world, runs, folder)))

    return Attack(
        name=name,
        view=view,
        epsilon=epsilon,
        delta=BUDGET["delta"],
        claimed=bug is None,
        how=f"{'' if bug is None else bug.what} User 1 of a service on a database has {how}.".strip(),
        scores=scores,
        family="gaussian",
        share=SHARE if bug is None else FEWEST / 30_000,
        fewest=1 if bug is None else FEWEST,
    )
