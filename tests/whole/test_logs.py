"""At any level every logger says the same, whoever came, whatever their rewards were, and however many came."""

import contextlib
import json
import logging
import re
import warnings

import numpy as np
import pytest

from core_tests.canaries import Canaries
from core_tests.made import algorithm, joint
from reticent import Budget, Simulated
from reticent.core.onepass import OnePass
from reticent.core.validation import Validator
from reticent.mechanisms import entering
from reticent.mechanisms.leaves import ClosedSteps
from reticent.mechanisms.memory import PrefixSums
from reticent.mechanisms.opening import opened
from serve_tests.service.servers import application, call, lines, stored
from serve_tests.store.places import Place, settle

ROUNDS = 24
WARM = re.compile(r"ready after [\d.]+ seconds")  # which was before anybody came
SETTINGS = {"features": 3, "budget": Budget(1.0, 1e-5), "first": 8, "rounds": 3}


class Kept(logging.Handler):
    """Every record as it would be written, with its traceback."""

    def __init__(self):
        super().__init__(logging.NOTSET)
        self.lines = []

    def emit(self, record):
        self.lines.append(f"{record.name} {record.levelname} {self.format(record)}")


@contextlib.contextmanager
def everything():
    """All loggers at all levels, whatever they were set to, and warnings."""
    known = [logging.getLogger(name) for name in logging.root.manager.loggerDict]
    loggers = [logging.root, *known]
    before = [(one, one.level, one.disabled, one.propagate) for one in loggers]
    kept = Kept()
    for one in loggers:
        one.level, one.disabled, one.propagate = 1, False, True
        one.manager._clear_cache()
    logging.root.addHandler(kept)
    logging.captureWarnings(True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            yield kept.lines
    finally:
        logging.captureWarnings(False)
        logging.root.removeHandler(kept)
        for one, level, disabled, propagate in before:
            one.level, one.disabled, one.propagate = level, disabled, propagate
        logging.root.manager._clear_cache()


def people(world):
    """(arms, person, reward or None) of each round. A world has its own canary; in the second, half never answer."""
    canaries, out = Canaries(world), []
    for i in range(ROUNDS):
        arms = (np.eye(3)[: 2 + i % 2] * 0.9 if world == 0 else np.eye(3) * 0.5).tolist()
        arms[0] = canaries.numbers
        reward = canaries.reward if world == 0 else float(i % 3 == 0)
        out.append((arms, f"{canaries.texts['person']}{i % 5}", None if world and i % 2 else reward))
    return canaries, out


def in_memory(world, _):
    bandit = joint(**SETTINGS, source=Simulated(0))
    for arms, person, reward in people(world)[1]:
        choice = bandit.choose(arms, person=person)
        if reward is not None:
            bandit.observe(choice, reward)
    refused(bandit, people(world)[0])


def on_a_database(world, folder):
    """Rewards in time, and again when they are late; choices enter, and steps are released."""
    with Place(str(folder / f"{world}.db"), None).open(algorithm(**SETTINGS, window="10 seconds")) as stored:
        for i, (arms, person, reward) in enumerate(people(world)[1]):
            choice = stored.choose(arms, person=person, request=f"{i}")
            assert reward is None or stored.observe(choice, reward)
            settle(stored)
            assert reward is None or not stored.observe(choice, reward)
        assert stored.entered == ROUNDS and stored.version > 1
        stored.erase(people(world)[1][0][1])
        refused(stored, people(world)[0])


def over_http(world, folder):
    (folder / f"{world}").mkdir(exist_ok=True)
    app = application(folder / f"{world}", budget={"unit": {"rounds": 3}})
    rows = people(world)[1]
    ((_, _, body),) = call(app, ("choose:batch", lines(*({"arms": arms, "person": p} for arms, p, _ in rows))))
    ids = [json.loads(line)["id"] for line in body.splitlines()]
    for late in (False, True):
        for one, (_, _, reward) in zip(ids, rows, strict=True):
            asked = ("/healthz", None) if reward is None else ("reward", {"id": one, "reward": reward})
            ((status, _, body),) = call(app, asked)
            assert status == 200 and (b"late" in body) == (late and reward is not None)
        settle(stored(app))
    assert stored(app).entered == ROUNDS
    canaries = people(world)[0]
    call(app, ("reward", {"id": ids[0], "reward": canaries.numbers}), ("choose", {"arms": canaries.texts["arm"]}))
    app.close()


def refused(bandit, canaries):
    with pytest.raises(ValueError, match="Expected"):
        bandit.choose([[*canaries.numbers, 9.0]], person=canaries.texts["person"])
    with pytest.raises(ValueError, match="Expected"):
        bandit.observe(bandit.choose([canaries.numbers]), canaries.reward + 7)


WAYS = (in_memory, on_a_database, over_http)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_all_loggers_say_the_same_of_other_people(way, tmp_path):
    (tmp_path / "first").mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        way(0, tmp_path / "first")  # what is compiled or imported is said once
    said = []
    for world in (0, 1):
        with everything() as kept:
            way(world, tmp_path)
        assert people(world)[0].found_in([("log", "\n".join(kept).encode())]) == []
        lines = [line for line in kept if not line.startswith(("asyncio ", "concurrent."))]
        said.append([WARM.sub("ready", line) for line in lines])
    assert said[0] == said[1]


PLANTED = {
    "a reward, rounded": lambda reward: logging.getLogger("reticent").debug("%.2f", reward),
    "a word for each reward": lambda reward: logging.getLogger("reticent.bandits.anything").debug("one more"),
    "below debug": lambda reward: logging.getLogger("reticent_serve.service").log(5, "%s", reward),
    "a warning": lambda reward: warnings.warn(f"{reward}", stacklevel=1),
    "a logger that does not propagate": lambda reward: OWN.info("%r", reward),
}
OWN = logging.getLogger("reticent.of_its_own")
OWN.propagate, OWN.disabled = False, True


def of_a_row(given, kept):
    """A row, where an algorithm makes it."""
    LOG.debug("%s", given[2][given[3]])


def of_a_reward(given, kept):
    """One more, where it is made ready to be added."""
    LOG.debug("one")


def of_a_batch(given, kept):
    """How many rewards came, where choices enter."""
    LOG.debug("%d", np.count_nonzero(~np.isnan(opened(kept).rewards)))


def of_sums(given, kept):
    """An exact sum, where it gets its noise."""
    LOG.debug("%d", opened(given[1]).sum())


def of_a_release(given, kept):
    """The same in memory, once it has been released."""
    LOG.debug("%.3f", opened(given[0]).closed.sum())


LOG = logging.getLogger("reticent.mechanisms")
INSIDE = [  # where numbers are open: no type and no class stops these
    (in_memory, OnePass, "row", of_a_row),
    (in_memory, entering, "one", of_a_reward),
    (in_memory, PrefixSums, "release", of_a_release),
    (on_a_database, entering, "enter", of_a_batch),
    (on_a_database, ClosedSteps, "measured", of_sums),
]


@pytest.mark.parametrize(("way", "owner", "name", "leak"), INSIDE, ids=lambda part: getattr(part, "__name__", None))
def test_that_a_line_planted_where_numbers_are_open_is_found(way, owner, name, leak, tmp_path, monkeypatch):
    honest = getattr(owner, name)

    def leaking(*given, **more):
        kept = honest(*given, **more)
        leak(given, kept)
        return kept

    monkeypatch.setattr(owner, name, leaking)
    with pytest.raises(AssertionError):
        test_all_loggers_say_the_same_of_other_people(way, tmp_path)


@pytest.mark.parametrize(
    ("way", "planted"), [*((in_memory, one) for one in PLANTED), *((way, "a reward, rounded") for way in WAYS[1:])]
)
def test_that_a_planted_line_is_found(way, planted, tmp_path, monkeypatch):
    """At DEBUG and below, rounded so that no canary has its digits, or without any."""
    check = Validator.check

    def told(self, reward):
        PLANTED[planted](reward)
        return check(self, reward)

    monkeypatch.setattr(Validator, "check", told)
    with pytest.raises(AssertionError):
        test_all_loggers_say_the_same_of_other_people(way, tmp_path)
