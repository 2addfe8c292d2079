"""Bugs of a store that are planted, and found without any statistics: each check holds for the code as it is, and not
with its bug. (packages/reticent-lab/tests/lab_tests/audit/test_served_audit.py finds the same ones through HTTP, by
what readers see.)"""

import numpy as np
import pytest

from reticent.mechanisms import leaves
from reticent_lab.audit import stored_mutants as bugs
from serve_tests.store.places import Clock, arms, contribution, linear, play, settle, sums, table, total


def noise_is_there(place):
    """Each number of a leaf has its noise: it is not the exact one (0 has a chance below 10^-6)."""
    with place.open(linear()) as stored:
        play(stored, np.random.default_rng(0), 11, together=11)
        exact, cell = sums(stored)[0], stored.one_pass.plan.mechanism.cell
        ((noisy,),) = table(stored, "SELECT noisy FROM leaf")
    difference = leaves.read(bytes(noisy), len(exact)) - exact * cell
    return bool(difference.all())


def restarts_show_the_same(place):
    seen = []
    for _ in range(3):
        with place.open(linear()) as stored:
            if not seen:
                play(stored, np.random.default_rng(0), 25, together=13)
            seen.append((stored.version, stored.theta.tobytes(), stored.privacy.json()))
    return seen[0][0] == 2 and seen[0] == seen[1] == seen[2]


def retries_count_once(place):
    """Together, one after the other, by choice and by id, and after a restart."""
    rng, bandit = np.random.default_rng(0), linear()
    with place.open(linear()) as stored:
        given = arms(rng)
        choice = stored.choose(given)
        stored.write_group([stored.report(choice, 0.5)] * 3)
        stored.observe(choice.id, 0.5)
    with place.open(linear()) as stored:
        stored.observe(choice.id, 0.5)
        settle(stored)
        return bool(np.array_equal(total(stored), contribution(bandit, given[choice.index], 0.5)))


def rewards_move_no_step(place):
    seen = []
    for name, answers in (("none", False), ("all", True)):
        rng, clock = np.random.default_rng(0), Clock()
        with place.open(linear(), name=name, clock=clock) as stored:
            for _ in range(25):
                clock.now += 1.0
                choice = stored.choose(arms(rng))
                if answers:
                    stored.observe(choice, 1.0)
                stored.tend()
                seen.append((name, stored.head._replace(sums_key=0), stored.version, stored.events))
    return [row[1:] for row in seen[:25]] == [row[1:] for row in seen[25:]]


CHECKS = {
    noise_is_there: bugs.RAW_RELEASE, restarts_show_the_same: bugs.REDRAWN,
    retries_count_once: bugs.COUNTED_TWICE, rewards_move_no_step: bugs.TRIGGERED,
}  # fmt: skip


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_planted_bug_is_found(check, place):
    with CHECKS[check].planted():
        assert not check(place)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_sound_code_passes(check, place):
    assert check(place)
