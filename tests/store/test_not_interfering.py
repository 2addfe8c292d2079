"""Replace other people, keep what was released: all that is shown, and the size and time of all rows, is the same."""

import numpy as np
import pytest

from tacit.bandits.stored import tending
from tacit.errors import PersonLimit
from tacit.mechanisms import leaves
from tests.store.places import Clock, arms, glm, linear, sums, table
from tests.whole.tape import Tape, frozen


def run(place, kind, people, name):
    """Every fifth user is the same in all runs; the others differ by `people`, and in whether they answer."""
    same, others, clock, seen = np.random.default_rng(0), np.random.default_rng(people), Clock(), []
    options = {"policy": np.random.default_rng(7)} if kind is glm else {}
    with place.open(kind(first=6, **options), name=name, population=name, delay=3.0, clock=clock) as stored:
        for i in range(60):
            clock.now += 1.0
            mine = i % 5 == 0
            given = arms(same if mine else others)
            choice = stored.choose(given, request=f"{i}")
            stored.tend()
            if mine:
                seen.append((choice.index, choice.version, frozen(estimate(stored)), stored.privacy.json()))
            if mine or others.random() < 0.2 + 0.3 * people:
                stored.observe(choice, 0.5 if mine else float(others.random()))
        uid = stored._line.uid
        seen.append(stored.events)
        for statement in (
            "SELECT step, length(sums), noisy, visible_at FROM leaf WHERE bandit = ? ORDER BY step",
            "SELECT step, choices, boundary FROM bandit WHERE uid = ?",
            "SELECT number, length(sealed) FROM choice WHERE bandit = ? ORDER BY number",
            "SELECT step, shard, closed, length(sums) FROM open_sum WHERE bandit = ? ORDER BY step, shard",
        ):
            seen.append(table(stored, statement, uid))
    return seen


def estimate(stored):
    _ = stored.version
    state = stored._bandit._state
    return tuple(state.posterior if hasattr(state, "posterior") else state.estimate)


@pytest.mark.parametrize("kind", [glm, linear])
def test_other_people_change_nothing_that_is_shown(place, kind):
    tape = Tape()
    with tape.recording():
        first = run(place, kind, 1, "first")
    with tape.playing():
        assert run(place, kind, 2, "second") == first
    assert len(tape.kept) >= 6


def test_that_a_leak_is_noticed(on_sqlite, monkeypatch):
    """A release that serves exact sums: the test above can fail."""
    monkeypatch.setattr(leaves, "measure", lambda grid, state, sums, source: sums * grid.cell)
    assert run(on_sqlite, linear, 1, "first") != run(on_sqlite, linear, 2, "second")


def silent(place, answers, name):
    """Exact sums of the steps: the second user reports what silence would mean for them, or is silent."""
    rng, clock, options = np.random.default_rng(3), Clock(), {"missing_as": 0.5, "after": 60.0, "rate": 100.0}
    with place.open(linear(first=50), name=name, clock=clock, **options) as stored:
        choices = stored.choose_group([stored.ask(arms(rng, count=1)) for _ in range(45)])
        if answers:
            stored.observe(choices[1], 0.5)
        clock.now += 60.0
        stored.tend()
        stored.choose_group([stored.ask(arms(rng)) for _ in range(11)])  # the step ends
        stored.tend()
        assert stored.version == 1
        return {step: found.tolist() for step, found in sums(stored).items()}


def test_who_reports_moves_no_silent_person_to_another_step(place, monkeypatch):
    """Silence is answered in parts of fixed ranges of choices, all of them at once: else one who reports would let
    another in, and no sensitivity bounds that."""
    monkeypatch.setattr(tending, "SILENT_AT_ONCE", 8)
    assert silent(place, True, "first") == silent(place, False, "second")


@pytest.mark.parametrize("on_limit", ["refuse", "serve"])
def test_who_is_beyond_the_limit_moves_no_step(place, on_limit):
    """A request that is refused counts as a choice, once: the schedule does not tell who came too often."""
    seen = []
    for name, person in (("first", "ada"), ("second", "eve")):
        with place.open(glm(max_rounds_per_person=2), name=name, on_limit=on_limit) as stored:
            for i, who in enumerate(("ada", "ada", person, person)):
                for _ in range(2):  # each is sent again
                    answer = stored.choose_group([stored.ask(np.eye(3), person=who, request=f"{i}")])[0]
                    assert isinstance(answer, PersonLimit) == (person == "ada" and i >= 2 and on_limit == "refuse")
            seen.append(
                (
                    stored.head,
                    table(
                        stored,
                        "SELECT number, length(sealed) FROM choice WHERE bandit = ? ORDER BY number",
                        stored._line.uid,
                    ),
                )
            )
    assert seen[0] == seen[1] and seen[0][0].choices == 4
