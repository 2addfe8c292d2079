"""One person's silence or limit moves nobody else to another step (tests/store/test_replay.py: what is shown)."""

import numpy as np
import pytest

from tacit.errors import PersonLimit
from tacit.holders import tending
from tests.store.places import Clock, arms, glm, linear, sums, table


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
