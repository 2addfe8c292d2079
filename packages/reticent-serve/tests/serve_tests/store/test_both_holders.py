"""One bandit in memory and one on a database, for each model: with the same noise, the same draws of the policy, people
and rewards they make the same choices with the same probabilities by the same releases, refuse the same, and have the
same certificate, to the last bit."""

import functools
import math

import msgspec
import numpy as np
import pytest

import reticent_serve
from reticent import Bandit, Holdout
from reticent.core.actions import Declared
from reticent.core.assignment import Assignment
from reticent.features import Category, Number, Schema
from reticent.mechanisms import saving
from reticent.mechanisms.opening import opened
from reticent.models.glm import GLM
from reticent.models.scores import Scores
from reticent.models.then import Then
from reticent.privacy.noise import Secure
from reticent_serve.holders.certificate import RAW_ROWS
from reticent_serve.holders.opening import database_at
from serve_tests.store.places import Clock, arms, glm, settle, sums

ROUNDS = 120
SCHEMA = Schema(
    context={"age": Number(0, 100, bins=3), "plan": Category("free", "paid")}, arms="disjoint", actions=tuple("abcd")
)


def phases(settings):
    """The second begins after the first release."""
    return Then(first=Scores.of(settings), until=lambda estimate: True, second=GLM.of(settings))


MODELS = {
    "curvature": {"model": "curvature"},
    "scores": {"model": "scores", "radius": 3.0},
    "around a base rate": {"base_rate": 0.1},
    "fields": {"features": SCHEMA, "model": "fields"},
    "fields around a base rate": {"features": SCHEMA, "base_rate": 0.1},
    "persons": {"rounds": 3},
    "persons a week": {"rounds": 1, "per": 30},
    "forgets": {"forget": 200.0},
    "blocks": {"features": SCHEMA, "model": "curvature"},
    "a warm start": {"prior": ([0.5, 0.0, -0.5], 4.0)},
    "two phases": {"model": phases},
}
DEFAULT = 0.25
EXPERIMENTS = {
    "an experiment": {"holdout": Holdout(action=1, share=0.2)},
    "an experiment by fields": {
        "features": SCHEMA,
        "first": 10,
        "holdout": Holdout(action="b", share=0.2, actions=("c",), min_share=0.1),
    },
    "an experiment with coins": {"base_rate": 0.1, "holdout": Holdout(policy="uniform", share=0.2, assign="coins")},
    "an experiment with own choices": {"model": "scores", "holdout": Holdout(policy="given", share=0.2)},
}


def algorithm(name, **settings):
    return glm(
        **{"first": 12, "default": DEFAULT if name in EXPERIMENTS else None} | (MODELS | EXPERIMENTS)[name] | settings
    )


class Same(Secure):
    """The same noise for whoever begins with the same seed."""

    def __init__(self):
        super().__init__()
        self.rng = np.random.default_rng(9)

    def integers(self, count, size, cells):
        return np.rint(self.rng.normal(0.0, cells, (count, size))).astype(np.int64)


def draws(seed):
    """Of noise, and of the policy."""
    return {"source": Same(), "policy": np.random.default_rng(seed)}


KEY = bytes(range(32))


def in_memory(name, seed, **settings):
    """An experiment has the groups of that key, and its policy has drawn none."""
    made = Bandit(algorithm(name, **settings), pending=100, **draws(seed))
    if made.memory.assignment is not None:
        made.memory.assignment = Assignment(made.memory.assignment.holdout, KEY)
        made.sums.draw_from(np.random.default_rng(seed))
    return made


def on_database(place, name, given, **options):
    made = place.open(algorithm(name), pending=100, **given, **options)
    if made._shared.assignment is not None:
        made._shared.assignment = Assignment(made._shared.assignment.holdout, KEY, ended=made._shared.assignment.ended)
    return made


# what people do


class People:
    """Who comes, of the i-th number: the same for whoever begins with the same seed."""

    def __init__(self, name, seed):
        settings = (MODELS | EXPERIMENTS)[name]
        self.rng, self.fields, self.limited = np.random.default_rng(seed), "features" in settings, "rounds" in settings
        self.holdout = settings.get("holdout")

    def asks(self, i, *, masked=False):
        """Four arms, or a person, for whom there are four actions."""
        given = {"age": self.rng.uniform(0, 100), "plan": "free"} if self.fields else arms(self.rng)
        out = {"arms": given} | ({"available": [True, True, i % 3 > 0, True]} if masked else {})
        if self.limited:
            out["person"] = f"p{i * i % 23}"
        if self.holdout is not None and self.holdout.policy == "given":
            out["own"] = 2
        return out

    def wrong(self, i):
        """A request that is refused, each time for another reason."""
        good, nobody = self.asks(i), {"person": None if self.limited else "nobody asked"}
        kinds = [{"arms": None}, nobody, {"available": [False] * 4}, {"available": [True]}, {"own": "another"}]
        kinds += [{"actions": ["a", "z"]}] if self.fields else [{"arms": np.full((4, 3), math.nan)}, {"actions": ["a"]}]
        return good | kinds[i % len(kinds)]


def refused(act):
    """What is said."""
    with pytest.raises(ValueError, match="Expected") as error:
        act()
    return str(error.value)


def seen(choice):
    """All that a choice tells, but for its id."""
    return choice.index, choice.name, choice.propensity, choice.propensity_error


def shown(bandit, people):
    """All that choices are made by, and what is believed by it."""
    memory = isinstance(bandit, Bandit)
    estimator = bandit.sums.estimator if memory else bandit._served.estimator
    about = {"age": 30.0, "plan": "paid"} if people.fields else np.eye(3)
    version, arrays = (
        bandit.sums.steps if memory else bandit.version,
        [one.tobytes() for one in saving.arrays(estimator.estimate.arrays)],
    )
    return version, arrays, bandit.interval(about), bandit.theta.tolist()


# what was released


def same_releases(memory, stored):
    """Released sums, and the exact ones of every step."""
    found, prefix, steps = sums(stored), opened(memory.sums.state.prefix), stored.version
    assert memory.sums.steps == steps > 5 and sorted(found)[-1] == steps
    assert np.array_equal(prefix.released, stored._served.estimator._released)
    window = memory.plan.mechanism.window
    kept = range(max(0, steps - window + 1), steps)
    assert all(np.array_equal(found[step], prefix.closed[step % window]) for step in kept) and len(kept) > 5
    assert np.array_equal(found[steps], prefix.open)


def same_certificate(memory, stored):
    """But for what is said of deadlines and of rows."""
    one, other = memory.privacy, stored.privacy
    assert other.deadline and other.caveats[-1] == RAW_ROWS
    assert one == msgspec.structs.replace(other, deadline="", caveats=other.caveats[:-1])
    assert 0 < one.spent <= one.epsilon


def same_trial(memory, stored):
    """What is known of an experiment."""
    one, other = memory.trial_sums, stored.trial_sums
    assert (one is None) == (other is None)
    if one is not None:
        assert len(one.looks) > 5 and one._replace(gains=()) == other._replace(gains=())
        assert np.array_equal(one.gains, other.gains) and reticent_serve.trial(one, memory.plan.horizon) == stored.trial


def fate(i):
    """Of the i-th choice where it is answered at once: its reward; None: it does not come."""
    return None if i % 7 == 3 else (i % 3) / 2


@pytest.mark.parametrize("name", MODELS)
def test_the_same_choices_by_the_same_releases(place, name):
    """In memory rewards count as they come, which is when they enter on a database: before the next choice."""
    memory, people, told = in_memory(name, 4, window=None), People(name, 4), []
    for i in range(ROUNDS):
        choice = memory.choose(**people.asks(i, masked=True))
        told.append((seen(choice), shown(memory, people)))
        if fate(i) is not None:
            memory.observe(choice, fate(i))
    given, people = draws(4) | {"clock": Clock()}, People(name, 4)
    stored = on_database(place, name, given)
    for i in range(ROUNDS):
        if i in (35, 90):  # a restart draws nothing
            stored.close()
            stored = on_database(place, name, given)
        choice = stored.choose(**people.asks(i, masked=True))
        assert (seen(choice), shown(stored, people)) == told[i], i
        if i % 11 == 5 and fate(i) is None:
            stored.observe(choice, None)
        if fate(i) is not None:
            stored.observe(choice, fate(i))
        settle(stored)
    memory.tend()
    same_releases(memory, stored)
    same_certificate(memory, stored)
    assert {index for (index, *_), _ in told} == {0, 1, 2, 3}
    stored.close()


WAITS = 7  # later choices
APART = 10.0  # seconds between two choices


def came(i):
    """How many choices later the reward of the i-th is reported: some are late, some never come."""
    return None if i % 11 == 5 else WAITS + 2 if i % 7 == 3 else (5 * i) % WAITS


def rewards(bandit, choices, i):
    """Those that come after the i-th choice, each of them twice, of which the first counts: whether they were in time,
    and what is said to who reports nonsense."""
    due = [j for j in range(max(0, i - 2 * WAITS), i + 1) if came(j) is not None and j + came(j) == i and choices[j]]
    said = [refused(lambda j=j: bandit.observe(choices[j], 7.0)) for j in due[:1]]
    return said, [(j, [bandit.observe(choices[j], reward) for reward in ((j % 3) / 2, 0.9)]) for j in due]


def number(bandit, people, choices, i):
    """The i-th number: one more choice, or nobody's in an experiment; what is said meanwhile."""
    told = []
    if i % 13 == 4:
        told.append(refused(lambda: bandit.choose(**people.wrong(i // 13))))
    if told and people.holdout is not None:
        choices.append(None)
    else:
        choices.append(bandit.choose(**people.asks(i)))
        told.append(seen(choices[-1]))
    if i == 80 and people.holdout is not None:
        bandit.end_experiment()
        told.append(refused(bandit.end_experiment))
    return [*told, shown(bandit, people)]


@pytest.mark.parametrize("name", [*MODELS, *EXPERIMENTS])
def test_the_same_with_a_window(place, name):
    """In memory a choice enters after so many later ones, on a database after the time that these take."""
    memory, people, told, choices = in_memory(name, 6, window=WAITS, default=DEFAULT), People(name, 6), [], []
    for i in range(ROUNDS):
        told.append((number(memory, people, choices, i), rewards(memory, choices, i)))
    assert any(in_time for _, (_, reported) in told for _, (in_time, _) in reported)
    waits = APART * (WAITS + 0.5) - database_at(place.where).skew
    people, choices, clock = People(name, 6), [], Clock()
    options = {"clock": clock, "reward": {"window": f"{waits} seconds", "default": DEFAULT}}
    with on_database(place, name, draws(6), **options) as stored:
        for i in range(ROUNDS):
            clock.now += 0.1 * APART
            assert number(stored, people, choices, i) == told[i][0], i
            assert rewards(stored, choices, i) == told[i][1], i
            clock.now += 0.9 * APART
            stored.tend()
        assert stored.entered == ROUNDS - WAITS
        memory.tend()  # what is due enters with the next choice
        same_releases(memory, stored)
        same_certificate(memory, stored)
        same_trial(memory, stored)


PIECE = 11  # rows: fewer than a step has


def log(people, part):
    """Rows that were played elsewhere, one of which is refused, each time for another reason."""
    rng, rewards = np.random.default_rng(part), [None if i % 6 == 1 else (i % 5) / 4 for i in range(PIECE)]
    if people.fields:
        table = {"age": rng.uniform(0, 100, PIECE), "plan": ["free"] * PIECE, "action": list("abcdabcdabc")}
        table["action"][3] = "z" if part % 3 == 0 else "d"
    else:
        table = {f"x{j}": column for j, column in enumerate(arms(rng, PIECE).T)}
        table["x1"][3] = 3.0 if part % 3 == 0 else 0.0
    if people.limited:
        table["person"] = [f"p{i % 9}" for i in range(PIECE)]
        table["person"][5] = "" if part % 3 == 1 else "ada"
    rewards[8] = 2.0 if part % 3 == 2 else 1.0
    return table | {"reward": rewards}


@pytest.mark.parametrize("name", MODELS)
def test_the_same_of_a_log(on_sqlite, name):
    """Its rows enter as they come."""
    memory, told = in_memory(name, 5, window=None), []
    with on_database(on_sqlite, name, draws(5), clock=Clock()) as stored:
        for bandit in (memory, stored):
            people, said = People(name, 5), []
            for i in range(60):
                if 12 <= i < 18:
                    given = {} if bandit is memory else {"log": f"part {i}"}
                    said.append((dict(bandit.learn_log(log(people, i), **given)), bandit.choices))
                choice = bandit.choose(**people.asks(i))
                said.append((seen(choice), shown(bandit, people)))
                bandit.observe(choice, (i % 3) / 2)
                settle(stored)
            told.append(said)
        memory.tend()
        for i, (one, other) in enumerate(zip(*told, strict=True)):
            assert one == other, i
        refusals = [found for found, _ in told[0][12:24:2]]
        assert [list(found) for found in refusals] == [[3], [5] if "persons" in name else [], [8]] * 2
        same_releases(memory, stored)
        same_certificate(memory, stored)


WIDE = {40: ("abcde", ""), 70: ("abcde", "a")}  # since which choice: actions, and the retired ones


@pytest.mark.parametrize("name", ["scores", "fields"])
def test_the_same_when_actions_come_and_go(on_sqlite, name):
    """In memory they are declared, on a database named in the schema that it is opened with."""

    def schema(names, gone):
        return Schema(context=SCHEMA.context, arms="disjoint", actions=tuple(names), max_actions=5, retired=tuple(gone))

    def opened_with(names, gone=""):
        return place.open(glm(features=schema(names, gone), model=name), clock=clock, **given)

    place, given, clock, people = on_sqlite, draws(8), Clock(), [People("fields", 8), People("fields", 8)]
    memory = Bandit(glm(features=schema("abcd", ""), model=name, window=None), **draws(8))
    stored = opened_with("abcd")
    for i in range(ROUNDS):
        if i in WIDE:
            stored.close()
            stored = opened_with(*WIDE[i])
            memory.retire_action("a") if WIDE[i][1] else memory.add_action("e")
        asked = [one.asks(i) for one in people]
        choices = memory.choose(**asked[0]), stored.choose(**asked[1])
        assert seen(choices[0]) == seen(choices[1]) and shown(memory, people[0]) == shown(stored, people[0]), i
        for bandit, choice in zip((memory, stored), choices, strict=True):
            bandit.observe(choice, (i % 3) / 2)
        settle(stored)
        if not 40 <= i < 70:  # one of them is not declared yet, or no more
            wrong = {"arms": {"age": 3, "plan": "free"}, "actions": ["e", "a"]}
            assert len({refused(functools.partial(bandit.choose, **wrong)) for bandit in (memory, stored)}) == 1
    memory.tend()
    assert memory.actions == stored.actions == (Declared("a", 0, 70), *map(Declared, "bcd"), Declared("e", 40))
    same_releases(memory, stored)
    same_certificate(memory, stored)
    stored.close()


def test_how_many_enter_at_once_changes_no_bit(place):
    """Each step is made at the release before it, whoever adds to its sums, and when."""
    ends = []
    for size in (1, 7, 37):
        rng, stored = np.random.default_rng(5), place.open(glm(), source=Same(), name=f"by-{size}")
        for i in range(37 * 2):
            stored.observe(stored.choose(arms(rng, count=1)), float(rng.random() < 0.5))
            if (i + 1) % size == 0:
                settle(stored)
        settle(stored)
        ends.append((stored.entered, stored.version, stored.theta, sums(stored)))
        stored.close()
    for entered, version, theta, found in ends:
        assert (entered, version) == ends[0][:2] == (74, 7) and np.array_equal(theta, ends[0][2]) and theta.any()
        assert all(np.array_equal(found[step], ends[0][3][step]) for step in range(8))
