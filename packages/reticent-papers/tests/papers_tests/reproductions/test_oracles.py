"""What an oracle leaves out of the noise is not there, and the rest is what the budget asks for."""

import math

import numpy as np
import pytest

from core_tests import disjoint
from lab_tests.raising import raised
from reticent import Bandit, Budget, JointGLM, Reward, environments
from reticent.errors import NotSecure
from reticent.mechanisms.opening import opened
from reticent.privacy import gaussian
from reticent_papers.reproductions import oracles
from reticent_papers.reproductions.oracles.bandit import WITHOUT, Oracle, Told

BUDGET, REWARD = Budget(1, 0.02), Reward(radius=3.0, link="probit")
OPTIONS = {"features": 12, "reward": REWARD, "horizon": 2000, "budget": BUDGET}
CURVED = 12 * 13 // 2


def noise_of(without, seed=3, **more):
    bandit = Told(Oracle(**OPTIONS | more, without=without), seed)
    return bandit, opened(bandit.sums.state.prefix).noise.table


def deviation(part, std):
    """The sample's deviation from `std`, in units of its own error; rows share their noise, so that one is taken."""
    return abs(math.sqrt(np.mean(part**2)) / std - 1) * math.sqrt(2 * part.size)


@pytest.mark.parametrize("without", WITHOUT)
def test_noise_that_is_left_has_the_std_that_the_estimate_is_told(without):
    """At the last release, over seeds. False alarm: one in 10^4 (4 standard errors); a std wrong by 15 % is 7."""
    last = [noise_of(without, seed) for seed in range(90)]
    part = slice(CURVED) if without == "moments" else slice(CURVED, None)
    told = last[0][0].plan.mechanism.sigma * last[0][0].one_pass.gains[-1]
    drawn = np.concatenate([table[-1, part] for _, table in last])
    assert deviation(drawn, told) < 4 < deviation(drawn, 1.15 * told)


def test_what_is_left_out():
    _, curvature = noise_of("curvature")
    assert not curvature[:, :CURVED].any() and curvature[:, CURVED:].all()
    _, moments = noise_of("moments")
    assert moments[:, :CURVED].all() and not moments[:, CURVED:].any()
    bandit, floor = noise_of("floor")
    assert np.ptp(floor, axis=0).max() == 0 and not floor[:, :CURVED].any()
    assert bandit.plan.mechanism.sigma * bandit.one_pass.gains[0] == pytest.approx(2 / gaussian.mu(BUDGET))


def test_noise_of_one_release_tells_of_the_next_unless_it_is_fresh():
    def correlation(without):
        last = np.concatenate([noise_of(without, seed)[1][-2:] for seed in range(20)], axis=1)
        return np.corrcoef(last)[0, 1]

    assert correlation("once") > 0.5 and abs(correlation("fresh")) < 4 / math.sqrt(20 * 90)


def test_blocks_have_their_own_curvature():
    _, table = noise_of("curvature", features=disjoint.schema(3, 2), model="curvature")
    assert (table.reshape(len(table), 3, -1) == 0).all(axis=0).sum(axis=1).tolist() == [15, 15, 15]


def test_an_oracle_is_not_private():
    raised(NotSecure, Told, Oracle(**OPTIONS, without="floor")).match("experiment")
    with pytest.raises(NotSecure, match="oracle"):
        _ = noise_of("floor")[0].privacy
    raised(ValueError, noise_of, "everything").match("without")


def test_an_oracle_plays_on_the_same_steps(tmp_path, monkeypatch):
    """End to end; and what is left out changes what is learnt."""
    monkeypatch.setattr(oracles, "ROUNDS", 300)
    monkeypatch.setattr(oracles, "worlds", lambda: [environments.ball(dim=3, radius=3.0, link="probit")])
    outcome = oracles.reproduce(quick=True, runs=2, out=tmp_path)
    assert (tmp_path / "figure.png").stat().st_size > 10_000
    regrets = {row["label"]: row["regret_mean"] for row in outcome.result.rows}
    assert len(regrets) == len(set(regrets.values())) == 8
    steps = Bandit(JointGLM(**OPTIONS), 3).plan.schedule
    assert noise_of("fresh")[0].plan.schedule == steps
