"""`reticent plan --schema`: made-up worlds, the bandit in them, and what a person is told."""

import json
import math
import re
import shlex
import sys

import msgspec
import numpy as np
import pytest

from reticent import cli
from reticent.experiments.runner import run_once
from reticent.features import Category, Hashed, Number, Schema, Tags
from reticent_serve.planning import counsel, crowd, trials
from reticent_serve.planning.trials import PEOPLE, Case, Forecast, Found, Question, Size

SMALL = Schema(
    context={"age": Number(0, 100, bins=3), "plan": Category("free", "paid")}, arms="disjoint", actions=("a", "b")
)
TINY = Size(2, 1000, 0, 0)


def quiet(_):
    pass


def played(question, cases=(), size=TINY):
    return trials.run(question, size, quiet, list(cases) or [Case(question.epsilon)])


# worlds


def test_a_world_has_the_rate_and_the_tastes_that_were_asked_for():
    for number in range(4):
        made = crowd.drawn(SMALL, number, rate=0.05, strength=0.7)
        assert made.random == pytest.approx(0.05, abs=1e-6)
        assert np.sqrt(np.log(made.means / (1 - made.means)).var(axis=1, ddof=1).mean()) == pytest.approx(0.7, abs=1e-6)
        assert made.random < made.single < made.best
        assert made.important[0] == list(SMALL.context)[number % 2] and set(made.important) == set(SMALL.context)
        assert np.linalg.norm(made.numbers, axis=1).max() <= 1 + 1e-12


def test_people_are_as_the_schema_makes_them():
    """Every kind of field, and a cross: each vector of a world is that of somebody who could come."""
    schema = Schema(
        context={"a": Number(0, 1), "b": Category("x", "y"), "c": Tags("t", "u"), "d": Hashed(3)},
        arms="disjoint",
        actions=("one", "two"),
        cross=[("a", "b")],
    )
    made = crowd.drawn(schema, 0, rate=0.3, strength=0.5)
    part = {part.names: part for part in schema.own}
    for row in made.numbers[:20]:

        def own(*names, row=row):
            return row[part[names].start : part[names].start + part[names].size] / part[names].weight

        sign = {value: schema.context["d"].entries(value)[0] for value in map(str, range(50))}
        place = int(np.flatnonzero(own("d"))[0])
        person = {
            "a": (own("a")[0] + 1) / 2,
            "b": "xy"[int(np.argmax(own("b")))],
            "c": ["tu"[int(np.argmax(own("c")))]],
            "d": next(value for value, entry in sign.items() if entry == (place, own("d")[place])),
        }
        assert schema.placed(person)[1][0, :-1] == pytest.approx(row, abs=1e-12)
    without = crowd.without(schema, {"b"})
    assert not without.cross and "b" not in without.context
    fewer = crowd.seen(made, schema, without)
    assert fewer.numbers.shape[1] == sum(each.size for each in without.own) < made.numbers.shape[1]
    assert np.array_equal(fewer.means, made.means) and fewer.numbers[:, 0] == pytest.approx(without.placed({})[1][0, 0])


def test_the_share_is_of_those_who_come_last():
    """Random actions at first, the best one for each after 500 people: 1 from there on; and as random for ever: 0."""
    question, made = Question(schema=SMALL), crowd.drawn(SMALL, 0, rate=0.3, strength=0.5)
    place = crowd.crowded(dim=SMALL.dim, arms=2, radius=3.0, schema=SMALL, crowd=made)
    run = run_once(question.spec(1.0), place, 10, 0, 0, quiet, None, [10])
    gain = made.best - made.random
    learnt, never = (
        trials._shares(question, msgspec.structs.replace(run, at=[500, 1000], curve=curve), made)
        for curve in ([500 * gain, 500 * gain], [500 * gain, 1000 * gain])
    )
    assert learnt[0] == pytest.approx(1.0) and never[0] == pytest.approx(0.0)
    assert all(math.isnan(share) for share in learnt[1:])


def test_a_curve_has_points_where_it_is_asked_for_them():
    people = crowd.drawn(SMALL, 0, rate=0.3, strength=0.5)
    place = crowd.crowded(dim=SMALL.dim, arms=2, radius=3.0, schema=SMALL, crowd=people)
    spec = Question(schema=SMALL).spec(1.0)
    usual, asked = (run_once(spec, place, 600, 0, 0, quiet, None, at) for at in (None, [300, 600]))
    assert asked.at == [300, 600] and asked.curve == [usual.curve[usual.at.index(300)], usual.curve[-1]]


# the bandit in them


def test_what_costs_people_is_seen():
    """Noise, rare rewards and a deadline, each against the same case without it, at fixed seeds; four worlds."""
    size, cases = Size(4, 10_000, 0, 0), [Case(8.0)]
    easy = played(Question(schema=SMALL, epsilon=8.0), cases, size).asked
    assert easy.mean[0] > 0.3 and easy.mean[2] > 0.8 and easy.mean[3] is None and easy.most == 10_000
    assert played(Question(schema=SMALL, epsilon=8.0, base_rate=0.01), cases, size).asked.mean[2] < easy.mean[2] - 0.2
    noisy = played(Question(schema=SMALL, epsilon=0.1), [Case(0.1)], size).asked
    assert noisy.mean[0] < easy.mean[0] - 0.2 and noisy.mean[2] < easy.mean[2] - 0.1
    late = Question(schema=SMALL, epsilon=8.0, per_day=900, window=86_400)
    assert late.later == 900 and abs(played(late, cases, size).asked.mean[0]) < 0.15
    found = played(Question(schema=SMALL, epsilon=8.0, rounds_per_person=10), cases, size).asked
    assert found.most == 1000 and found.mean[0] < easy.mean[2]  # as many rounds


def test_fields_are_left_out_weighed_and_chosen():
    important = ["plan", "age"]
    assert list(Case(1.0, left_out="age").schema(SMALL, important).context) == ["plan"]
    assert list(Case(1.0, alone=True).schema(SMALL, important).context) == ["plan"]
    heavier = Case(1.0, weight=2.0).schema(SMALL, important)
    assert heavier.context["plan"].weight == 2.0 and heavier.context["age"] == SMALL.context["age"]
    assert Case(1.0).schema(SMALL, important) == SMALL
    made = trials.cases(Question(schema=SMALL, epsilon=3.0))
    assert [case.epsilon for case in made[:6]] == [0.5, 1.0, 2.0, 3.0, 4.0, 8.0]
    assert sum(bool(case.left_out) for case in made) == 2 and len(set(made)) == len(made)


def test_between_the_numbers_that_were_simulated():
    share = np.full((2, len(PEOPLE)), math.nan)
    share[:, :3] = [[0.0, 0.4, 0.8], [0.2, 0.6, 1.0]]
    found = Found(Case(1.0), share)
    assert found.mean[:4] == pytest.approx([0.1, 0.5, 0.9, None]) and (found.low[1], found.high[1]) == (0.4, 0.6)
    assert found.after(0.1) == 1000 and found.after(0.95) is None
    assert 3000 < found.after(0.8) < 10_000 and found.at(found.after(0.8))[0] == pytest.approx(0.8, abs=1e-3)
    assert found.at(5) == (pytest.approx(0.1), 1000) and found.at(10**9) == (pytest.approx(0.9), 10_000)


# what a person is told


def given(shares, *, question=None, floor=0.2, **others):
    """A plan with those shares for all rows, or others for some."""
    question = question or Question(schema=SMALL)

    def row(values):
        return np.tile([*values, *[math.nan] * (len(PEOPLE) - len(values))], (4, 1))

    found = [Found(case, row(others.get(_name(case), shares))) for case in trials.cases(question)]
    rates = dict.fromkeys(trials.TASTES, (0.3, 0.3 + 0.1 * floor, 0.4))
    return Forecast(question, Size(4, 100_000, 0, 0), rates, found)


def _name(case):
    return f"without_{case.left_out}" if case.left_out else "alone" if case.alone else "all"


def test_the_verdict_follows_the_share():
    good, poor = (0.3, 0.6, 0.9, 0.95, 0.97), (0.0, 0.01, 0.05, 0.1, 0.15)
    many, few = (Question(schema=SMALL, per_day=n) for n in (1000, 10))
    assert counsel.words(given(good, question=many))[0].startswith("Personalise at this size (360,000 people a year)")
    assert "only if a part is worth it" in counsel.words(given(good, question=few))[0]
    assert counsel.words(given(poor, question=many))[0].startswith("Do not personalise at this size")
    assert "as far as was simulated" in counsel.words(given(poor, question=many))[0]
    crowd = Question(schema=SMALL, per_day=5000)  # 10,000 people of 1,800,000 say nothing of a year
    quick = counsel.words(given(poor[:3], question=crowd))[0]
    assert quick.startswith("Not known at this size (1,800,000 people a year)")
    assert quick.endswith("Without --quick more are simulated.")
    assert counsel.words(given(good))[0].startswith("Personalise if you expect well over 6,700 people")
    assert counsel.words(given(poor))[0].startswith("Not useful within 100,000 people")
    assert "within 100,000 people the bandit brings less" in counsel.words(given(poor))[1]


def test_fields_that_cost_more_than_they_bring_are_named():
    shares, better = (0.1, 0.2, 0.4, 0.7, 0.8), (0.2, 0.5, 0.7, 0.72, 0.73)
    said = counsel.words(given(shares, without_age=better, alone=better))[2]
    assert "with 10,000 people all of them together have 40 %" in said
    assert "Without `age` they have 70 %" in said and "Without `plan`" not in said
    assert "alone" in said and "gets there with 2,100" in said
    assert "No field costs more than it brings" in counsel.words(given(shares))[2]


def run(capsys, monkeypatch, *arguments):
    monkeypatch.setattr(trials, "QUICK", TINY)
    monkeypatch.setattr(sys, "argv", ["reticent", "plan", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    out = capsys.readouterr()
    return stop.value.code, out.out, out.err


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(SMALL.to_dict()))
    return path


def test_the_table_fits_and_says_what_it_rests_on(capsys, monkeypatch, file):
    code, out, _ = run(capsys, monkeypatch, "--schema", file, "--quick", "--per-day", 500, "--window", "2 hours")
    said = " ".join(out.split())
    assert code == 0 and max(map(len, out.splitlines())) <= 100
    for words in (
        *("8 numbers are learnt of each of 2 actions: constant 1, age 4, plan 3.", "30 % rewards (assumed)"),
        *("a window of 2 hours (42 choices)", "worst world", "best single action", "weak tastes", "without age"),
        *("the right one alone", "2 made-up worlds", "?", "Declare, before anybody comes: base_rate"),
        f"in {json.loads(trials.JUDGED.read_text())['worlds']} worlds of other kinds",
    ):
        assert words in said, words


def test_json(capsys, monkeypatch, file):
    given = ("--base-rate", 0.1, "--epsilon", 3)
    code, out, _ = run(capsys, monkeypatch, "--schema", file, "--quick", *given, "--json")
    document = json.loads(out)
    said = {"epsilon": 3.0, "delta": 1e-6, "rounds_per_person": 1, "base_rate": 0.1, "rate": 0.1}
    sizes = {"dim": SMALL.dim, "arms": 2, "radius": 3.0}
    assert code == 0 and document["setting"] == said | sizes | dict.fromkeys(("per_day", "window", "window_choices"))
    assert document["numbers"] == {"constant": 1, "age": 4, "plan": 3}
    assert document["people"] == list(PEOPLE) and document["days"] is None
    assert len(document["rows"]) == len(trials.cases(Question(schema=SMALL, epsilon=3.0)))
    for row in document["rows"]:
        assert row["model"] == "joint" and row["worlds"] == 2 and len(row["share"]) == len(PEOPLE)
        assert row["worst"][0] <= row["share"][0] <= row["best"][0] and row["share"][1] is None
    earned = document["earned"]["ordinary"]
    assert earned["random"] < earned["single"] < earned["best"] and 0 < document["single_action"] < 1
    assert document["error"] == json.loads(trials.JUDGED.read_text()) and len(document["recommendation"]) == 4


SERVED = """
[bandits.one]
kind = "joint-glm"
budget = {epsilon = 2.0, delta = 1e-7, unit = {rounds = 3, per = "7 days"}}
per_day = 4000
reward = {window = "1 hour"}
[bandits.one.features]
arms = "disjoint"
actions = ["a", "b", "c"]
retired = ["c"]
max_actions = 9
context.plan = {kind = "Category", values = ["free", "paid"]}
"""


def test_a_configuration_says_the_promise_the_rate_and_the_deadline(capsys, monkeypatch, tmp_path):
    path = tmp_path / "serve.toml"
    path.write_text(SERVED)
    document = json.loads(run(capsys, monkeypatch, "--schema", path, "--quick", "--json", "--epsilon", 1)[1])
    setting = document["setting"]
    assert (setting["epsilon"], setting["delta"]) == (1.0, 1e-7)
    assert (setting["rounds_per_person"], setting["per_day"], setting["window_choices"]) == (3, 4000, 167)
    assert setting["arms"] == 2 and document["numbers"] == {"constant": 1, "plan": 3}
    told = " ".join(document["notes"])
    assert "fields, delta, rounds_per_person, per_day, window." in told
    assert "promises for a week" in told and "spare or retired, do not count" in told
    path.write_text(SERVED.replace("per_day = 4000\n", ""))
    document = json.loads(run(capsys, monkeypatch, "--schema", path, "--quick", "--json")[1])
    assert document["setting"]["window"] is None and "--per-day says what it costs" in " ".join(document["notes"])


def test_bad_files(capsys, monkeypatch, tmp_path):
    path = tmp_path / "schema.toml"
    for text, message in (
        ("bandits = 1", "got another name"),
        ("[bandits.one]\nkind = 'joint-glm'", "Expected one bandit with features"),
        ("arms", "Expected JSON or TOML"),
        (re.sub("budget = .*", "budget = 1", SERVED), "Expected budget = {epsilon = ..., delta = ...}"),
        (SERVED.replace("4000", "'many'"), "Expected per_day to be a positive number"),
        (SERVED.replace("1e-7", "'small'"), "Expected delta in (0, 1)"),
        (SERVED.replace("1 hour", "an hour"), "Expected window to be a number"),
    ):
        path.write_text(text)
        code, out, err = run(capsys, monkeypatch, "--schema", path)
        assert code == 1 and not out and message in " ".join(err.split()), message


# vectors


def test_vectors_are_planned_by_the_same_simulation():
    """Twelve thousand rounds of three numbers: more people, a larger epsilon and a shorter deadline are better; 0 and 1
    are what random and best arms have."""
    question = Question(dim=3, arms=4, epsilon=8.0)
    assert trials.cases(question) == [Case(epsilon) for epsilon in question.epsilons]
    size = Size(3, 10_000, 0, 0)
    good, poor = (played(question, [Case(epsilon)], size).of(Case(epsilon)) for epsilon in (8.0, 0.1))
    assert good.mean[:3] == sorted(good.mean[:3]) and 0.9 < good.mean[2] < 1
    assert poor.mean[0] < good.mean[0] - 0.2 and poor.mean[2] < good.mean[2]
    late = played(Question(dim=3, arms=4, epsilon=8.0, per_day=900, window=86_400), [Case(8.0)], size).asked
    assert abs(late.mean[0]) < 0.15
    (random, single, best) = played(question, [Case(8.0)], size).rates["ordinary"]
    assert abs(random - 0.5) < 0.02 and single == random < best


def test_the_table_of_vectors(capsys, monkeypatch):
    code, out, _ = run(capsys, monkeypatch, "--dim", 3, "--arms", 4, "--quick", "--per-day", 2000)
    said = " ".join(out.split())
    assert code == 0 and max(map(len, out.splitlines())) <= 100
    for words in ("d = 3, radius = 3, K = 4, ε = 1 (*)", "50 % rewards", "2 made-up worlds of vectors", "worst world"):
        assert words in said, words
    assert "tastes" not in out and "best single action" not in out and "at this size (730,000 people a year)" in said
    held = ("--json", "--window", 5, "--per-day", 1e5)
    document = json.loads(run(capsys, monkeypatch, "--dim", 3, "--arms", 4, "--quick", *held)[1])
    assert [document["setting"][name] for name in ("dim", "arms", "window_choices")] == [3, 4, 6]
    assert document["numbers"] == {} and document["error"] is document["single_action"] is None
    assert len(document["rows"]) == len(trials.EPSILONS) and len(document["recommendation"]) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--arms 4", "Expected --dim or --schema, got neither."),
        ("--dim 4", "Expected --arms"),
        ("--dim 0 --arms 4", "Expected dim to be a whole number of at least 1, got 0."),
        ("--dim 4 --arms 1", "Expected at least 2 arms, got 1"),
        ("--dim 4 --arms 4 --radius 0", "Expected radius to be a positive number, got 0.0."),
        ("--dim 4 --arms 4 --delta 0", "Expected delta in (0, 1), got 0.0."),
        ("--dim 4 --arms 4 --per-day 0", "Expected per_day to be a positive number, got 0.0."),
        ("--dim 4 --arms 4 --rounds-per-person 0", "Expected rounds_per_person"),
        ("--dim 4 --arms 4 --window '1 day'", "Expected per_day with window"),
        ("--dim 4 --arms 4 --base-rate .1", "Expected no base_rate with vectors"),
        ("--schema missing.json", "Expected a schema in missing.json, got: No such file or directory."),
        *((f"--{one} .1", "Expected --holdout and --effect together") for one in ("holdout", "effect")),
        ("--holdout .15 --effect .1", "Expected share to be 1 / m"),
        ("--holdout .1 --effect .7", "Expected base rate and effect"),
        ("--holdout .1 --effect .1 --dim 3", "Expected no --dim with --holdout"),
        ("--holdout .1 --effect .1 --quick", "Expected no --quick with --holdout"),
        ("--schema FILE --radius 2", "Expected no --radius with --schema"),
        ("--schema FILE --dim 77", "as the schema has it"),
        ("--schema FILE --arms 3", "Expected --arms 2, as the schema has it, got 3."),
        ("--schema FILE --window '1 day'", "Expected per_day with window"),
        ("--schema FILE --window soon --per-day 5", "Expected window to be a number"),
        ("--schema FILE --base-rate 1", "Expected base_rate in (0, 1), got 1.0."),
        ("--schema FILE --epsilon 0", "Expected epsilon to be a positive number, got 0.0."),
    ],
)
def test_bad_questions(arguments, message, capsys, monkeypatch, file):
    code, _, err = run(capsys, monkeypatch, *shlex.split(arguments.replace("FILE", str(file))))
    assert code == 1 and message in " ".join(err.split())


# how far off it is
