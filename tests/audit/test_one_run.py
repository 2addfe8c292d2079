"""The audit of a server by one run: its bounds hold as often as they say, and convict planted bugs over HTTP.

Noise is secure where a service runs, so nothing is repeated by a seed; bounds are at 99.9 %."""

import asyncio
import contextlib

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from tacit.audit import one_run, running, service
from tacit.audit import stored_mutants as bugs
from tacit.service import config

BUDGET = {"epsilon": 4.0, "delta": 1e-6}
LINEAR = {"kind": "joint-lin-ucb", "dim": 6, "horizon": 2000, "budget": BUDGET}
GLM = {"kind": "joint-glm", "dim": 2, "budget": BUDGET}


def audited(setting, most, *, bug=None):
    document = {"bandits": {"one": setting | {"durable": "unused.db"}}}
    bandit = config.build(config.convert(document).bandits["one"], "one")
    planted = contextlib.nullcontext() if bug is None else bug.planted()
    with service.folder() as place, planted, service.opened(setting, place, scratch=True) as ask:
        return asyncio.run(running.audit(ask, bandit, np.random.default_rng(0), most))


def test_the_claim_stands_where_requests_have_vectors():
    """Convicted by accident in less than one run of a thousand, each."""
    assert not audited(LINEAR, 2000).convicted
    found = audited(GLM | {"max_rounds_per_person": 2}, 400)
    assert not found.convicted and found.canaries >= 20


@pytest.mark.full
def test_twenty_thousand_choices_prove_a_part_of_the_claim():
    """Five runs had 58 to 64 % right, and 66 % is what the claim allows. Below 55 % or above 68 % in less than one run
    of a thousand."""
    found = audited(GLM | {"dim": 5}, 20_000)
    assert not found.convicted and found.canaries > 700 and found.choices > 19_000
    assert 0.55 < found.right / found.canaries < 0.68 and found.independent > 0.1


@pytest.mark.parametrize("bug", [bugs.RAW_RELEASE, bugs.QUIET_RELEASE, bugs.COUNTED_TWICE], ids=lambda bug: bug.what)
def test_planted_bugs_are_convicted(bug):
    """Each makes canaries four times as visible or more: 86 % of 222 guesses are right or more (82 to 90 in ten runs),
    and 76 % convict: fewer in 2 of 100 000 runs, at 86 %. Without noise all are right, and no assumption is needed."""
    found = audited(LINEAR, 2000, bug=bug)
    assert found.convicted
    assert bug is not bugs.RAW_RELEASE or found.lower > BUDGET["epsilon"]


def test_only_a_new_scratch_bandit_is_attacked():
    document = {"bandits": {"one": GLM | {"durable": "unused.db"}}}
    bandit = config.build(config.convert(document).bandits["one"], "one")
    with service.folder() as place, service.opened(GLM, place) as ask:
        with pytest.raises(ValueError, match="Expected a scratch bandit, which has scratch_of"):
            asyncio.run(running.audit(ask, bandit, np.random.default_rng(0), 100))
        assert asyncio.run(ask("status"))["choices"] == 0
    with service.folder() as place, service.opened(GLM, place, scratch=True) as ask:
        asyncio.run(ask("choose", {"arms": [[1.0, 0.0]]}))
        with pytest.raises(ValueError, match="without choices, got one with some"):
            asyncio.run(running.audit(ask, bandit, np.random.default_rng(0), 100))
        assert asyncio.run(ask("status"))["choices"] == 1
    with service.folder() as place, service.opened(GLM | {"dim": 3}, place, scratch=True) as ask:
        with pytest.raises(ValueError, match="with the settings of this configuration"):
            asyncio.run(running.audit(ask, bandit, np.random.default_rng(0), 100))
        assert asyncio.run(ask("status"))["choices"] == 0


# bounds


def guesses(mu, canaries, guessed, rng):
    """How many of the surest are right, where each canary has noise of its own."""
    coins = rng.choice([-1, 1], canaries)
    seen = coins * mu / 2 + rng.standard_normal(canaries)
    surest = np.argsort(-np.abs(seen))[:guessed]
    return int((np.sign(seen) == coins)[surest].sum())


def test_the_bound_holds_as_often_as_it_says_and_finds_a_part():
    rng = np.random.default_rng(1)
    found = [one_run.lower_mu(guesses(1.0, 600, 100, rng), 100, 600, 0.9) for _ in range(40)]
    assert np.mean(np.array(found) > 1.0) <= 0.1 and np.median(found) > 0.4


def test_the_bound_allows_what_gdp_allows_and_hardly_more():
    """In one run of twenty every coin is told by randomised response, right in nine of ten, and else nothing is. The
    corner of that trade-off says which mu it has. A bound that takes guesses for independent is then wrong in each of
    those runs; this one allows them, and would not allow four fifths of that mu."""
    p, told, coins = 0.05, 0.9, 2000
    mu = float(ndtri(p * told) - ndtri(p * (1 - told)))
    x = np.linspace(1e-9, p * (1 - told), 1000)
    assert np.all(
        told / (1 - told) * x <= ndtr(ndtri(x) + mu) + 1e-12
    )  # mu-GDP up to the corner, and after it by slope
    lucky = round(told * coins)
    assert 0.8 * mu < one_run.lower_mu(lucky, coins, coins, 1 - p) <= mu
    assert one_run.independent(lucky, coins, 1 - p) > 2 * mu


def test_independent_guesses_have_the_binomial_bound():
    rng = np.random.default_rng(2)
    right = rng.binomial(500, ndtr(0.5), 400)
    assert np.mean([one_run.independent(int(r), 500, 0.9) > 1.0 for r in right]) <= 0.1 + 3 * 0.015
    assert one_run.independent(int(binom.median(500, ndtr(0.5))), 500, 0.9) > 0.8


@pytest.mark.parametrize("numbers", [(11, 10, 20), (5, 10, 8), (-1, 10, 20)])
def test_impossible_counts_are_refused(numbers):
    with pytest.raises(ValueError, match="Expected right <= guessed <= canaries"):
        one_run.lower_mu(*numbers)
