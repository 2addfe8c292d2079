"""`reticent plan --holdout`: people until an effect is seen."""

import json

import numpy as np
import pytest

from reticent_serve.planning import holdout
from reticent_serve.planning.holdout import HoldoutQuestion
from reticent_serve.trials import bounds, looks
from reticent_serve.trials.bounds import CALIBRATED, GroupSum
from reticent_serve.trials.groups import Places
from serve_tests.planning.test_plan import run
from tools.trials.noise import Noise


def test_noise_is_that_of_the_encoder_alone():
    noise, after = Noise(1.0, 10, 100_000), holdout.noise(1.0, 1e-6)
    for k in (3, 80, 160):
        assert after(noise.ends[k])[0] == pytest.approx(float(noise.std[k]), rel=0.02)
    assert after(10_000)[1] == pytest.approx(after(10_000)[0] / 0.03**0.5)


def test_half_widths_are_the_promised_ones():
    question = HoldoutQuestion(share=0.1, effect=0.05)
    assert holdout.half(question, 10_000) <= 0.078 and holdout.half(question, 100_000) <= 0.021


def test_an_effect_is_seen_as_often_as_said():
    """800 trials, each looked at once: 4 of 5, within 4 standard deviations (a false alarm in 16 000)."""
    found = holdout.cell(HoldoutQuestion(share=0.1, effect=0.1), 1.0, 0.1)
    assert found.people is not None and found.cost == pytest.approx(found.people * 0.01)
    rng, blocks, groups = np.random.default_rng(8), found.people // 10, Places(10)
    loud = holdout.noise(1.0, 1e-6)(found.people)
    c = rng.binomial(blocks, 0.5, 800) + loud[0] * rng.standard_normal(800)
    b = rng.binomial(9 * blocks, 0.6, 800) + loud[1] * rng.standard_normal(800)
    error = 0.05 / looks.most(0.1)
    seen = (
        bounds.difference(GroupSum(9, b, loud[1]), GroupSum(1, c, loud[0]), groups, blocks, error, CALIBRATED).low > 0
    )
    assert abs(seen.mean() - 0.8) < 4 * (0.16 / 800) ** 0.5


def test_more_budget_needs_fewer_people_and_rare_rewards_say_so(capsys, monkeypatch):
    rare = "--holdout .1 --effect .005 --base-rate .02 --per-day 500 --json"
    code, out, _ = run(capsys, monkeypatch, *rare.split())
    found = json.loads(out)
    people = {(one["epsilon"], one["share"]): one["people"] for one in found["cells"]}
    assert code == 0 and people[0.5, 0.1] > people[1.0, 0.1] > people[8.0, 0.1]
    assert people[1.0, 0.02] > people[1.0, 0.1] > 100_000
    assert "100,000 people" in found["recommendation"][1] and "days" in found["recommendation"][0]
    code, out, _ = run(capsys, monkeypatch, "--holdout", ".1", "--effect", ".05")
    assert code == 0 and "10 %*" in out and "1*" in out and max(map(len, out.split("\n"))) <= 100
