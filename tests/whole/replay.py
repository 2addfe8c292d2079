"""Replay: what was released in one run is released again in others, to the same few users among quite other people.

Everything that is shown is a function of what was released, of the asking user's own arms and of fresh randomness. So
where the releases are the same, and the randomness is, all that is shown to the users who are in all runs must be the
same, bit by bit, whoever else was there, whatever they did and whether they answered.

    check(lambda: Bandit(JointGLM(2, budget), policy=default_rng(0)))  # AssertionError if something leaks
"""

import contextlib
import logging
import math
import re
from typing import NamedTuple
from unittest import mock

import numpy as np

from reticent.core.bandit import Bandit
from reticent.errors import UnknownChoice
from reticent.privacy.randomness import Seeded, System
from reticent.testing.stage import users
from reticent_devices import Server
from tests.whole.tape import Tape, frozen

# what is shown

QUIET = """
    choose choose_many observe observe_many republish play save document restored load init device warm_up learn_log
    add_action retire_action end_experiment idle leaves tend room learns
    hear transit in_one_process named settings"""  # show nothing; leaves: of what is given
# what people's data are in, for those who serve: RAW, and shown to nobody. What follows is `chosen_by` and `released`
INSIDE = """
    source memory curator sums state counts shown pick propensity chance row chosen join due_numbers enter rounds
    advance"""
ASKED = {
    "interval": lambda method, arms: (method(arms), method(arms, level=0.8)),
    "intervals": lambda method, arms: method(arms),
    "billboard": lambda method, arms: method(),
    "board": lambda method, arms: method(version=0, previous="0" * 64, leaves=("0" * 64,) * 2, made=0, expires=1),
    "theory": lambda method, arms: method(),
    "formula_iterations": lambda method, arms: method(100),
}


def shown(owner, arms):
    """All that is public, by name: a new method has to be in ASKED or QUIET, and what has people's data in INSIDE."""
    out = {"repr": re.sub("0x[0-9a-f]+", "", repr(owner)), "str": re.sub("0x[0-9a-f]+", "", str(owner))}
    for name in dir(owner):
        if name.startswith("_") or name in INSIDE.split():
            continue
        value = getattr(owner, name)
        if callable(value):
            assert name in ASKED or name in QUIET.split(), f"{name} is shown, and not compared"
            value = ASKED[name](value, arms) if name in ASKED else None
        out[name] = frozen(shown(value, arms) if isinstance(value, Server) else value)
    return out | {f"the state's {name}": frozen(value) for name, value in chosen_by(owner).items()}


PUBLIC = ("posterior", "estimate", "design", "thetas", "inverses", "played", "greed", "step", "root", "width", "bases")


def chosen_by(bandit):
    """The parts of a state that choices are made by, seen by nobody else; and how often something was released."""
    inner = getattr(bandit, "_bandit", bandit)
    if isinstance(inner, Bandit):
        sums = inner.sums
        parts = {
            "step": sums.steps,
            "due": sums.due,
            "estimate": sums.estimator.estimate,
            "looks": sums.estimator.looks,
        }
        return parts | {"arrays": sums.state.estimate, "last": sums.estimator.last, "released": sums.released.copy()}
    state = getattr(inner, "server", inner)._state
    names = PUBLIC if "played" in state._fields or len(state._fields) > 2 else (*PUBLIC, "theta")
    return {name: getattr(state, name) for name in names if name in state._fields}


def check(make, drive=None, **options):
    """Three runs of `make()`, and that what is shown in them is the same. Returns how often something was released."""
    tape, drive = Tape(), drive or rounds
    with tape.recording():
        first = drive(make(), 0, tape=tape, **options)
    for people in (1, 2):
        with tape.playing():
            again = drive(make(), people, tape=tape, **options)
        for one, other in zip(first, again, strict=True):
            wrong = sorted(name for name in one if one[name] != other[name])
            assert not wrong, f"{', '.join(wrong)} not the same with other people in round {one['round']}"
    return len(tape.kept)


# the users

EVERY = 3  # one user in so many is in all runs


class Asking(NamedTuple):
    """A user with the arms, the reward, and which arms are available."""

    arms: np.ndarray
    reward: float
    available: np.ndarray | None


class Held:
    """The fresh randomness of a round, the same in all runs: devices' draws, and those that a propensity takes. Draws,
    normal numbers and uniform ones have a stream each: reports of rewards that never came take uniform ones, as many as
    there are, and nothing else may change by that."""

    def __init__(self):
        self.generator = np.random.default_rng()
        self.draws = Seeded(np.random.default_rng())  # of all devices: one may be used for several rounds

    @contextlib.contextmanager
    def round(self, number):
        self.generator, make, draws = np.random.default_rng(number), np.random.default_rng, Server._draws
        normal, self.draws.generator = make([number, 1]), make([number, 2])
        with (
            mock.patch.object(Server, "_draws", lambda server: draws(server) if server.policy else self.draws),
            mock.patch.object(System, "uniforms", lambda _, count: self.generator.random(count)),
            mock.patch.object(System, "normals", lambda _, count: normal.standard_normal(count)),
            mock.patch.object(np.random, "default_rng", lambda seed=None: make(0 if seed is None else seed)),
        ):
            yield


def crowd(people, bandit, *, wide=False):
    """(the same users in all runs, others). Where contexts are public, others have the same arms, and other rewards."""
    validator = bandit.memory.validator
    dim, (low, high) = validator.width, validator.rewards
    public = getattr(bandit, "_public", False)

    def some(seed, most):
        rng = np.random.default_rng(seed)
        rewards = np.random.default_rng([7, people]) if public and most else rng
        while True:
            offered = rng.integers(1, most) if most else rng.choice([4, 12]) if wide else 4
            arms, mask = rng.uniform(-0.7, 0.7, (offered, dim)), None
            if not most and rng.integers(2):
                arms = 1e-6 * arms[[0, 1, 0, 1]] * [[1], [1], [-1], [-1]]  # on which side of 0 the estimate lies
            if getattr(bandit, "_one_set", False):
                arms = np.eye(dim)
            elif wide and not most and rng.integers(2):
                mask = np.arange(len(arms)) % 3 < 2
            yield Asking(arms, float(rewards.choice([low, high, rewards.uniform(low, high)])), mask)

    return some(5, 0), some([6, 0 if public else people], 7)


def rounds(bandit, people, *, tape, count=60, absent=True):
    """So many rounds by choose and observe; what is shown to the users who are in all runs. absent: in the second run
    some of the others answer late, never or badly, come in batches with bad rows, or make requests that are refused; in
    the third none of them ever answers."""
    inner = getattr(bandit, "_bandit", bandit)  # of Anytime
    dim, low = inner.memory.validator.width, inner.memory.validator.rewards[0]
    known, others = crowd(people, inner, wide=True)
    rng, held, late, own, out = np.random.default_rng([8, people]), Held(), [], [], []
    worse = people > 0 and absent
    for t in range(count):
        with held.round(t):
            if t % EVERY == EVERY - 1:
                user = next(known)
                with logged() as lines:
                    choice = bandit.choose({str(i): x for i, x in enumerate(user.arms)}, available=user.available)
                    seen = {"round": t, "index": choice.index, "name": choice.name, "id": choice.id}
                    seen |= {"propensity": choice.propensity.hex()} | shown(bandit, user.arms)
                    own.append(choice)
                    seen |= {"observed": repr(bandit.observe(choice, user.reward))}
                    seen |= {"refused": refusals(bandit, choice, own[len(own) // 2])}
                out.append(seen | {"log": lines})
            elif t % 7 == 3:
                rows = [next(others).arms for _ in range(3)] + [next(known).arms]
                if worse and not getattr(inner, "_public", False):
                    rows[1] = np.full((2, dim), np.nan)
                choices = bandit.choose_many(rows)
                out.append({"round": t, "index": choices.index[3], "id": choices.id[3], "why": choices.refused.get(3)})
                bandit.observe_many(choices.id[-1:] if worse else choices.id, [low] * (1 if worse else 4))
            else:
                user = next(others)
                choice = bandit.choose(user.arms)
                fate = (0, rng.integers(4), 3)[people if absent else 0]
                if fate == 0:
                    bandit.observe(choice, user.reward)
                elif fate == 1:
                    late.append((choice, user.reward))
                elif fate == 2:
                    refused(bandit.observe, choice, np.nan)
                    refused(bandit.choose, [[np.inf] * dim])
                if fate != 2 and inner.memory.assignment is not None:
                    bandit.choose(user.arms)  # how many ask is public where a bad request has a number
                if late and rng.integers(3) == 0:
                    refused(bandit.observe, *late.pop())
            out.append({"round": t, "releases": tape.at})
    return out


def logs(bandit, people, *, tape, count=8, size=12):
    """The same where others are rows of a log: all with a reward, then some, then none, with a bad one."""
    known, others = crowd(people, bandit)
    rng, held, out, high = np.random.default_rng([10, people]), Held(), [], bandit.memory.validator.rewards[1]
    for t in range(count):
        rows = [next(others) for _ in range(size)]
        fates = (np.zeros(size, int), rng.choice([0, 2], size), np.full(size, 2))[people]
        fates[rng.integers(size)] = min(people, 1)
        rewards = [(row.reward, high + 6.0, None)[fate] for row, fate in zip(rows, fates, strict=True)]
        bandit.learn_log({"arms": [row.arms for row in rows], "action": [0] * size, "reward": rewards})
        user = next(known)
        with held.round(t):
            choice = bandit.choose(user.arms)
            seen = {"round": t, "index": choice.index, "id": choice.id, "propensity": choice.propensity.hex()}
            out.append(seen | shown(bandit, user.arms) | {"releases": tape.at})
    return out


def refusals(bandit, choice, earlier):
    """What is said to a user who is in all runs and does something wrong, twice, or late."""
    dim, out = getattr(bandit, "_bandit", bandit).memory.validator.width, []
    wrong = (
        *(lambda: bandit.observe(choice, 0.0), lambda: bandit.observe(earlier, 0.0)),
        *(lambda: bandit.observe(choice, "much"), lambda: bandit.observe(-1, 0.0)),
        *(lambda: bandit.choose([[math.nan] * dim]), lambda: bandit.choose([[0.1] * (dim + 1)])),
        lambda: bandit.choose([[0.1] * dim], available=[False]),
    )
    for act in wrong:
        try:
            out.append(repr(act()))
        except (ValueError, UnknownChoice) as error:
            out.append(f"{type(error).__name__}: {error}")
    return out


@contextlib.contextmanager
def logged():
    """What is logged meanwhile, by anybody."""
    lines, handler = [], logging.Handler()
    handler.addFilter(lambda record: not record.name.startswith("numba"))  # it tells what it compiles, once
    handler.emit = lambda record: lines.append(record.getMessage())
    root = logging.getLogger()
    before, level = root.level, logging.getLogger("reticent").level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    logging.getLogger("reticent").setLevel(logging.DEBUG)
    try:
        yield lines
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
        logging.getLogger("reticent").setLevel(level)


def refused(act, *args):
    """It may be: a reward that comes after its batch."""
    with contextlib.suppress(ValueError, UnknownChoice):
        act(*args)


def fits(regressor, people, *, tape, count=40):
    """The same for a regressor: two fits of other rows and targets; their number is public."""
    rng, out = np.random.default_rng([9, people]), []
    asking = np.array([[0.3, 0.4], [-0.6, 0.1]])
    for turn in range(2):
        regressor.fit(rng.uniform(-0.7, 0.7, (count, 2)), rng.choice(regressor.targets, count))
        seen = {name: frozen(value) for name, value in vars(regressor).items() if name.endswith("_")}
        seen |= {"predict": frozen(regressor.predict(asking)), "interval": frozen(regressor.predict_interval(asking))}
        out.append(seen | {"round": turn, "releases": tape.at, "privacy": frozen(regressor.privacy)})
    return out


def blocks(bandit, people, *, tape, count=60, size=20):
    """The same in compiled loops: blocks of `size` rounds, all of whose users answer."""
    (known, _), (others, answering), out = crowd(0, bandit), crowd(people, bandit), []
    for _ in range(1 + 500 * people * (not getattr(bandit, "_public", False))):
        next(others)  # so that they are somebody else
    if getattr(bandit, "_public", False):
        others = (user._replace(reward=next(answering).reward) for user in others)
    asking = next(crowd(0, bandit)[0]).arms
    for start in range(0, count, size):
        same = [t for t in range(size) if (start + t) % EVERY == 0]
        block = users([next(known if t in same else others) for t in range(size)])
        with Held().round(start):
            bandit.play(block)
            out.append(
                {"round": start, "releases": tape.at, "index": block.index[same].tolist()} | shown(bandit, asking)
            )
    return out
