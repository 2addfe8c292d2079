"""reticent check: mistakes in a sample are counted and named, and nothing is opened or written."""

import json
import sys

import pytest

from reticent import cli

SHOP = """
[bandits.shop]
kind = "joint-glm"
budget = {epsilon = 1.0, delta = 1e-6, unit = {rounds = 1}}
database = "shop.db"
reward = {window = "1 hour"}
[bandits.shop.features]
arms = "disjoint"
actions = ["delivery", "reading"]
context.age = {kind = "Number", low = 18, high = 100, bins = 4}
context.plan = {kind = "Category", values = ["free", "paid"], strict = true}
context.likes = {kind = "Tags", values = ["poems"]}
"""
FILMS = """
[bandits.films]
kind = "joint-glm"
budget = {epsilon = 1.0, delta = 1e-6}
database = "films.db"
reward = {window = "1 minute"}
[bandits.films.features]
context.age = {kind = "Number", low = 18, high = 100}
action.genre = {kind = "Category", values = ["drama", "comedy"]}
[bandits.vectors]
kind = "joint-glm"
features = 2
budget = {epsilon = 1.0, delta = 1e-6}
database = "vectors.db"
reward = {window = "1 minute"}
"""
GOOD = {"age": 31, "plan": "free", "likes": ["poems"]}


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """The exit code and what is printed of that sample by that configuration."""
    monkeypatch.chdir(tmp_path)

    def run(toml, lines, *more):
        (tmp_path / "serve.toml").write_text(toml)
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        (tmp_path / "sample.jsonl").write_text("\n".join(texts))
        monkeypatch.setattr(sys, "argv", ["reticent", "check", "serve.toml", "sample.jsonl", *more])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        assert {path.name for path in tmp_path.iterdir()} == {"serve.toml", "sample.jsonl"}
        found = capsys.readouterr()
        return stop.value.code or 0, found.out or found.err

    return run


def test_a_sample_without_a_mistake_and_what_plan_says(check):
    code, text = check(SHOP, [GOOD, GOOD | {"age": None}, {"context": GOOD, "person": 17, "actions": ["reading"]}])
    assert code == 0 and "Nothing is wrong." in text
    assert "made up, public, or of people who will not be served" in " ".join(text.split())
    assert "reticent plan --schema serve.toml --quick" in " ".join(text.split()) and "One action for everybody:" in text


def test_each_mistake_is_counted_by_its_field(check):
    lines = [
        *(GOOD | {"plan": "Free"}, GOOD | {"age": 131}, GOOD | {"age": "31"}, {"age": 31, "plan": "paid"}),
        {"age": 31, "likes": ["prose"]},
    ]
    code, text = check(SHOP, lines, "--json")
    found = json.loads(text)
    assert code == 1 and found["wrong"] and found["lines"] == 5
    age, plan, likes = (found["fields"][name] for name in ("age", "plan", "likes"))
    assert (age["out_of_bounds"], age["wrong_type"], age["examples"]) == (1, 1, ["131", "'31'"])
    assert (plan["unknown"], plan["missing"], plan["examples"]) == (1, 1, ["'Free'"])
    assert (likes["unknown"], likes["missing"], likes["wrong"]) == (1, 1, True)
    said = {line: one["error"] for one in found["refused"] for line in one["lines"]}
    assert said.keys() == {1, 3, 5} and "did you mean free?" in said[1] and "age" in said[3] and "plan" in said[5]


def test_a_field_that_is_never_there_is_wrong(check):
    """One that is now and then left out is not, unless it is strict."""
    never = [{"age": 31, "plan": "free"}] * 3
    for lines, wrong in ((never, True), ([*never, GOOD], False)):
        code, text = check(SHOP.replace("bins = 4", "bins = 2"), lines, "--json")
        assert json.loads(text)["fields"]["likes"]["wrong"] == wrong == bool(code)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"context": GOOD}, "Expected a person with every choice"),
        ({"context": GOOD, "persn": 17}, "did you mean person?"),
        ({"context": GOOD, "person": 1.5}, "Expected person as in JSON"),
        ({"context": GOOD, "person": 1, "actions": ["reading", "readin"]}, "Expected action 2 of the request to be"),
        ({"context": GOOD | {"age": float("nan")}, "person": 1}, "Expected age in context without NaN"),
        ({"arms": [[1, 0]], "person": 1}, "Expected context, and no arms"),
        ("not JSON", "Expected a JSON object in each line."),
    ],
    ids=str,
)
def test_lines_that_would_be_refused(check, line, said):
    hopeless = SHOP.replace('["delivery", "reading"]', '["delivery", "reading"]\nretired = ["delivery"]')  # no plan
    code, text = check(hopeless, [{"context": GOOD, "person": 1}, line], "--json")
    (refused,) = json.loads(text)["refused"]
    assert code == 1 and refused["lines"] == [2] and said in refused["error"]


def test_fields_of_actions_and_vectors(check):
    offers = {"a": {"genre": "drama"}, "b": {"genre": "noir"}}
    code, text = check(FILMS, [{"context": {"age": 31}, "actions": offers}], "films")
    assert code == 1 and "genre" in text and "'noir'" in text and "Plan: none for this schema" in text
    code, text = check(FILMS, [{"arms": [[1, 0], [0, 1]]}, {"arms": [[3, 0]]}, {"arms": [[1, 0, 0]]}], "vectors")
    assert code == 1 and "norm at most 1" in text and "shape (K, 2)" in text and "--dim 2 --arms 2" in text
    for name, said in ((), "the name of one of the bandits (films, vectors)"), (("film",), "Did you mean films"):
        code, text = check(FILMS, [{}], *name)
        assert code == 1 and said in text
    assert check(FILMS, [""], "films")[0] == 1
