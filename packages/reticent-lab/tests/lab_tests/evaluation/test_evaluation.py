"""Off-policy estimates: right on average, intervals that cover, and the same as a slow derivation.

False alarms: LOGS simulated logs; means are compared at 4.5 standard errors and coverage at 4.5 binomial ones, 7e-6 a
comparison with normal tails, six comparisons; seeds are fixed."""

import json
import math

import numpy as np
import polars as pl
import pytest

from core_tests.made import joint
from lab_tests.commands import run
from reticent import Budget, Category, Number, Schema, Simulated
from reticent_lab import evaluation, logs
from reticent_lab.evaluation import evaluate

LOGS, ROUNDS = 600, 300
CONTEXTS = np.array([[0.9, 0.1], [0.2, 0.8], [-0.6, 0.5]])
MEANS = np.array([[0.8, 0.3, 0.5], [0.2, 0.7, 0.4], [0.6, 0.5, 0.1]])  # of each context and action
LOGGING = np.array([[0.2, 0.5, 0.3], [0.6, 0.2, 0.2], [0.3, 0.3, 0.4]])
TARGET = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.5, 0.4, 0.1]])
TRUTH = float((TARGET * MEANS).sum(axis=1).mean())


def simulated(rng, rounds=ROUNDS):
    """A log, and what the target would do in each of its rounds."""
    who = rng.integers(len(CONTEXTS), size=rounds)
    action = (rng.random(rounds)[:, None] > LOGGING[who].cumsum(axis=1)).sum(axis=1)
    reward = (rng.random(rounds) < MEANS[who, action]).astype(float)
    log = {"action": action, "reward": reward, "propensity": LOGGING[who, action]}
    log |= {f"x{i}": CONTEXTS[who, i] for i in range(2)}
    return log, TARGET[who]


def test_unbiased_and_covering():
    rng, estimates = np.random.default_rng(1), {}
    for _ in range(LOGS):
        for estimate in evaluate(*simulated(rng)):
            estimates.setdefault(estimate.name, []).append(estimate)
    wrong = {}
    for name, found in estimates.items():
        values, errors = np.array([(e.value, e.error) for e in found]).T
        off = abs(values.mean() - TRUTH) / (values.std() / math.sqrt(LOGS))
        cover = np.mean(abs(values - TRUTH) <= 1.96 * errors)
        wrong[name] = off > 4.5 or abs(cover - 0.95) > 4.5 * math.sqrt(0.95 * 0.05 / LOGS)
    assert wrong == {"log": True, "ips": False, "snips": False, "dr": False}  # without weights it is another policy's
    spread = {name: np.std([e.value for e in found]) for name, found in estimates.items()}
    assert max(spread["dr"], spread["snips"]) < spread["ips"]


def test_beside_sums_that_are_written_out():
    log, target = simulated(np.random.default_rng(2), 40)
    guess = np.random.default_rng(3).random((40, 3))
    weights, ips, dr = [], [], []
    for i in range(40):
        a, y = int(log["action"][i]), float(log["reward"][i])
        w = target[i][a] / log["propensity"][i]
        weights.append(w)
        ips.append(w * y)
        dr.append(sum(target[i][b] * guess[i][b] for b in range(3)) + w * (y - guess[i][a]))
    expected = {"ips": sum(ips) / 40, "snips": sum(ips) / sum(weights), "dr": sum(dr) / 40}
    leave_out = [(sum(ips) - ips[i]) / (sum(weights) - weights[i]) for i in range(40)]
    found = {e.name: e for e in evaluate(log, target, predictions=guess)}
    for name, value in expected.items():
        assert found[name].value == pytest.approx(value, rel=1e-12)
        assert found[name].rounds == pytest.approx(sum(weights) ** 2 / sum(w * w for w in weights))
    variance = sum((v - expected["ips"]) ** 2 for v in ips) / 39
    assert found["ips"].error == pytest.approx(math.sqrt(variance / 40))
    jackknife = math.sqrt(39 / 40 * sum((v - sum(leave_out) / 40) ** 2 for v in leave_out))
    assert found["snips"].error == pytest.approx(jackknife, rel=0.1)


def test_predictions_have_not_seen_their_own_reward():
    """Another reward in one round changes the predictions of other folds only: dr moves by its own w / n and by what
    the regressions of the others learn, so a prediction that had seen it would show."""
    log, _ = simulated(np.random.default_rng(4), 50)
    before = evaluation._predicted(logs.rounds(log))
    log["reward"] = np.where(np.arange(50) == 7, 1 - log["reward"], log["reward"])
    changed = abs(evaluation._predicted(logs.rounds(log)) - before).max(axis=1) > 1e-9
    assert (changed == (np.arange(50) % evaluation.FOLDS != 7 % evaluation.FOLDS)).all()


def test_tables_of_all_kinds_names_and_a_bandit():
    log, target = simulated(np.random.default_rng(5), 60)
    found = evaluate(log, target)
    assert evaluate(pl.DataFrame(log), target) == found
    named = log | {"action": ["abc"[a] for a in log["action"]]}
    assert evaluate(named, target) == found and evaluate(named, target[:, ::-1], actions="cba")[2] == found[2]
    taken = target[np.arange(60), log["action"]]
    assert evaluate(log, taken) == found[:3]
    bandit = joint(features=6, budget=Budget(1.0, 1e-6), source=Simulated(1))
    assert evaluate(log, bandit) == evaluate(log, np.full((60, 3), 1 / 3))  # nothing learnt yet: random arms


@pytest.mark.parametrize(("change", "message"), [
    ({"propensity": None}, "Expected the column propensity"),
    ({"propensity": [0.0, 0.5]}, "Expected propensities in (0, 1]"),
    ({"reward": [math.nan, 0.0]}, "Expected finite numbers in the column reward"),
    ({"action": [0.5, 1.0]}, "Expected actions"), ({"action": [-1, 1]}, "Expected actions"),
    ({"action": None}, "Expected the columns action and reward"),
])  # fmt: skip
def test_bad_tables(change, message):
    log = {"action": [0, 1], "reward": [1.0, 0.0], "propensity": [0.5, 0.5]} | change
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        evaluate({key: value for key, value in log.items() if value is not None}, [[0.5, 0.5]] * 2)
    with pytest.raises(ValueError, match="sum to 1"):
        evaluate({"action": [0, 1], "reward": [1.0, 0.0], "propensity": [0.5, 0.5]}, [[0.5, 0.6]] * 2)


def test_the_command(tmp_path, monkeypatch, capsys):
    log, target = simulated(np.random.default_rng(6), 200)
    frame = pl.DataFrame(log | {f"p{i}": target[:, i] for i in range(3)})
    frame.write_csv(tmp_path / "log.csv")
    joint(features=6, budget=Budget(1.0, 1e-6), source=Simulated(1)).save(tmp_path / "bandit.json")
    monkeypatch.chdir(tmp_path)
    targets = ["--target", "columns:p", "--target", "always:1", "--target", "bandit.json"]
    for more, code in (([], 0), (["--json"], 0), (["--target", "nothing"], 1)):
        found, out, told = run(capsys, monkeypatch, "evaluate", "log.csv", *targets, *more)
        assert found == code
        if more == ["--json"]:
            document = json.loads(out)
            assert document["raw"] is True and len(document["rows"]) == 10
            dr = next(r for r in document["rows"] if r["target"] == "columns:p" and r["name"] == "dr")
            assert dr["value"] == pytest.approx(evaluate(log, target)[3].value)
        elif code == 0:
            assert out.startswith("RAW") and max(map(len, out.splitlines())) <= 100
        else:
            assert "Expected uniform, always:ACTION" in " ".join(told.split()) and not out


PERSON = {"age": Number(0, 100, 3), "plan": Category("free", "paid")}
OFFERS = {"tea": {"price": 1.0}, "cake": {"price": 4.0}, "pie": {"price": 6.0}}
PRICED = {"price": Number(0.0, 9.0)}


def log_of_fields(seed):
    rng = np.random.default_rng(seed)
    return {
        "age": rng.uniform(0, 90, 300), "plan": rng.choice(["free", "paid"], 300),
        "action": rng.choice(list(OFFERS), 300), "reward": rng.integers(2, size=300) * 1.0,
        "propensity": np.full(300, 1 / 3),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "offered"),
    [
        (Schema(context=PERSON, arms="disjoint", actions=tuple(OFFERS)), None),
        (Schema(context=PERSON, action=PRICED, cross=[("age", "price")]), OFFERS),
    ],
    ids=lambda one: getattr(one, "arms", ""),
)
def test_a_log_of_fields_is_evaluated_as_the_bandit_chooses(schema, offered):
    """The chances by which a bandit is judged are the propensities that it states to the same people."""
    table = log_of_fields(7)
    bandit = joint(features=schema, budget=Budget(20.0, 1e-2), source=Simulated(1), policy=np.random.default_rng(1))
    assert bandit.learn_log(table, actions=offered) == {}
    rounds = logs.rounds(table, actions=offered, features=schema)
    for i in range(20):
        choice = bandit.choose({name: table[name][i] for name in PERSON}, actions=offered)  # and perhaps a release
        chance = evaluation.probabilities(bandit, rounds._replace(arms=rounds.arms[i : i + 1]))[0, choice.index]
        assert chance == pytest.approx(choice.propensity, abs=1e-6)
    chances = evaluation.probabilities(bandit, rounds)
    assert len({tuple(row) for row in chances.round(6)}) > 100
    found = evaluate(table, bandit, actions=offered)
    assert found == evaluate(table, chances, actions=offered, features=schema)
    assert [one.name for one in found] == ["log", "ips", "snips", "dr"]
    with pytest.raises(ValueError, match="none named plan"):
        evaluate({name: column for name, column in table.items() if name != "plan"}, bandit, actions=offered)


def test_arms_that_are_not_of_one_action_are_refused():
    schema = Schema(context=PERSON, arms="disjoint", actions=tuple(OFFERS))
    bandit, log = (
        joint(features=schema, budget=Budget(1.0, 1e-6), source=Simulated(1)),
        simulated(np.random.default_rng(8), 40)[0],
    )
    arms = np.full((40, len(OFFERS), schema.dim), 0.01)
    with pytest.raises(ValueError, match="one block each"):
        evaluation.probabilities(bandit, logs.rounds(log)._replace(arms=arms))


def test_the_command_reads_fields_by_the_schema_of_a_saved_bandit(tmp_path, monkeypatch, capsys):
    table = pl.DataFrame(log_of_fields(9))
    (tmp_path / "log").mkdir()
    for i, part in enumerate((table[:100], table[100:])):
        part.write_parquet(tmp_path / "log" / f"{i}.parquet")
    schema = Schema(context=PERSON, arms="disjoint", actions=tuple(OFFERS))
    bandit = joint(features=schema, budget=Budget(1.0, 1e-6), source=Simulated(1))
    bandit.save(tmp_path / "bandit.json")
    monkeypatch.chdir(tmp_path)
    targets = ["--target", "bandit.json", "--target", "uniform", "--target", "always:pie", "--json"]
    code, out, _ = run(capsys, monkeypatch, "evaluate", "log", *targets)
    assert code == 0
    rows = {(row["target"], row["name"]): row["value"] for row in json.loads(out)["rows"]}
    expected = {one.name: one.value for one in evaluate(tmp_path / "log", bandit)}
    assert rows["bandit.json", "dr"] == pytest.approx(expected["dr"])
    assert rows["uniform", "dr"] == pytest.approx(expected["dr"])  # nothing is learnt yet: random messages
    assert ("always:pie", "snips") in rows
