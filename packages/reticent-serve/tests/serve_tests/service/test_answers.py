"""What the dashboard of a bandit by fields answers first, its charts, and the same as JSON."""

import re

import numpy as np
import pytest

from reticent.models.segments import FieldSegment, Likely, Segments
from reticent_serve.service import answers, charts, demo
from reticent_serve.service.words import SPACE, Scale, listed, spelt
from serve_tests.service.servers import application, askers, bearer, call, each_reply, page_of, reply, statuses, stored
from serve_tests.store.places import settle

BAD = "<script>alert(1)</script>"
NAMES = ("mail", "call", BAD)
SCALE = Scale.of((0.0, 1.0), 0.3)


def by_fields(**options):
    """Settings of a bandit whose noise is small."""
    fields = {
        "plan": {"kind": "Category", "values": ["free", BAD]},
        "age": {"kind": "Number", "low": 0, "high": 80, "bins": 3},
    }
    schema = {"context": fields, "arms": "disjoint", "actions": list(NAMES)}
    common = {"horizon": None, "features": schema, "reward": {"default": 0.0}}
    return common | {"budget": {"epsilon": 60.0, "delta": 1e-5}} | options


@pytest.fixture
def app(tmp_path):
    return application(tmp_path, **by_fields())


def play(app, count, rng):
    """Who is free wants mail, the others a call."""
    asks = [{"plan": ["free", BAD][int(rng.random() < 0.4)], "age": float(rng.uniform(0, 80))} for _ in range(count)]
    for ask, choice in zip(asks, each_reply(app, "choose:batch", *({"context": ask} for ask in asks)), strict=True):
        if choice["name"] == ("mail" if ask["plan"] == "free" else "call") and rng.random() < 0.9:
            call(app, ("reward", {"id": choice["id"], "reward": 1.0}))
    settle(stored(app))


def test_the_page_answers_in_fields_and_actions(app):
    before = page_of(app)
    assert "Not known yet. Nothing has been released so far. People get random arms until" in before
    assert "from two fields of a person and three actions" in before
    assert reply(app, "segments") == {"bandit": "messages", "version": 0, "segments": None}
    rng = np.random.default_rng(0)
    for _ in range(6):
        play(app, 60, rng)
    after = page_of(app)
    for text in ("Is it better?", "For whom?", "How sure is that?", "How long still?", "Which action, by field"):
        assert text in after
    assert after.index("Is it better?") < after.index("Choices so far") < after.index("Which action, by field")
    assert "Clearly not 0" not in after and 'id="plot"' not in after  # no weights
    assert after.count("<script") == 2 and after.count("&lt;script&gt;") > 5
    assert not re.search(r"\sstyle=|\son[a-z]+=", after) and "nan" not in after.lower()
    found = reply(app, "segments")["segments"]
    assert found["actions"] == list(NAMES) and found["best"] in NAMES and found["level"] == 0.9
    assert Scale.of((0, 1), found["random"]["value"]).likely(*found["chosen"].values()) in after
    plan = next(one for one in found["fields"] if one["name"] == "plan")
    assert [one["value"] for one in plan["values"]] == ["free", BAD, "other"]
    assert [one["best"] for one in plan["values"][:2]] == ["mail", "call"]
    assert abs(plan["values"][1]["share"] - 0.4) < 0.15 and set(plan["values"][0]["rewards"]) == set(NAMES)


def test_an_auditor_sees_none_of_it(tmp_path):
    found = application(tmp_path, askers=askers(), **by_fields())
    assert "Is it better?" not in page_of(found, *bearer("auditor"))
    assert statuses(found, *(("segments", None, bearer(role)) for role in ("auditor", "operator"))) == [403, 200]


def test_a_bandit_that_is_not_by_fields_keeps_its_weights(tmp_path):
    found = application(tmp_path, **by_fields(model="curvature", reward={"base_rate": None, "default": 0.0}))
    body = page_of(found)
    assert "Is it learning?" in body and "Is it better?" not in body and "two fields of a person" in body
    assert reply(found, "segments")["segments"] is None


# sentences: of estimates that are given


def likely(value, half):
    return Likely(value, value - half, value + half)


def segment(mean, half=0.05, ordered=False, shares=(0.6, 0.39, 0.01), error=0.001):
    mean = np.array(mean)
    best = mean.argmax(axis=1)
    beyond = tuple(likely(float(row[b] - row[0]), 2 * half) for row, b in zip(mean, best, strict=True))
    labels = ("low", "a rather long value", "none")
    adds = likely(0.04, 0.02)
    return FieldSegment(
        "taste", ordered, labels, np.array(shares), error, mean, mean - half, mean + half, best, beyond, adds
    )


def segments(*fields, adds=0.05, gains=0.08):
    values = [likely(0.37, 0.04), likely(0.28, 0.04), likely(0.31, 0.04), likely(adds, 0.03), likely(gains, 0.03)]
    return Segments(0.9, (0, 1, 2), 0, *values, fields)


def card(one):
    """The only one of a page."""
    return str(charts.section(segments(one), NAMES, (0.0, 1.0)))


CLEAR = segment([[0.3, 0.2, 0.1], [0.3, 0.5, 0.1], [0.3, 0.9, 0.1]])
UNCLEAR = segment([[0.3, 0.2, 0.1], [0.3, 0.36, 0.1], [0.3, 0.2, 0.1]])
SAME = segment([[0.3, 0.2, 0.1]] * 3)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            segments(),
            "Yes. In its own estimate, choosing for each person brings 5 points (2 to 8) more than “mail” for",
        ),
        (segments(adds=0.01), "Better than random actions: yes, by 8 points"),
        (segments(adds=0.01), "Better than “mail” for everybody: not clear yet, by 1 point ("),
        (segments(adds=-0.2, gains=0.02), "Not clear yet: by 2 points"),
    ],
)
def test_the_verdict_is_yes_only_where_the_interval_says_so(said, words):
    assert words in "".join(map(str, answers.better(said, NAMES, SCALE))).replace("\u00a0", " ")


def test_for_whom_it_differs_is_said_where_it_is_clear():
    told = answers.whom(segments(CLEAR), NAMES, SCALE)
    assert told.startswith(
        f"Clearly another action than “mail” for taste a rather long value: “call” (50{SPACE}% instead"
    )
    told = answers.whom(segments(UNCLEAR), NAMES, SCALE)
    assert told.startswith("For no value of a field clearly yet. It leans most to taste a rather long value: “call”")
    assert answers.whom(segments(SAME), NAMES, SCALE).startswith("For nobody: “mail” looks best")
    assert answers.whom(segments(), NAMES, SCALE).startswith("For nobody")


def test_how_long_it_takes_is_said_by_choices_or_by_time():
    status = {"next_release_after": 120, "choices": 100, "due_at": None}
    assert "from 120 choices, comes after 20 more choices." in answers.how_long(status, False)
    assert "at about 2027-01-15 08:00 UTC" in answers.how_long(status | {"due_at": 1_800_000_000.0}, False)
    assert answers.how_long(status, True).startswith("No further release")


def test_a_chart_leaves_out_what_hardly_anybody_has_and_its_table_does_not():
    found = card(CLEAR)
    plot, table = re.search("<svg class=.plot.*?</svg><p", found).group(), re.search("<table.*</table>", found).group()
    assert plot.count("<title>") == 2 and BAD not in found  # mail and call lead
    assert plot.count('class="mark a0"') == 2 and "none" in table and "none" not in plot
    assert 'role="img"' in plot and 'aria-label="taste: Looks best: mail for low; call for a rather' in plot
    assert f"<td>60{SPACE}%</td>" in table and "call, clearly" in table
    rough = card(segment(CLEAR.mean, error=0.2))
    assert "<td>not known yet</td>" in rough and f"<td>60{SPACE}%</td>" not in rough
    assert "leans to: mail for low; call for a" in card(UNCLEAR)
    same = card(SAME)
    assert "mail looks best for all of its values" in same and same.count("<title>") == 2  # beside the second best


def test_a_line_goes_through_the_values_of_a_number_and_not_to_none():
    ordered = segment(CLEAR.mean, ordered=True, shares=(0.4, 0.3, 0.3))
    drawn = [len(re.findall(r'<line x1="[\d.]+%" y1', card(one))) for one in (ordered, CLEAR)]
    assert drawn == [2, 0]  # one for each action, and none between kinds


@pytest.mark.parametrize("half", [0.0, 1e-6, 0.3, 5.0])
def test_any_interval_can_be_drawn(half):
    for one in (segment(CLEAR.mean, half=half), segment(np.zeros((3, 3)), half=half)):
        found = card(one)
        heights = [float(y) for y in re.findall(r'y\d?="([\d.-]+)"', re.search("<svg class=.plot.*", found).group())]
        assert all(0 <= y <= charts.HEIGHT for y in heights)


def test_rewards_as_people_read_them():
    assert (
        Scale.of((0.0, 1.0), 0.02).likely(0.0213, 0.018, 0.0249).replace("\u00a0", " ") == f"2.1{SPACE}% (1.8 to 2.5)"
    )
    assert Scale.of((0.0, 5.0), 0.02).likely(2.5, 1, 3).replace("\u00a0", " ") == "2.50 (1.00 to 3.00)"
    assert SCALE.apart(-0.0049, -0.01, 0.01).startswith("0 points (\u22121")
    assert (spelt(1, "field"), spelt(6, "action"), spelt(13, "field")) == ("one field", "six actions", "13 fields")
    assert (listed(["a"]), listed(["a", "b", "c"])) == ("a", "a, b and c")


def test_made_up_people_of_the_demonstration_fit_its_schema():
    """They have tastes: the best message for each of them is clicked by half as many again as the best single one."""
    rng = np.random.default_rng(0)
    people = [demo.person(rng) for _ in range(2000)]
    demo.FEATURES.batch(people[:50], placed=True)
    chances = np.array([[demo.chance(who, message) for message in demo.MESSAGES] for who in people])
    assert chances.max(axis=1).mean() > 1.4 * chances.mean(axis=0).max() and 0.25 < chances.mean() < 0.4
