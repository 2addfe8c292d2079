"""`tacit plan`: the formula against simulations, what is stored of them, and what a person is told."""

import json
import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng
from tools.plan import draws, fit, simulations

from tacit import cli
from tacit.planning import advice, formula, surface
from tacit.planning.advice import PEOPLE, Question
from tacit.planning.players import noise_of, player
from tacit.planning.setting import MODELS, RANGES, Setting
from tacit.privacy import gaussian
from tacit.privacy.budget import Budget
from tacit.privacy.noise import Simulated

ROWS = fit.read()
HELD_OUT = [row for row in ROWS if row["part"] == "held-out"]


def setting_of(row):
    return Setting(**{name: row[name] for name in fit.FIELDS})


# the formula


@pytest.mark.parametrize("model", MODELS)
def test_the_formula_is_near_fresh_simulations(model):
    """Settings and seeds that nobody fitted to; 0.05 and two standard errors of what was simulated."""
    for dim, arms, epsilon in ((3, 8, 1.0), (8, 4, 4.0)):
        made = Setting(model=model, dim=dim, arms=arms, epsilon=epsilon, delta=1e-5, radius=2.5)
        found = simulations.measure(made, seed=[7, dim], seconds=0.2, precise=0.02, most=4000, least=3162)
        assert len(found.at) == 3 and max(found.error) < 0.06
        assert found.share == sorted(found.share) and found.share[-1] > 0.4
        for share, error, said in zip(found.share, found.error, surface.shares(made, found.at), strict=True):
            assert abs(share - said) < 0.05 + 2 * error


@pytest.mark.parametrize("model", MODELS)
def test_more_people_and_less_noise_are_never_worse(model):
    """The formula over the whole range: 400 settings, each with eight levels of noise and eight numbers of rounds;
    steps and random arms follow the noise as in the bandits."""
    rng, count = default_rng(0), 400
    low, high = np.array([RANGES[name] for name in ("dim", "arms", "radius")]).T
    drawn = np.exp(rng.uniform(np.log(low), np.log(high), (count, 3)))
    most = {"joint": 2000, "shuffle": 1000, "local": 60}[model]
    std = np.tile(np.geomspace(0.6 if model != "local" else 0.4, most, 8), count)
    per, start, share = {"joint": (2, 8, 1), "shuffle": (30, 20, 1), "local": (60, 10, 4)}[model]
    random = start + per * std
    sizes = formula.Sizes(*np.repeat(drawn, 8, axis=0).T, std, random / share, random)
    fitted = np.array(surface.FITTED["models"][model])
    found = np.array([formula.shares(model, fitted, sizes, np.full(len(std), 10.0**n)) for n in np.arange(2, 9.5)])
    assert found.min() >= 0 and found.max() <= 1
    assert np.diff(found, axis=0).min() >= 0  # rounds
    slack = 1e-3 if model == "local" else 1e-9  # by its form in joint and shuffle; in local to what is shown
    assert np.diff(found.reshape(len(found), count, 8), axis=2).max() <= slack  # noise


def test_a_larger_epsilon_is_never_worse():
    for model in MODELS:
        found = [surface.shares(Setting(model=model, dim=8, arms=6, epsilon=e), PEOPLE) for e in advice.EPSILONS]
        assert np.diff(found, axis=0).min() >= 0 and found[-1][0] - found[0][0] > 0.3


def test_a_persons_rounds_cost_noise():
    for model, least in (("joint", 4.99), ("shuffle", 5.0), ("local", 4.0)):
        one = Setting(model=model, dim=8, arms=5, epsilon=2.0)
        five = replace(one, rounds_per_person=5)
        assert noise_of(five).std > least * noise_of(one).std
        assert surface.shares(five, [200])[0] < surface.shares(one, [1000])[0]  # as many rounds
    assert five.budget.epsilon == 0.4 and five.budget.delta == 1e-6 / 5


def test_needed_is_where_the_share_is_reached():
    made = Setting(model="shuffle", dim=12, arms=5, epsilon=1.0)
    people = surface.needed(made, 0.8, 10**9)
    before, after = surface.shares(made, [round(people / 1.01), people])
    assert before < 0.8 <= after
    assert surface.needed(made, 0.8, people // 2) is None


def test_simulated_batches_have_the_noise_of_real_ones():
    made = Setting(model="shuffle", dim=6, arms=5, epsilon=1.0)
    coarse = player(made, default_rng(0), Simulated(0), simulations.CoarseNewton).server.analyzer
    exact = type(coarse).__mro__[1]._make(coarse, 500)
    assert coarse.plan(0).std == pytest.approx(noise_of(made).std, rel=0.01)
    assert coarse._make(500).std == pytest.approx(exact.std, rel=1e-9) and exact.trials > coarse._make(500).trials


# what is stored


def test_the_error_that_is_told_is_that_of_the_stored_held_out_settings():
    assert fit.judge(surface.FITTED["models"], HELD_OUT) == surface.ERROR
    assert surface.ERROR["settings"] == len(HELD_OUT)
    assert surface.ERROR["within"] >= 0.95


def test_what_is_fitted_is_not_what_is_judged():
    assert [(row["part"], row["number"]) for row in ROWS] == draws.wanted()
    assert len({setting_of(row) for row in ROWS}) == len(ROWS) and len(HELD_OUT) >= 200
    assert not any(setting_of(row).outside() for row in ROWS)


def test_a_stored_row_is_of_the_setting_that_its_number_draws():
    for row in (ROWS[0], ROWS[1], ROWS[2], HELD_OUT[1], HELD_OUT[2]):
        assert draws.draw(row["part"], row["number"]) == setting_of(row)
        assert noise_of(setting_of(row)) == pytest.approx(tuple(row["noise"]), rel=1e-4)


def test_a_stored_row_comes_out_again():
    for part, number in (("fit", 9), ("held-out", 4)):
        (stored,) = [row for row in ROWS if (row["part"], row["number"]) == (part, number)]
        again = draws.simulate(part, number)
        assert again["share"] == pytest.approx(stored["share"], abs=0.01)  # the same, but for the last bits elsewhere


@pytest.mark.full
def test_the_fit_is_that_of_the_stored_simulations():
    for model in MODELS:
        fitted = fit.fit(model, [row for row in ROWS if row["part"] in ("fit", "noisy") and row["model"] == model])
        assert np.abs(fitted - surface.FITTED["models"][model]).max() < 0.05


@pytest.mark.full
def test_fresh_settings_are_as_near_as_is_told():
    """30 settings that nobody has seen, some 200 numbers: 95 % are told to be within 0.05; fewer than 85 % would be a
    false alarm once in thousands of times even if only 30 of them were independent."""
    rows = [draws.simulate("fresh", number) for number in range(30)]
    assert fit.judge(surface.FITTED["models"], rows)["within"] >= 0.85


# what a person is told


def run(capsys, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["tacit", "plan", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    out = capsys.readouterr()
    return stop.value.code, out.out, out.err


def test_the_table_fits_and_says_its_error(capsys, monkeypatch):
    for arguments in (
        ("--dim", 8, "--arms", 6, "--per-day", 2000),
        ("--dim", 8, "--arms", 50, "--epsilon", 0.333, "--per-day", 123456.7, "--rounds-per-person", 30),
    ):
        code, out, _ = run(capsys, monkeypatch, *arguments)
        assert code == 0
        assert max(map(len, out.splitlines())) <= 100
        said = " ".join(out.split())  # lines break where the terminal ends
        assert f"{surface.ERROR['settings']} settings" in said
        assert "If people have fields, ask with --schema" in said and "features" not in out
        assert all(f"{people:,}" in out for people in PEOPLE)
        assert all(word in out for word in ("joint", "shuffle", "local", "days", "ersonalise", "Model:", "Unit:"))


def test_prose_fits_the_terminal(capsys, monkeypatch):
    for columns, most in ((60, 60), (200, 100)):
        monkeypatch.setenv("COLUMNS", str(columns))
        out = run(capsys, monkeypatch, "--dim", 8, "--arms", 6)[1]
        prose = [line for line in out.splitlines() if not line.startswith(" ")]
        assert most - 10 < max(map(len, prose)) <= most
        assert all(f"{people:,}" in out for people in PEOPLE)


def test_json_and_picture(capsys, monkeypatch, tmp_path):
    picture = tmp_path / "plan.png"
    code, out, err = run(capsys, monkeypatch, "--dim", 8, "--arms", 4, "--epsilon", 3, "--json", "--plot", picture)
    document = json.loads(out)
    assert code == 0 and picture.stat().st_size > 10_000 and str(picture) in err.replace("\n", "")
    assert [row["epsilon"] for row in document["rows"] if row["model"] == "local"] == [0.5, 1, 2, 3, 4, 8]
    assert all(len(row["share"]) == len(document["people"]) for row in document["rows"])
    assert document["days"] is None and document["outside"] == [] and len(document["recommendation"]) == 3
    assert document["error"] == surface.ERROR


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--arms", "4"], "Expected --dim or --schema, got neither."),
        (["--dim", "4"], "Expected --arms"),
        (["--dim", "0", "--arms", "4"], "Expected dim to be a whole number of at least 1, got 0."),
        (["--dim", "4", "--arms", "1"], "Expected at least 2 arms, got 1"),
        (["--dim", "4", "--arms", "4", "--epsilon", "0"], "Expected epsilon to be a positive number, got 0.0."),
        (["--dim", "4", "--arms", "4", "--epsilon", "inf"], "Expected epsilon to be a positive number, got inf."),
        (["--dim", "4", "--arms", "4", "--delta", "0"], "Expected delta in (0, 1), got 0.0."),
        (["--dim", "4", "--arms", "4", "--per-day", "0"], "Expected per_day to be a positive number, got 0.0."),
        (["--dim", "4", "--arms", "4", "--rounds-per-person", "0"], "Expected rounds_per_person"),
        (["--dim", "4", "--arms", "4", "--plot", "a.jpg"], "Expected a .png, .svg or .pdf file to plot to"),
        (["--dim", "4", "--arms", "4", "--hold", "1 day"], "Expected --schema with --hold"),
        (["--dim", "4", "--arms", "4", "--quick"], "Expected --schema with --quick"),
        (["--dim", "4", "--arms", "4", "--base-rate", "0"], "Expected base_rate in (0, 1), got 0.0."),
        (["--schema", "missing.json"], "Expected a schema in missing.json, got: No such file or directory."),
    ],
)
def test_bad_input(arguments, message, capsys, monkeypatch):
    code, _, err = run(capsys, monkeypatch, *arguments)
    assert code == 1 and message in " ".join(err.split())


def test_beyond_what_was_simulated_nothing_is_known(capsys, monkeypatch):
    code, out, _ = run(capsys, monkeypatch, "--dim", 8, "--arms", 60, "--epsilon", 0.1)
    told = " ".join(out.split())
    assert code == 0
    assert "Not known: arms = 60 (simulated: 2 to 50), epsilon = 0.1 (simulated: 0.25 to 10)." in told
    assert "ersonalise if" not in out and "after" not in told.split("Not known")[1]
    document = json.loads(run(capsys, monkeypatch, "--dim", 8, "--arms", 4, "--epsilon", 0.1, "--json")[1])
    for row in document["rows"]:  # other epsilons are known
        assert row["known"] == (row["share"] is not None) == (row["useful_after"] is not None) == (row["epsilon"] > 0.1)


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.3, 0.6])
def test_rare_rewards_were_not_simulated(capsys, monkeypatch, rate):
    document = json.loads(run(capsys, monkeypatch, "--dim", 8, "--arms", 4, "--base-rate", rate, "--json")[1])
    known = 0.2 <= rate <= 0.5
    assert all((row["share"] is not None) == known for row in document["rows"])
    assert document["recommendation"][0].startswith("Personalise" if known else f"Not known: base_rate = {rate:g}")
    assert bool(document["outside"]) != known


def test_a_hopeless_size_and_a_good_one():
    hopeless = advice.words(Question(dim=60, arms=5, epsilon=0.5, per_day=10))
    assert hopeless[0].startswith("Do not personalise at this size (3,600 people a year)")
    assert "joint (JointGLM)" in hopeless[1]
    middling = advice.words(Question(dim=20, arms=5, epsilon=1.0, per_day=10))
    assert "only if a part is worth it" in middling[0] and "It would be useful with" in middling[0]
    good = advice.words(Question(dim=8, arms=5, epsilon=1.0, per_day=10_000))
    assert good[0].startswith("Personalise at this size (3,600,000 people a year)") and "within a day" in good[0]
    unknown = advice.words(Question(dim=8, arms=5))
    assert "if you expect well over" in unknown[0] and "days" not in unknown[1]


def test_little_trust_is_recommended_where_it_costs_few_people():
    def model(epsilon, per_day):
        return advice.words(Question(dim=8, arms=6, epsilon=epsilon, per_day=per_day))[1]

    one, two = model(1.0, 2000), model(2.0, 2000)
    assert "If not, shuffle (ShuffleNewton)" in one and "Local wants an ε of 2 or more" in one
    assert "If not, local (LocalIRLS)" in two and "Local wants" not in two
    assert "If not" not in model(2.0, 20)  # 7300 people a year
    for said in (one, two):
        assert said.startswith("Model: joint (JointGLM) if people trust you")
        assert all(f"{name} after" in said for name in MODELS)


def test_the_unit_is_the_person_where_people_come_back():
    once = advice.words(Question(dim=8, arms=5))[2]
    assert "learning from the first round of each" in once and "--per-day is new people a day" in once
    often = Question(dim=8, arms=5, rounds_per_person=5, per_day=50_000)
    said = advice.words(often)[2]
    assert "Unit: the person, learning from the first round of each" in said
    for model in MODELS:
        for k in (1, 5):
            people = advice.needed(often.setting(model, rounds_per_person=k))
            assert f"{advice.count(people)} ({model})" in said
    assert "first 5 rounds" in advice.words(Question(dim=100, arms=6, rounds_per_person=5, epsilon=8.0))[2]


def test_who_returns_daily_is_told_the_ways_out():
    asked = Question(dim=60, arms=6, rounds_per_person=30, per_day=160)
    verdict, _, unit = advice.words(asked)
    assert verdict.startswith("Do not personalise at this size (1,900 people a year)")
    assert "a promise for a week instead of for ever" in verdict
    unknown, ways = advice.words(replace(asked, rounds_per_person=365))
    assert unknown.startswith("Not known: rounds_per_person = 365 (simulated: 1 to 30).")
    for way in ('max_rounds_per_person=1, on_limit="serve"', "week=, docs/persons.md", "or do both"):
        assert way in unit and way in ways
    few = advice.words(replace(asked, per_day=2))[0]  # 24 people, each of whom counts at most 30 times
    assert "a week" not in few
    once = advice.words(replace(asked, per_day=20, rounds_per_person=1))[0]
    assert "a week" not in once and "first round" not in once


def test_two_servers_learn_as_joint_does_with_the_noise_of_both():
    asked = Question(dim=8, arms=6)
    two, joint = ([row for row in advice.rows(asked) if row["model"] == name] for name in ("two-server", "joint"))
    for one, other in zip(two, joint, strict=True):
        weaker = gaussian.epsilon(gaussian.mu(Budget(one["epsilon"], 1e-6)) / math.sqrt(2), 1e-6)
        (same,) = (
            r for r in advice.rows(replace(asked, epsilon=weaker)) if (r["model"], r["epsilon"]) == ("joint", weaker)
        )
        assert one["share"] == same["share"] and one["share"][0] < other["share"][0] and one["bandit"] == "TwoServerGLM"
    assert "two-server after" in advice.words(asked)[1]
    least = advice.rows(replace(asked, epsilon=0.25))  # whose half is beyond what was simulated
    assert [row["known"] for row in least if row["epsilon"] == 0.25] == [True, False, True, True]
