"""The dashboard's pages, as HTML. All that they show are functions of released and public quantities."""

import itertools
from typing import Any, NamedTuple

from reticent import durations
from reticent.privacy.certificate import Certificate
from reticent_serve.holders.certificate import Offers
from reticent_serve.service import answers, charts, promise, trial
from reticent_serve.service.config import KINDS, BanditSetting
from reticent_serve.service.history import Summary
from reticent_serve.service.markup import Child, Markup, document, tag
from reticent_serve.service.trial import TrialView
from reticent_serve.service.words import ago, between, count, counted, date, listed, percent, signed, span, spelt

FAR = 10**9  # choices: an end that is further away is not worth a word
MOST_EVENTS = 20
NOT_SHOWN = (
    "How often each arm was offered, how many rewards came and how many choices still wait for one are not shown here: "
    "they follow from single people's data, and are released in no other form than estimates with noise."
)
CAPTION = "Weights after each release. Shaded: their intervals, once they are narrower than at first."
PLOT = "Weights after each release; the table below has the latest."
ENDED = {  # pill -> what there is to know about it
    "Retired": "This bandit was retired: it makes no more choices and learns nothing more. What it was stays here.",
    "Used up": (
        "All choices that its noise was made for have been made: requests are answered 410. Put a new bandit, under "
        "another name, in its place."
    ),
}
READING = (
    "Each feature has a weight: above 0, arms with more of it are expected to be rewarded more, below 0 less. All of "
    "this is computed from sums that were released with noise: how much it can tell about any one person is promised "
    "below. An interval holds the true weight with a probability of about {level}; this was measured in simulations, "
    "not proven. Where an interval does not hold 0, the feature clearly matters."
)
LOST = "The server does not answer. What you see is old; trying again."


class Look(NamedTuple):
    """What there is to see of a bandit, for somebody at that time. learnt: for operators alone. trial: where there is a
    holdout. status and certificate are missing where the database is away."""

    name: str
    setting: BanditSetting
    now: float
    status: dict[str, Any] | None = None
    certificate: Certificate | None = None
    learnt: Summary | None = None
    problem: str | None = None
    trial: TrialView | None = None

    @property
    def ended(self) -> str | None:
        """The pill of a bandit that makes no more choices."""
        if self.status is None:
            return None
        return "Retired" if self.status["retired"] else "Used up" if self.status["choices_left"] == 0 else None

    @property
    def over(self) -> bool:
        """Whether no release comes any more: of a bandit that is used up, one may, when its choices count."""
        if self.status is None or self.ended is None:
            return False
        return bool(self.status["retired"] or self.status["choices"] < self.status["next_release_after"])


def bandit(look: Look, several: bool, logout: bool) -> str:
    parts: list[Child] = [_trouble(look)]
    if look.status is not None and look.certificate is not None:
        learnt, tiles = look.learnt, _tiles(look, look.status)
        parts.append(None if look.trial is None else trial.section(look.trial))
        if learnt is None:
            parts.append(tiles)
        elif learnt.by_fields:
            said, rewards = learnt.segments, look.setting.range
            by_field = charts.section(said, learnt.actions, rewards) if said else None
            parts += [answers.section(learnt, look.status, rewards, look.over), tiles, by_field]
            parts.append(_profiles(look))
        else:
            parts += [tiles, _learning(look, learnt, look.status), _profiles(look)]
        parts += [_actions(look.status["actions"])]
        parts += [promise.section(look.certificate), events(look.status["events"])]
    setting = look.setting
    learns = "Learns" if look.ended is None else "Learnt"
    about = f"{learns} what to offer, from {_source(setting)} · {KINDS[setting.kind]}"
    return _page(look.name, _header(look.name, about, look, several, logout), parts)


def _source(setting: BanditSetting) -> str:
    """What choices are made by, in words."""
    schema = setting.schema
    if schema is None:
        return f"{counted(setting.dim, 'feature')} of each offer"
    action = spelt(len(schema.action), "field") + " of an action" if schema.action else ""
    named = spelt(len(schema.offered), "action") if schema.actions else ""
    return listed([f"{spelt(len(schema.context), 'field')} of a person", *filter(None, (action, named))])


def overview(looks: list[Look], logout: bool) -> str:
    cards = [
        tag(
            "a",
            tag("h2", look.name),
            _health(look),
            tag("p", _in_short(look)),
            class_="card",
            href=f"/dashboard/{look.name}",
        )
        for look in looks
    ]
    head = _header("Bandits", counted(len(looks), "bandit") + " on this server", None, False, logout)
    return _page("Bandits", head, [tag("div", cards, class_="cards", id="overview", data_live=True)])


def login() -> str:
    form = tag(
        "form",
        tag("h1", "reticent"),
        tag("p", "An operator's or an auditor's key opens the dashboard. It stays open for some hours."),
        tag("label", "Key", tag("input", type="password", name_="key", autocomplete="current-password", required=True)),
        tag("button", "Log in", type="submit"),
        tag("p", id="wrong", role="alert"),
        id="login",
        method="post",
        action="/login",
        class_="card",
    )
    return document("reticent: log in", tag("main", form, class_="narrow"))


def refused(text: str) -> str:
    back = tag("p", tag("a", "To the dashboard", href="/dashboard"))
    return document("reticent", tag("main", tag("div", tag("h1", "Not here"), tag("p", text), back, class_="card")))


# parts of a page


def _page(title: str, header: Markup, parts: list[Child]) -> str:
    lost = tag("p", LOST, id="lost", hidden=True, role="alert")
    foot = tag("footer", tag("p", NOT_SHOWN), tag("p", "reticent: bandits under differential privacy"))
    return document(f"{title} · reticent", header, tag("main", lost, parts), foot)


def _header(title: str, about: str, look: Look | None, several: bool, logout: bool) -> Markup:
    links = [tag("a", "All bandits", href="/dashboard") if several else None]
    links.append(tag("button", "Log out", id="logout", type="button") if logout else None)
    return tag(
        "header",
        tag("div", tag("h1", title), _health(look) if look else None, class_="title"),
        tag("p", about, class_="about"),
        tag("nav", links),
    )


def _health(look: Look) -> Markup:
    """A word, not a colour alone."""
    words, kind = ("Healthy", "good") if look.ended is None else (look.ended, "over")
    if look.problem is not None:
        words, kind = "Needs attention", "bad"
    return tag("span", words, class_=f"pill {kind}", id=f"health-{look.name}", data_live=True)


def _trouble(look: Look) -> Markup:
    text = None if look.problem is None else tag("p", look.problem, class_="problem", role="alert")
    end = None if look.ended is None else tag("p", ENDED[look.ended], class_="over")
    return tag("div", text, end, id="trouble", data_live=True)


def _in_short(look: Look) -> str:
    if look.status is None:
        return "Nothing can be read at the moment."
    released = f"{counted(look.status['choices'], 'choice')}, {counted(look.status['version'], 'release')}"
    return released if look.status["version"] == 0 else f"{released}, {_last(look.status, look.now)}"


def _last(status: dict[str, Any], now: float) -> str:
    return "none yet" if status["released_at"] is None else f"the last one {ago(now - status['released_at'])}"


def _tiles(look: Look, status: dict[str, Any]) -> Markup:
    choices, version, privacy = status["choices"], status["version"], status["privacy"]
    spent, epsilon = privacy["spent"] or 0.0, privacy["epsilon"]
    most = f"of at most {epsilon or 0.0:.2g}, however long it runs"
    room, last = f"{count(status['entered'])} counted so far", status["choices_left"]
    if last is not None and last <= FAR:
        room += f"; {count(last)} more until it is used up"
    return tag(
        "div",
        tile("Choices so far" + since(status), count(choices), room),
        tile("Releases" + since(status), count(version), _last(status, look.now), id_="releases"),
        _upcoming(look, status),
        tile("Privacy spent", f"ε {spent:.2g}", most, spent, epsilon) if epsilon else None,
        class_="tiles",
        id="tiles",
        data_live=True,
        data_version=version,
        data_history=None if look.learnt is None else f"/v1/bandits/{status['bandit']}/history",
    )


def _upcoming(look: Look, status: dict[str, Any]) -> Markup:
    """The next release: the choices that it needs have to be made, and to count, which they do by time."""
    start, end, entered = status["last_release_after"], status["next_release_after"], status["entered"]
    if look.over:
        return tile("Next release", "none", (look.ended or "").lower())
    left = end - status["choices"]
    due = f"in {counted(left, 'choice')}"
    if status["due_at"] is not None:
        due = f"in {span(max(0.0, status['due_at'] - look.now), '.0f')}"
    done = min(max(0, entered - start), end - start)
    return tile("Next release", due if entered < end else "now", _when(status), done, end - start)


def _when(status: dict[str, Any]) -> str:
    return f"a choice counts {durations.words(status['window'])} after it was made"


def tile(
    title: str, value: str, below: str, done: float | None = None, most: float | None = None, *, id_: str | None = None
) -> Markup:
    bar = None if done is None else tag("progress", value=f"{done:g}", max=f"{most:g}", aria_label=title)
    return tag("div", tag("h2", title), tag("p", value, class_="value", id=id_), bar, tag("p", below), class_="tile")


def since(status: dict[str, Any]) -> str:
    """Counts begin anew with a restore."""
    return " since the restore" if status["predecessors"] else ""


def _learning(look: Look, learnt: Summary, status: dict[str, Any]) -> Markup:
    rows = [
        tag(
            "tr",
            tag("th", tag("span", class_=f"swatch c{i}"), one.name, scope="row"),
            tag("td", signed(one.estimate)),
            tag("td", between(one.low, one.high)),
            tag("td", "yes" if one.low > 0 or one.high < 0 else "not yet"),
            data_curve=i,
        )
        for i, one in enumerate(learnt.beliefs)
    ]
    titles = ("Feature", "Weight", "Likely between", "Clearly not 0")
    more = f"The {len(rows)} largest of {len(rows) + learnt.left_out} weights are shown." if learnt.left_out else None
    table = tag(
        "table", tag("thead", tag("tr", [tag("th", title, scope="col") for title in titles])), tag("tbody", rows)
    )
    return tag(
        "section",
        tag("h2", "Is it learning?"),
        tag("div", tag("p", _verdict(look, learnt, status), class_="verdict"), id="verdict", data_live=True),
        tag("div", id="plot", role="img", aria_label=PLOT),
        tag("p", CAPTION, id="point", class_="note"),
        tag("div", table, tag("p", more, class_="note") if more else None, id="weights", data_live=True),
        tag("details", tag("summary", "How to read this"), tag("p", READING.format(level=percent(learnt.level)))),
    )


def _verdict(look: Look, learnt: Summary, status: dict[str, Any]) -> str:
    features = len(learnt.beliefs) + learnt.left_out
    if learnt.version == 0:
        if look.over:
            return f"No: nothing has been released{since(status) or ' so far'}."
        return f"Not yet. {status['beginning']}"
    narrower = f"Its intervals are {learnt.precision:.1f} times narrower than before the first release"
    if learnt.precision < 1.05:
        narrower = "Its intervals are still about as wide as before the first release"
    if learnt.clear == 0:
        return f"Not clearly yet. {narrower}, and each of them still holds 0."
    return f"Yes. {narrower}, and {learnt.clear} of {counted(features, 'weight')} {_are(learnt.clear)} clearly not 0."


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _profiles(look: Look) -> Markup | None:
    assert look.learnt is not None
    if not look.learnt.offers:
        return None
    cards = [_profile(name, offers) for name, offers in look.learnt.offers.items()]
    return tag(
        "section",
        tag("h2", "What it would offer now"),
        tag(
            "p",
            "To made-up people that the operator described in the configuration: nobody real is asked, and nothing is "
            "counted. While it still has to try things out, an offer is drawn at random with these probabilities. One "
            "at 100 % is the best guess by now, which may come before anything is clear.",
            class_="note",
        ),
        tag("div", cards, class_="cards", id="profiles", data_live=True),
    )


def _profile(name: str, offers: Offers) -> Markup:
    *numbers, arms = offers
    best = max(range(len(arms)), key=lambda i: float(offers.probability[i]))
    rows = [
        tag(
            "li",
            tag("span", arm, class_="arm"),
            tag("span", percent(share), class_="share"),
            tag("svg", tag("rect", width=f"{100 * share:.1f}%", height="100%", rx="3"), aria_hidden="true"),
            tag("span", f"expected reward {signed(mean)} ({between(low, high)})", class_="note"),
            class_="likely" if i == best else None,
        )
        for i, (arm, share, mean, low, high) in enumerate(zip(arms, *(part.tolist() for part in numbers), strict=True))
    ]
    return tag("div", tag("h3", name), tag("ol", rows, class_="offers"), class_="card")


def _actions(actions: list[dict[str, Any]]) -> Markup | None:
    """What may be offered, where that is for the operator to say."""
    if not actions:
        return None
    rows = [
        tag(
            "tr",
            tag("th", one["name"], scope="row"),
            tag("td", "the start" if one["since"] == 0 else counted(one["since"], "choice")),
            tag("td", "is offered" if one["until"] is None else f"retired after {counted(one['until'], 'choice')}"),
        )
        for one in actions
    ]
    titles = ("Action", "Since", "Now")
    head = tag("thead", tag("tr", [tag("th", title, scope="col") for title in titles]))
    table = tag("table", head, tag("tbody", rows))
    return tag("section", tag("h2", "Actions"), tag("div", table, id="actions", data_live=True))


def events(events: list[dict[str, Any]]) -> Markup:
    """The same one again and again is one line."""
    rows = []
    for what, alike in itertools.groupby(reversed(events), lambda event: event["what"]):
        first, *more = alike
        text = f"{what} ({len(more) + 1} times)" if more else what
        rows.append(tag("li", tag("time", date(first["at"])), tag("span", text)))
    rows = rows[:MOST_EVENTS]
    found = tag("ol", rows, class_="events") if rows else tag("p", "Nothing out of the ordinary has happened.")
    return tag("section", tag("h2", "Events"), tag("div", found, id="events", data_live=True))
