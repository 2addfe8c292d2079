"""One person's silence, limit or damaged row moves nobody to another step (what is shown: store/test_replay.py)."""

import numpy as np

from reticent_serve.holders import steps
from serve_tests.store.places import arms, glm, linear, settle, sums, table


def others(place, second, name, **options):
    """Exact sums of the steps of 45 people, of whom the second does as `second` says."""
    rng = np.random.default_rng(3)
    with place.open(linear(), name=name, reward={"default": 0.5}, **options) as stored:
        second(stored, stored.choose_group([stored.prepare(arms(rng, count=1)) for _ in range(45)])[1])
        settle(stored)
        assert stored.version == 4 and stored.entered == 45
        return {step: found.tolist() for step, found in sums(stored).items()}


def damaged(stored, choice):
    table(stored, "UPDATE waiting SET sealed = ? WHERE bandit = ? AND number = 2", b"?" * 99, stored._store.uid)


BEHAVIOURS = {
    "silent": lambda stored, choice: None,
    "as-silent": lambda stored, choice: stored.observe(choice, 0.5),
    "answers": lambda stored, choice: stored.observe(choice, 1.0),
    "cancels": lambda stored, choice: stored.observe(choice, None),
    "damaged": damaged,
}


def test_who_reports_moves_nobody_to_another_step(place, monkeypatch):
    """Choices enter in parts of so many; else a report would let another in, bounded by no sensitivity."""
    monkeypatch.setattr(steps, "AT_ONCE", 8)
    found = {name: others(place, behaviour, name) for name, behaviour in BEHAVIOURS.items()}
    assert found["silent"] == found["as-silent"]
    for name in ("answers", "cancels", "damaged"):
        assert found[name][0] != found["silent"][0], name
        assert [found[name][step] for step in range(1, 5)] == [found["silent"][step] for step in range(1, 5)], name


def test_how_many_enter_together_moves_nobody(on_sqlite, monkeypatch):
    found = []
    for size in (1, 7, 1000):
        monkeypatch.setattr(steps, "AT_ONCE", size)
        found.append(others(on_sqlite, BEHAVIOURS["answers"], f"by-{size}"))
    assert found[0] == found[1] == found[2]


def test_who_is_beyond_the_limit_moves_no_step(place):
    """It counts as a choice, once: the schedule does not tell who came too often."""
    seen = []
    for name, person in (("first", "ada"), ("second", "eve")):
        with place.open(glm(rounds=2), name=name) as stored:
            for i, who in enumerate(("ada", "ada", person, person)):
                for _ in range(2):  # each is sent again
                    stored.observe(stored.choose(np.eye(3), person=who, request=f"{i}"), 1.0)
            rows = [
                table(stored, f"SELECT number, length(sealed) FROM {one} WHERE bandit = ? ORDER BY number", uid)
                for one in ("choice", "waiting")
                for uid in [stored._store.uid]
            ]
            settle(stored)
            seen.append((stored.head, stored.entered, rows))
    assert seen[0] == seen[1] and seen[0][0].choices == seen[0][1] == 4
