"""A holdout over HTTP: own choices in requests, never a group in an answer, what it says, and its end."""

import numpy as np
import pytest

from reticent.errors import RefusedRequest
from reticent_serve.service import config as configs
from reticent_serve.service import trial
from reticent_serve.service.served import Served
from reticent_serve.trials.bounds import Interval
from serve_tests.service.servers import (
    LINEAR,
    TOML,
    application,
    askers,
    bearer,
    call,
    changed,
    each_reply,
    lines,
    page_of,
    reply,
    statuses,
    stored,
)
from serve_tests.store.places import settle
from serve_tests.trials.test_trial import HELLO, PEOPLE, sums

GLM = {"horizon": None, "budget": {"epsilon": 60.0}, "reward": {"base_rate": None, "default": 0.0}}
NAMES = ["hello", "a <b>", "b"]
ARMS = dict(zip(NAMES, np.eye(3).tolist(), strict=True))
HOLDOUT = {"share": 0.5, "action": "hello"}


def play(app, rounds, **more):
    """Whoever gets another arm than hello says yes."""
    chosen = each_reply(app, "choose:batch", *[{"arms": ARMS, **more}] * rounds)
    call(app, ("reward:batch", lines(*[{"id": one["id"], "reward": float(one["name"] != "hello")} for one in chosen])))
    settle(stored(app))
    return chosen


def test_status_history_and_dashboard_say_what_the_bandit_does(tmp_path):
    app = application(tmp_path, **GLM, holdout=HOLDOUT | {"actions": ["a <b>", "b"]})
    early = "Not known yet: the first look comes after 100 people."
    assert reply(app, "status")["trial"] == {"said": early, "people": 0} and early in page_of(app)
    chosen = [one for _ in range(8) for one in play(app, 80)]
    assert chosen[0].keys() == {"index", "name", "id"}  # no group
    found, curve, now = reply(app, "status")["trial"], reply(app, "history")["trial"], stored(app).trial
    text = page_of(app)
    assert found["value"] == now.value and found["since"] == now.since is not None
    assert now.low > 0.3 and now.holdout == now.people / 2 and now.problem is None
    assert found["arms"]["a <b>"] == now.arms["a <b>"]._asdict() and "noise" not in found
    assert found["said"].startswith("Of 100 people, ") and "more said yes than with “hello” (between" in found["said"]
    assert curve["people"][-1] == now.people and curve["low"][-1] == now.low and len(curve["high"]) > 2
    assert text.index("Is it better than “hello”?") < text.index('class="tiles"') and found["said"] in text
    assert "a &lt;b&gt;" in text and "<b>" not in text and f"since person {now.since}<" in text.replace("\u202f", "")
    assert "no more is known than this" in text and "must not depend on what those just before" in text


def test_own_choices_are_said_in_every_request(tmp_path):
    app = application(tmp_path, **GLM, holdout={"share": 0.5, "policy": "given"})
    error = reply(app, "choose", {"arms": ARMS})["error"]
    assert "own" in error and "hello" not in error
    assert "nobody" not in reply(app, "choose", {"arms": ARMS, "own": "nobody"})["error"]
    assert sum(one["name"] == "b" for one in play(app, 60, own="b")) >= 29
    assert "Is it better than your own choice?" in page_of(app)
    assert stored(app).head.choices == 62  # the refused ones have numbers


@pytest.mark.parametrize(
    "body",
    [
        b'{"arms": [[true]], "request": "r1"}',
        b'{"arms": {"hello": [1, 0, 0]}, "available": ["x"], "request": "r1"}',
        b'{"arms": [[NaN]], "request": "r1"}',
        b'{"arms": {}, "request": "r1"}',
    ],
)
def test_a_bad_request_that_is_sent_again_has_one_number(tmp_path, body):
    """As a good one has: otherwise what is in it would move everybody else's group. So has one with an empty name."""
    app = application(tmp_path, **GLM, holdout=HOLDOUT)
    assert statuses(app, *[("choose", body)] * 3) == [422] * 3 and stored(app).head.choices == 1
    with pytest.raises(RefusedRequest):
        stored(app).choose(ARMS, request="")
    assert stored(app).head.choices == 2


def test_operators_end_it_once(tmp_path):
    app = application(tmp_path, **GLM, holdout=HOLDOUT, askers=askers())
    operator = bearer("operator")
    assert statuses(app, ("end-experiment", {}, bearer("app"))) == [403]
    assert statuses(app, ("end-experiment", {"why": 1}, operator)) == [422]
    assert reply(app, "end-experiment", {}, operator) == {"acknowledged": True}
    ((status, _, text),) = call(app, ("end-experiment", {}, operator))
    assert status == 422 and b"goes on" in text and stored(app).trial_sums.ended is not None


def test_the_command_ends_it(tmp_path, reticent):
    """And leaves all other settings as they are."""
    text = TOML.replace("horizon = 5000\nbudget", 'holdout = {share = 0.5, action = "hello"}\nbudget')
    text = text.replace("base_rate = 0.5", "default = 0.0").replace("delay = 0.0", "delay = 7.0")
    (tmp_path / "serve.toml").write_text(text)
    setting = configs.read(tmp_path / "serve.toml").bandits["messages"]
    Served("messages", setting, 8).close()
    for expected, place, words in ((0, 1, "has ended"), (1, 2, "got one that has ended")):
        told = reticent("end-experiment", tmp_path / "serve.toml", "messages", "--yes")
        assert told[0] == expected and words in told[place]
    served = Served("messages", setting, 8)
    said = [what for _, what in served.stored.events]
    served.close()
    assert any("holdout ended" in what for what in said) and not any("settings changed" in what for what in said)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"share": 0.15, "action": "a"}, "Expected share to be 1 / m"),
        ({"share": 0.1}, "Expected a holdout with either action or policy"),
        ({"share": 0.1, "action": "a", "bound": "sure"}, "Expected bound"),
        ({"share": 0.1, "action": "a", "min_share": 0.03, "actions": ["b"]}, "Expected min_share to be 1 / n"),
    ],
)
def test_what_is_wrong_is_said_before_it_is_served(wrong, words):
    document = {"bandits": {"messages": changed(LINEAR, **GLM, holdout=wrong)}}
    with pytest.raises(ValueError, match=rf"^\[bandits.messages\]: {words}"):
        configs.build(configs.convert(document).bandits["messages"], "messages")


def test_the_picture_of_one_look_and_of_amounts():
    alone = trial.view_of(sums(HELLO, [500], (0.7, 0.5)), None)
    assert trial.picture(alone).count('class="band"') == 1 and "since" not in trial.picture(alone)
    worse = trial.view_of(sums(HELLO, PEOPLE, (0.4, 0.5), rewards=(0.0, 20.0)), None)
    drawn = trial.picture(worse)
    assert "since worse" in drawn and "for a choice" in drawn and drawn.count('class="band"') == 6
    assert worse.now.earned == Interval(*worse.now.earned) and trial.written(None) is trial.curve(None) is None
    assert "The holdout has ended" in trial.section(trial.view_of(sums(HELLO, PEOPLE, (0.7, 0.5), ended=9000), None))
    assert trial.view_of(sums(HELLO, [300], (0.7, 0.5), ended=400), None).said == trial.TOO_EARLY
