"""Lists on a database: the same as in memory, to the last bit, and answered once."""

import numpy as np
import pytest

from tacit.errors import PersonLimit
from tacit.holders.requests import ANSWER, ITEM, Answer, ListItem
from tests.store.places import Clock, arms, glm, settle, table
from tests.store.test_both_holders import Same, alike, copied, same_releases, served

WEIGHTS = (1.0, 0.6, 0.4)
ROUNDS = 100


def lists(**options):
    return glm(positions=WEIGHTS, **options)


def offered(rng, i):
    """Sometimes fewer than there are places."""
    return {f"item {j}": x for j, x in enumerate(arms(rng, count=2 if i % 5 == 0 else 5))}


def rewards(rng, choice):
    """By name, for some of the items."""
    return {name: 1.0 for name in choice.names if rng.random() < 0.4}


def test_the_same_lists_by_the_same_releases(place):
    memory, rng, seen = lists(source=Same(), policy=np.random.default_rng(4)), np.random.default_rng(4), []
    for i in range(ROUNDS):
        choice = memory.choose(offered(rng, i))
        seen.append((choice.indices, choice.names, copied(memory._state.estimate)))
        if i % 4:
            memory.observe(choice, rewards(rng, choice))
    source, draws, rng, clock = Same(), np.random.default_rng(4), np.random.default_rng(4), Clock()
    stored = place.open(lists(source=source, policy=draws), clock=clock)
    for i in range(ROUNDS):
        if i == 40:  # a restart draws nothing
            stored.close()
            stored = place.open(lists(source=source, policy=draws), clock=clock)
        offer = offered(rng, i)
        choice = stored.choose(offer, request=f"{i}")
        assert (choice.indices, choice.names) == seen[i][:2] and alike(served(stored), seen[i][2]), i
        if i % 4:
            stored.observe(choice if i % 2 else choice.id, _given(rng, choice, by_name=bool(i % 2)))
        settle(stored)
    again = stored.choose(offer, request=f"{ROUNDS - 1}")
    assert (again.id, again.indices, again.names) == (choice.id, choice.indices, choice.names)
    memory.choose(offered(rng, 1))
    same_releases(memory, stored)
    stored.close()


def _given(rng, choice, *, by_name):
    found = rewards(rng, choice)
    return found if by_name else [found.get(name, 0.0) for name in choice.names]


def test_rows_are_of_one_size_whatever_is_shown_and_for_whom(place):
    """Also of somebody beyond the limit, who is refused."""
    stored = place.open(lists(max_rounds_per_person=1))
    rng = np.random.default_rng(0)
    assert len(stored.choose(arms(rng), person="few", top=2).indices) == 2
    for i in range(4):
        stored.choose({f"{j}" * (1 + 40 * i): x for j, x in enumerate(arms(rng, count=1 + i))}, person=i)
    with pytest.raises(PersonLimit):
        stored.choose(arms(rng), person=0)
    stored.choose(arms(rng), person=9)
    for column in ("choice", "waiting"):
        assert len({len(sealed) for (sealed,) in table(stored, f"SELECT sealed FROM {column}")}) == 1
    stored.close()


def test_answers_are_read_as_they_were_written():
    items = (ListItem(3, "ä"), ListItem(0, "b"), ListItem())
    answer = Answer(bytes(16), 7, 3, "ä", 0.25, 0.0, items)
    assert Answer.unpacked(answer.packed()) == answer and answer.indices == (3, 0) and answer.names == ("ä", "b")
    assert len(answer.packed()) == len(answer.refusal().packed()) == ANSWER.size + 3 * ITEM.size
    unnamed = Answer(bytes(16), 7, 3, None, 0.25, 0.0, (ListItem(3), ListItem(1)))
    assert Answer.unpacked(unnamed.packed()).names is None and unnamed.indices == (3, 1)


def test_what_is_no_list_of_rewards_is_refused_before_anything_is_written(place):
    with pytest.raises(ValueError, match="missing_as=0 with positions"):
        place.open(lists(), missing_as=0.5)
    stored = place.open(lists(), missing_as=0.0)
    choice = stored.choose(offered(np.random.default_rng(0), 1))
    for wrong in (1.0, [1.0] * 4, [2.0], {"another": 1.0}):
        with pytest.raises(ValueError, match=r"^Expected"):
            stored.observe(choice, wrong)
    with pytest.raises(ValueError, match="by place"):
        stored.observe(choice.id, {choice.name: 1.0})
    with pytest.raises(ValueError, match="learn_log"):
        stored.learn_log({"reward": [1.0], "x0": [0.1], "x1": [0.0], "x2": [0.0]}, log="a")
    assert not table(stored, "SELECT sealed FROM written")
    assert stored.observe(choice, None)  # cancelled
    stored.close()
