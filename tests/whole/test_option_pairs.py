"""Every pair of options of a JointGLM, an experiment and what runs them is built, played for 300 rounds, put away and
taken up again, and certified, and both options make a difference; or it is refused when the bandit is made, by a
sentence that names both.

What options and values there are, and where bandits live, is in tests/whole/options.py. Nothing is listed for a pair
but what it is refused by. On a database a sample of the pairs is played in which every value is; the rest is marked
`full`."""

import dataclasses
import functools
import inspect
import itertools
import os
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from numpy.random import default_rng

from reticent import Bandit
from reticent.flat import NAMES
from reticent.privacy.budget import Person
from reticent.privacy.relations import REPLACE
from tests.whole.options import DATABASE, DELTA, EPSILON, GIVEN, MEMORY, OPTIONS, World, build, play, settings_of

FOLDER = "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else None  # where nobody waits for a disk
OF_WINDOW = "Expected a window below pending = 5 choices, got 5."
OF_RATE = (
    "Expected base_rate with vectors, or with features of shared arms or of disjoint ones by fields, got it with {}."
)
OF_TUNING = 'Expected model="curvature" with tuning, which is of its estimates, got {}.'
BY_FIELDS = "features whose sums are by fields"
OF_LINEAR = "Expected no {} with {}, where the chance of a reward is linear in the features, got {}."
OF_PERSONS = (
    "Expected a budget for one round in an experiment, since which numbers count would be private, got unit={}."
)
REFUSED = {
    ("pending=5", "holdout=uniform"): OF_WINDOW,
    ("rounds=2", "holdout=uniform"): OF_PERSONS.format("Person(rounds=2)"),
    ("per=100", "holdout=uniform"): OF_PERSONS.format("Person(rounds=2, per=100.0)"),
    ("per_day=25", "holdout=uniform"): OF_PERSONS.format("Person(rounds=2, per='3 days')"),
    ("forget=600", "holdout=uniform"): "Expected no forget in an experiment, since people so far are summed, got both.",
    ("pending=5", "window=5"): OF_WINDOW,
    ("pending=5", "default=0.5"): OF_WINDOW,
    ("model=scores", "tuning=bold"): OF_TUNING.format('model="scores"'),
    ("features=disjoint", "tuning=bold"): OF_TUNING.format(BY_FIELDS),
    ("tuning=bold", "base_rate=0.3"): OF_TUNING.format("base_rate"),
    ("features=disjoint", "radius=2"): OF_LINEAR.format("radius", BY_FIELDS, "2"),
    ("features=disjoint", "link=probit"): OF_LINEAR.format("link", BY_FIELDS, "probit"),
    ("features=disjoint", "link=identity"): OF_LINEAR.format("link", BY_FIELDS, "identity"),
    ("radius=2", "base_rate=0.3"): OF_LINEAR.format("radius", "base_rate", "2"),
    ("link=probit", "base_rate=0.3"): OF_LINEAR.format("link", "base_rate", "probit"),
    ("link=identity", "base_rate=0.3"): OF_LINEAR.format("link", "base_rate", "identity"),
    ("model=scores", "base_rate=0.3"): OF_RATE.format('model="scores"'),
    ("prior=some", "base_rate=0.3"): OF_RATE.format("warm_start"),
    ("rows=some", "base_rate=0.3"): OF_RATE.format("warm_start"),
    ("model=curvature", "base_rate=0.3"): OF_RATE.format('model="curvature"'),
    ("discount=0.9", "forget=600"): "Expected no discount with forget, which says how fast the past fades, got 0.9.",
}


class Value(NamedTuple):
    option: str
    name: str
    settings: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.option}={self.name}"


def values() -> list[Value]:
    return [Value(option, *item) for option, found in OPTIONS.items() for item in found.items()]


def pairs() -> list[tuple[Value, Value]]:
    """Of different options that do not give one setting two values."""
    return [
        (one, other)
        for one, other in itertools.combinations(values(), 2)
        if one.option != other.option
        and all(one.settings[name] is other.settings[name] for name in one.settings.keys() & other.settings.keys())
    ]


def game(world: World, kind: type, settings: dict[str, Any]) -> dict[str, Any]:
    """What came of it; in the middle another process takes it up."""
    with tempfile.TemporaryDirectory(prefix="reticent-", dir=FOLDER) as name:
        folder, waiting, half = Path(name), [], world.rounds // 2
        holder = world.open(kind, settings, folder)
        told, before = play(world, holder, range(half), waiting), world.shown(holder)
        holder = world.again(holder, kind, settings, folder)
        assert world.shown(holder) == before
        told += play(world, holder, range(half, world.rounds), waiting)
        out = world.shown(holder) | {"told": told}
        check_certificate(out.pop("certificate"), settings)
        return out


def check_certificate(certificate: Any, settings: dict[str, Any]) -> None:
    assert 0 < certificate.spent <= certificate.epsilon <= EPSILON * (1 + 1e-6) and certificate.delta == DELTA
    assert certificate.neighbours == REPLACE and {release.relation for release in certificate.releases} == {REPLACE}
    assert not certificate.private  # the noise is the test's
    assert certificate.person == settings.get("rounds")


@functools.cache
def alone(world: World, kind: type, value: str) -> dict[str, Any]:
    (settings,) = (one.settings for one in values() if str(one) == value)
    return game(world, kind, settings)


def check(world: World, kind: type, one: Value, other: Value) -> None:
    """AssertionError where one of them is ignored: what came of both is what comes of the other alone."""
    both = game(world, kind, one.settings | other.settings)
    for value, kept in ((one, other), (other, one)):
        if value.option in world.idle:
            continue
        assert both != alone(world, kind, str(kept)) or said_twice(kind, kept, value), f"{value} ignored with {kept}"


def said_twice(kind: type, one: Value, other: Value) -> bool:
    """Whether a bandit with one of them alone has the other's settings, too, as `model` those of `features`."""
    found = settings_of(build(kind, one.settings))
    return all(_same(found[name], value) for name, value in other.settings.items())


def _same(found: Any, given: Any) -> bool:
    try:
        return bool(found == given)
    except ValueError:  # arrays
        return False


def check_refused(kind: type, one: Value, other: Value, sentence: str) -> None:
    with pytest.raises(ValueError) as error:
        build(kind, one.settings | other.settings)
    assert str(error.value) == sentence and sentence.startswith("Expected ")
    for value in (one, other):
        assert any(word in sentence for word in words(value)), f"{value} is not named"


def words(value: Value) -> set[str]:
    """What a sentence may call it: its settings, or the value that has them."""
    return {CALLED.get(name, name) for name in value.settings}


CALLED = {"holdout": "experiment", "prior": "warm_start", "rows": "warm_start"}


def sampled() -> set[tuple[str, str]]:
    """Pairs in which every value is at least once."""
    found, missing = set(), {str(value) for value in values()}
    made = pairs()
    for new in (2, 1):  # values that a pair has to add
        for at in default_rng(0).permutation(len(made)):
            one, other = map(str, made[at])
            if len({one, other} & missing) >= new:
                found.add((one, other))
                missing -= {one, other}
    assert not missing
    return found


def played() -> list[Any]:
    out, few = [], sampled()
    for one, other in pairs():
        out.append(pytest.param(MEMORY, one, other, id=f"memory-{one}-{other}"))
        marks = () if (str(one), str(other)) in few else (pytest.mark.full,)
        out.append(pytest.param(DATABASE, one, other, id=f"database-{one}-{other}", marks=marks))
    return out


@pytest.mark.parametrize(("world", "one", "other"), played())
def test_a_pair(world, one, other):
    sentence = REFUSED.get((str(one), str(other)))
    if world is DATABASE and "source" in (one.option, other.option):
        with pytest.raises(ValueError, match="Expected secure noise"):
            game(world, Bandit, one.settings | other.settings)
    elif sentence is None or (sentence == OF_WINDOW and world.by_time):
        check(world, Bandit, one, other)
    else:
        check_refused(Bandit, one, other, sentence)


def test_every_option_is_in_the_table():
    fields = {*NAMES, *(one.name for one in dataclasses.fields(Person)), *inspect.signature(Bandit).parameters}
    assert OPTIONS.keys() | GIVEN == fields and not OPTIONS.keys() & GIVEN
    assert REFUSED.keys() <= {(str(one), str(other)) for one, other in pairs()}


def test_an_option_that_needs_another_says_which():
    found = 0
    for value in values():
        needed = value.settings.keys() - {value.option, "features"}
        if needed and value.option != "per":  # which a Person alone has, who has rounds
            with pytest.raises(ValueError, match="Expected ") as error:
                build(Bandit, {value.option: value.settings[value.option]})
            assert CALLED.get(value.option, value.option) in str(error.value)
            assert any(name in str(error.value) for name in needed)
            found += 1
    assert found >= 3
    with pytest.raises(TypeError, match="rounds"):
        Person(per=100.0)


class Deaf(Bandit):
    """Ignores the radius where choices wait."""

    def __init__(self, algorithm: Any, *args: Any, **options: Any) -> None:
        reward = algorithm.reward
        if reward.window is not None:
            algorithm = dataclasses.replace(algorithm, reward=dataclasses.replace(reward, radius=1.0))
        super().__init__(algorithm, *args, **options)


class Late(Bandit):
    """Notices only when somebody comes that two options do not go together."""

    def choose(self, *args: Any, **options: Any) -> Any:
        if self.plan.reward.window is not None and self.plan.reward.radius == 2.0:
            raise ValueError("Expected another radius with window, got 2.")
        return super().choose(*args, **options)


@pytest.mark.parametrize(("kind", "wrong"), [(Deaf, AssertionError), (Late, ValueError)])
def test_a_pair_that_is_ignored_or_fails_late_is_found(kind, wrong):
    named = {str(value): value for value in values()}
    with pytest.raises(wrong):
        check(MEMORY, kind, named["radius=2"], named["window=5"])
