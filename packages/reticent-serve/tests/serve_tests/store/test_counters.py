"""Everything raw that is counted and kept: after a file it is what it was before, and the limit that the noise is made
for holds (on a database: packages/reticent-serve/tests/serve_tests/store/test_weeks.py). With next to no noise, the
released sums of people who each have a coordinate of their own show how many of their rounds have taught."""

import math

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm

from core_tests.made import joint
from reticent import Bandit, Budget, Simulated
from reticent.kernels.linalg import smat
from reticent.model.vectors import packed_size
from reticent.models.centred import CONSTANT

PEOPLE = 3
LENGTH = 90  # choices: eleven weeks
MODES = {"rounds": {"rounds": 3}, "week": {"rounds": 1, "per": 8}}
MOST = {"rounds": 3, "week": 12}  # of a person
VISITS = st.lists(
    st.tuples(st.integers(0, PEOPLE), st.integers(0, 6)), min_size=LENGTH, max_size=LENGTH
)  # who, PEOPLE for somebody new, and how many choices later the answer comes
RESTARTS = st.sets(st.integers(1, LENGTH - 1), min_size=1, max_size=6)
FEW = settings(max_examples=8, deadline=None, derandomize=True, database=None, phases=[Phase.generate])


def build(mode, **options):
    given = MODES[mode] | {"first": 4, "growth": 1.001, "horizon": 1000, "pending": 50} | options
    given |= {"discount": 1.0, "base_rate": 0.5}  # whatever was released, a round adds the same
    return joint(features=PEOPLE + 1, budget=Budget(1e7, 0.1), **given)


def arm(who):
    return np.eye(PEOPLE + 1)[[who]]


def live(bandit, visits, restarts=(), restarted=None):
    """What everybody sees of the released sums, and the rounds in these sums and the certificate at the end."""
    seen, waiting = [], {}
    for i, (who, later) in enumerate(visits):
        if i in restarts:
            bandit = restarted(bandit)
        choice = bandit.choose(arm(who), person=f"new {i}" if who == PEOPLE else f"p{who}")
        waiting.setdefault(i + later, []).append(choice)
        for one in waiting.pop(i, ()):
            bandit.observe(one, float(i % 2))
        seen.append(bandit.theta.tolist())
    for _ in range(8):  # the last step is released
        bandit.choose(np.zeros((1, PEOPLE + 1)), person="nobody")
    return seen, rounds(bandit), bandit.privacy


def rounds(bandit):
    """That have taught, of each person: whole numbers, or nearly."""
    c = bandit.one_pass.learnt.contribution
    gram = np.empty((c.numbers, c.numbers))
    smat(np.asarray(bandit.sums.released)[: packed_size(c.numbers)], gram)
    return np.diag(gram)[1 : 1 + PEOPLE] / (c.scale * CONSTANT**2)


@pytest.mark.parametrize("mode", MODES)
@FEW
@given(visits=VISITS, restarts=RESTARTS)
def test_a_file_keeps_every_counter_and_the_limit_holds(mode, tmp_path_factory, visits, restarts):
    """Found: a file that forgets how many rounds of somebody have taught, or in which week it is."""
    path = tmp_path_factory.mktemp("file") / "bandit.json"

    def restarted(bandit):
        bandit.save(path)
        return Bandit.load(path)

    seen, sums, certificate = live(build(mode, source=Simulated(0)), visits)
    shown, kept, same = live(build(mode, source=Simulated(0)), visits, restarts, restarted)
    assert shown == seen and str(same) == str(certificate) and np.array_equal(kept, sums)
    assert (kept < MOST[mode] + 0.5).all()


@pytest.mark.parametrize(("mode", "least"), [("rounds", 3), ("week", 6)])
def test_that_the_limit_is_met(mode, least):
    """Or the tests above would hold for a bandit that learns nothing."""
    visits = [(i % PEOPLE, 0) for i in range(LENGTH)]
    assert (live(build(mode, source=Simulated(0)), visits)[1] > least - 0.5).all()


def test_what_several_weeks_cost_is_computed_from_nothing_but_the_definition():
    """Where a week is one step, a person contributes to 4, or 52, steps in a row. What is released is C x + noise, C
    the square root of the matrix of ones below the diagonal: that person moves it by the sum of as many columns, times
    the sensitivity of a round and the rounds of a week. One week too few is 4 per cent of epsilon, at 52."""
    bandit = joint(
        features=2, discount=1.0, budget=Budget(1.0, 1e-6), first=10, growth=1.001, per=10, rounds=2, horizon=20_000
    )
    certificate = bandit.privacy
    (release,) = certificate.releases
    steps, planned = 0, 0.0
    while planned < 20_000:  # a step is as long as the first, or a thousandth of what came before
        planned, steps = planned + max(10, math.floor(0.001 * planned) + 1), steps + 1
    root = np.ones(steps)
    for k in range(1, steps):  # C C is that matrix: a_0 a_k + ... + a_k a_0 = 1
        root[k] = (1 - root[1:k] @ root[k - 1 : 0 : -1]) / 2
    moved = np.zeros(steps)
    for weeks in range(1, 53):
        moved[weeks - 1 :] += root[: steps - weeks + 1]
        if weeks in (1, 4, 52):
            mu = 2 * release.sensitivity * np.linalg.norm(moved) / release.sigma
            claimed = certificate.epsilon if weeks == 1 else certificate.over[weeks]
            assert epsilon(mu, 1e-6) <= claimed * (1 + 1e-5) and claimed < 1.01 * epsilon(mu, 1e-6)
    assert set(certificate.over) == {4, 52}
    text = " ".join(str(certificate).split())
    assert "4 weeks: epsilon {:.4g}, 52 weeks: epsilon {:.4g}".format(*certificate.over.values()) in text


def epsilon(mu, delta):
    """Of a Gaussian mechanism, by its definition."""

    def above(e):
        return norm.cdf(mu / 2 - e / mu) - math.exp(e + norm.logcdf(-mu / 2 - e / mu)) - delta

    return brentq(above, 0.0, 1000.0)
