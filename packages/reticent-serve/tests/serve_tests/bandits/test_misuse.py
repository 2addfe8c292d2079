"""Bad input: a clear error, an unchanged state, other users unaffected; and no raw value in anything that is shown."""

import hashlib
import json
import logging
import math
import tempfile

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from core_tests.made import any_kind, joint
from reticent import Bandit, Budget, LinUCB, Simulated
from reticent.errors import HorizonReached, UnknownChoice
from reticent.mechanisms.opening import opened
from reticent.mechanisms.saving import arrays
from serve_tests.store.places import contribution

BUDGET = Budget(1.0, 1e-3)
ARMS = np.array([[0.8, 0.1], [0.1, 0.8], [-0.5, 0.5]])
KINDS = [Bandit, LinUCB]


def build(kind=Bandit, **options):
    plain = {"features": 2, "horizon": 300, "pending": 20}
    return any_kind(kind, **(plain | ({} if kind is LinUCB else {"budget": BUDGET}) | options))


def digest(bandit):
    """A hash of all that a bandit knows."""
    parts = [*arrays(bandit.memory.learner.state), *opened(bandit.memory.tickets)]
    parts += [np.frombuffer(json.dumps(bandit.memory.persons.document(), sort_keys=True).encode(), np.uint8)]
    return hashlib.sha256(b"".join(np.ascontiguousarray(p).tobytes() for p in parts)).hexdigest()


DATES = np.array([["2026-01-01", "2026-01-02"]], dtype="datetime64[D]")
SAID = {
    "finite features": [[[math.nan, 0.0]], [[math.inf, 0.0]], [[-math.inf, 0.0], [0.0, 0.0]]],
    "norm at most 1": [[[1e308, 1e308]], [[1.0, 1.0]]],
    "at least one arm": [{}, np.zeros((0, 2))],
    r"shape \(K, 2\), got \(": [[[0.1, 0.2, 0.3]], [0.1, 0.2], [], np.zeros((1, 2, 2)), {"tea": [0.1]}, 3.0],
    "numbers in rows": [
        *([[0.1], [0.1, 0.2]], [["a", "b"]], [["0.1", "0.2"]], [[0.1j, 0.2]], [[None, 0.1]], [[10**400, 0]]),
        *(DATES, {"tea": None}, None, "arms", object()),
    ],
}
BAD_ARMS = [arms for several in SAID.values() for arms in several]
BAD_REWARDS = [
    *(math.nan, math.inf, -math.inf, 1e308, 10**400, 1.0001, -1e9),
    *("1", None, 1j, [1.0], np.zeros(1), b"1"),
]
BAD_IDS = [0, -1, 10**30, 99, 1.0, "1", None, True, object()]


@pytest.mark.parametrize("kind", KINDS)
def test_bad_input_is_a_clear_error_and_changes_nothing(kind):
    bandit = build(kind, **({"range": (0.0, 1.0)} if kind is LinUCB else {}))
    waiting = [bandit.choose(ARMS) for _ in range(4)]
    bandit.observe(waiting[0], 1.0)
    before = digest(bandit)
    for said, several in SAID.items():
        for arms in several:
            with pytest.raises(ValueError, match=f"Expected .*{said}"):
                bandit.choose(arms)
    for mask in ([True], [False] * 3, [1, 1, 1], "yes", np.ones((3, 1), bool)):
        with pytest.raises(ValueError, match="Expected"):
            bandit.choose(ARMS, available=mask)
    for reward in BAD_REWARDS:
        with pytest.raises(ValueError, match="Expected"):
            bandit.observe(waiting[1], reward)
    said = "unknown one|Expected a Choice or its id"
    for ticket, words in (*((wrong, said) for wrong in BAD_IDS), (waiting[0], "a second"), (waiting[0].id, "a second")):
        with pytest.raises((ValueError, UnknownChoice), match=words):
            bandit.observe(ticket, 1.0)
    assert set(bandit.observe_many(BAD_IDS, [1.0] * len(BAD_IDS))) == set(range(len(BAD_IDS)))
    for ids, rewards in ((None, [1.0]), ([1], None), (1, 1.0)):
        with pytest.raises(ValueError, match="Expected a sequence"):
            bandit.observe_many(ids, rewards)
    with pytest.raises(ValueError, match="as many rewards"):
        bandit.observe_many([1, 2], [1.0])
    assert digest(bandit) == before
    bandit.observe(waiting[1], 1.0)  # the user whose reward was bad may still send a good one
    assert digest(bandit) != before
    for _ in range(20):
        bandit.choose(ARMS)
    with pytest.raises(UnknownChoice, match="within 20 later choices"):
        bandit.observe(waiting[2], 1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_bad_rows_of_a_batch_leave_the_others_alone(kind):
    """Two bandits with the same good users: in one of them rows that contribute nothing stand in for the bad ones."""
    ends = []
    for bad in (False, True):
        bandit = build(kind, range=(-1.0, 1.0), **({} if kind is LinUCB else {"source": Simulated(0)}))
        for _ in range(9):
            arms = np.stack([ARMS] * 5)
            arms[1], arms[3] = (math.nan, 7.0) if bad else (0.0, 0.0)
            choices = bandit.choose_many(arms)
            assert set(choices.refused) == ({1, 3} if bad else set())
            assert set(bandit.observe_many(choices, [1.0, 0.0, -1.0, 0.0, 1.0])) == ({1, 3} if bad else set())
        ends.append((bandit.choices, choices.index[[0, 2, 4]].tolist(), bandit.memory.learner.state.estimate))
    assert ends[0][:2] == ends[1][:2] and all(np.array_equal(a, b) for a, b in zip(ends[0][2], ends[1][2], strict=True))


def test_every_setting_is_checked():
    wrong = {
        "features": (0, 2.5, True, "3"),
        "horizon": (-1, 1.5),
        "pending": (0,),
        "first": (0,),
        "link": ("cauchit",),
        "range": ((1.0, 0.0), (0.0, math.inf)),
        "radius": (math.nan, -1.0, 0.0),
        "growth": (1.0,),
        "discount": (0.0,),
        "base_rate": (1.0,),
    }
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(ValueError, match="Expected"):
                build(**{name: value})


CANARY, REWARD, NAME, PERSON = 0.123456789123, 0.987654321987, "canary-arm-name", "canary-person"
SPELLINGS = ("12345678", "98765432", NAME, PERSON)  # what would give the canaries away


def test_no_raw_value_in_what_is_shown(tmp_path, caplog):
    """repr, errors, logs, certificates, and what a release holds: none has a context, a reward, a name or an id."""
    caplog.set_level(logging.DEBUG)
    shown, bandit = [], build(rounds=1)
    arms = {NAME: [CANARY, 0.0], "other": [0.0, CANARY]}
    choice = bandit.choose(arms, person=PERSON)
    bandit.observe(choice, REWARD)
    attempts = [
        *(lambda: bandit.choose({NAME: [CANARY * 1e9, 0.0]}), lambda: bandit.choose({NAME: [CANARY, math.nan]})),
        *(lambda: bandit.choose({NAME: [CANARY]}), lambda: bandit.choose(arms)),
        *(lambda: bandit.choose(arms, available=[CANARY, CANARY]), lambda: bandit.observe(choice, REWARD)),
        *(lambda: bandit.observe(choice, REWARD * 1e9), lambda: bandit.observe(choice, f"{REWARD}")),
        *(lambda: bandit.observe(PERSON, REWARD), lambda: bandit.__reduce__(), lambda: bandit.play(object())),
    ]
    for attempt in attempts:
        with pytest.raises(Exception) as error:
            attempt()
        shown.append(f"{error.value!r} {error.value}")
        assert error.value.__cause__ is None or error.value.__suppress_context__
    refused = bandit.choose_many([[[CANARY * 1e9, 0.0]], [[CANARY, math.nan]]], persons=[PERSON] * 2).refused
    shown += [*refused.values(), *bandit.observe_many([choice.id], [REWARD]).values()]
    shown += [repr(bandit), str(bandit.privacy), repr(bandit.privacy), bandit.privacy.json().decode(), caplog.text]
    shown += [repr(bandit.source), repr(bandit.one_pass), repr(bandit.memory.persons)]
    bandit.save(tmp_path / "b.json")
    shown += [(tmp_path / "b.json.generation").read_text(), (tmp_path / "b.json.lock").read_text()]
    for text in shown:
        assert not any(secret in text for secret in SPELLINGS), text[:200]
    assert "features=2" in repr(bandit)


def test_released_state_has_no_exact_sum():
    """Every array that is called released differs from the exact sums, in every coordinate that data reached."""
    bandit = build(budget=Budget(20.0, 1e-3))
    for _ in range(60):
        bandit.observe(bandit.choose(ARMS), 1.0)
    prefix, steps = opened(bandit.sums.state.prefix), bandit.sums.steps
    exact = np.cumsum(prefix.closed[:steps], axis=0) * bandit.plan.mechanism.cell
    for row in np.concatenate([prefix.released[None], prefix.noise.table[:steps]]):
        assert not np.isin(row, exact).any()
        assert not np.isin(row, prefix.closed[:steps] * bandit.plan.mechanism.cell).any()


class Machine(RuleBasedStateMachine):
    """Bandits with secure noise against a model: a list of tickets, a sum of whole numbers and a schedule."""

    @initialize(grows=st.booleans())
    def start(self, grows):
        self.folder = tempfile.TemporaryDirectory()
        settings = {"features": 2, "horizon": 60, "budget": BUDGET, "pending": 6, "range": (-1.0, 1.0)}
        settings |= {"rounds": 3, "base_rate": 0.5, "discount": 1.0}  # always the same
        self.bandit = joint(**settings, **({"first": 4, "growth": 1.1} if grows else {"first": 1, "growth": 1.001}))
        self.grows = grows  # the length of steps; else each choice is one
        self.made = 0  # choices
        self.waiting = {}  # ticket -> features
        self.total = np.zeros(self.bandit.one_pass.learnt.contribution.size, np.int64)
        self.steps, self.boundary = 0, 4 if grows else 1
        self.people = {}

    def advance(self):
        if self.made >= self.boundary:
            self.steps += 1
            self.boundary = max(self.made + 4, math.floor(self.made * 1.1)) if self.grows else self.made + 1

    def expire(self):
        self.waiting = {t: x for t, x in self.waiting.items() if t > self.made - 6}

    def enter(self, ticket, y):
        """Beyond three rounds a person teaches nothing."""
        x, person = self.waiting.pop(ticket)
        self.people[person] = self.people.get(person, 0) + 1
        if self.people[person] <= 3:
            self.add(x, y)

    def add(self, x, y):
        self.total += contribution(self.bandit.algorithm, x, y)

    @rule(seed=st.integers(0, 99), person=st.sampled_from(["ada", "bob", "eve"]))
    def choose(self, seed, person):
        arms = np.random.default_rng(seed).uniform(-0.6, 0.6, (3, 2))
        if self.made >= 60:
            before = digest(self.bandit)
            with pytest.raises(HorizonReached, match="at most 60 choices"):
                self.bandit.choose(arms, person=person)
            assert digest(self.bandit) == before
            return
        choice = self.bandit.choose(arms, person=person)
        self.advance()
        self.made += 1
        assert choice.id == self.made
        self.waiting[choice.id] = arms[choice.index], person
        self.expire()

    @rule(bad=st.sampled_from(BAD_ARMS))
    def choose_badly(self, bad):
        before = digest(self.bandit)
        with pytest.raises(ValueError, match="Expected"):
            self.bandit.choose(bad, person="ada")
        assert digest(self.bandit) == before

    @rule(seed=st.integers(0, 99), bad=st.lists(st.booleans(), min_size=1, max_size=4))
    def choose_many(self, seed, bad):
        arms = np.random.default_rng(seed).uniform(-0.6, 0.6, (len(bad), 3, 2))
        arms[np.array(bad)] = math.nan
        if self.made + len(bad) > 60:
            with pytest.raises(HorizonReached):
                self.bandit.choose_many(arms, persons=["eve"] * len(bad))
            return
        choices = self.bandit.choose_many(arms, persons=["eve"] * len(bad))
        self.advance()
        assert set(choices.refused) == {i for i, b in enumerate(bad) if b}
        for i, wrong in enumerate(bad):
            self.made += 1
            if not wrong:
                assert choices.id[i] == self.made
                self.waiting[self.made] = arms[i, choices.index[i]], "eve"
        self.expire()

    @precondition(lambda self: self.waiting)
    @rule(data=st.data(), reward=st.floats(-1, 1))
    def observe(self, data, reward):
        ticket = data.draw(st.sampled_from(sorted(self.waiting)))
        self.bandit.observe(ticket, reward)
        self.enter(ticket, reward)
        with pytest.raises(UnknownChoice):
            self.bandit.observe(ticket, reward)

    @rule(ticket=st.integers(-2, 70), reward=st.sampled_from([0.5, *BAD_REWARDS]))
    def observe_something(self, ticket, reward):
        if (isinstance(reward, float) and abs(reward) <= 1) and ticket in self.waiting:
            return
        before = digest(self.bandit)
        with pytest.raises((ValueError, UnknownChoice), match="Expected"):
            self.bandit.observe(ticket, reward)
        assert digest(self.bandit) == before

    @rule(rewards=st.lists(st.sampled_from([1.0, -0.25, math.nan]), max_size=6))
    def observe_many(self, rewards):
        tickets = sorted(self.waiting)[: len(rewards)]
        rewards = rewards[: len(tickets)]
        assert set(self.bandit.observe_many(tickets, rewards)) == {i for i, r in enumerate(rewards) if math.isnan(r)}
        for ticket, reward in zip(tickets, rewards, strict=True):
            if not math.isnan(reward):
                self.enter(ticket, reward)

    @rule()
    def save_and_load(self):
        path = f"{self.folder.name}/b.json"
        self.bandit.save(path)
        loaded = Bandit.load(path)
        assert digest(loaded) == digest(self.bandit)
        self.bandit = loaded

    @invariant()
    def agrees(self):
        if not hasattr(self, "bandit"):
            return
        prefix = opened(self.bandit.sums.state.prefix)
        assert self.bandit.choices == self.made and self.bandit.sums.steps == self.steps
        held = prefix.closed[: self.steps].sum(axis=0)
        assert np.abs(held + prefix.open - self.total).max() <= self.made  # half cells may round either way
        ids = opened(self.bandit.memory.tickets).ids
        assert set(ids[ids > self.made - 6]) - {0} == set(self.waiting)
        assert sorted(self.bandit.memory.persons.counts.values()) == sorted(min(3, had) for had in self.people.values())

    def teardown(self):
        if hasattr(self, "folder"):
            self.folder.cleanup()


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=30, stateful_step_count=40, deadline=None)
