"""What a holdout says, as routes and the dashboard show it: functions of released sums (reticent_serve.trials)."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from reticent.algorithms.trial_sums import TrialSums
from reticent.model.holdout import Holdout
from reticent_serve.service import words
from reticent_serve.service.markup import Child, Markup, tag
from reticent_serve.service.words import Unit, count, counted, percent
from reticent_serve.trials import looks, waits
from reticent_serve.trials.bounds import Interval
from reticent_serve.trials.trial import Trial, course

LEFT, TOP, BOTTOM, HEIGHT = 12.0, 28.0, 236.0, 280  # per cent of the width, and pixels
APART = 15.0  # per cent of the width: two marks that are nearer would touch on a phone
CAPTION = (
    "Bandit minus holdout after so many people, with the interval that holds at every look. It stands until the next."
)
NONE_YET = "Not known yet: the first look comes after {people}."
TOO_EARLY = "Not known: the holdout ended before its first look."
ENDED = "The holdout has ended: this is what it said."


class TrialView(NamedTuple):
    """A trial: its looks so far, what the last of them says, and what it is compared with, in words."""

    looks: list[Trial]
    said: str
    against: str
    holdout: Holdout
    rewards: tuple[float, float]

    @property
    def now(self) -> Trial | None:
        return self.looks[-1] if self.looks else None


def view_of(sums: TrialSums | None, horizon: int | None) -> TrialView | None:
    """None where there is no holdout."""
    if sums is None:
        return None
    found, against, rewards = course(sums, horizon), against_of(sums.holdout), sums.rewards
    if not found:
        if sums.ended is not None:
            return TrialView([], TOO_EARLY, against, sums.holdout, rewards)
        first = counted(math.ceil(looks.FIRST / sums.holdout.share), "person", "people")
        return TrialView([], NONE_YET.format(people=first), against, sums.holdout, rewards)
    now = found[-1]
    width = words.wanted((now.high - now.low) / 2, rewards)
    more = None if now.clear or now.ended else waits.more(sums, now, width, horizon)
    said = words.whole(now, against, rewards, more=more, width=width)
    return TrialView(found, said, against, sums.holdout, rewards)


def against_of(holdout: Holdout) -> str:
    if holdout.action is not None:
        return f"with “{holdout.action}”" if isinstance(holdout.action, str) else f"with arm {holdout.action}"
    return "with arms at random" if holdout.policy == "uniform" else "with your own choice"


def written(view: TrialView | None) -> dict[str, Any] | None:
    """As JSON has it: in status, and in the reply to whoever ends it."""
    if view is None:
        return None
    now = view.now
    if now is None:
        return {"said": view.said, "people": 0}
    found = {name: getattr(now, name) for name in now._fields if name not in ("arms", "noise")}
    means = {name: found[name]._asdict() for name in ("bandit", "holdout_value", "earned")}
    arms = {name: one._asdict() for name, one in now.arms.items()}
    return {"said": view.said, **found, **means, "arms": arms}


def curve(view: TrialView | None) -> dict[str, list[float]] | None:
    """Look by look."""
    if view is None:
        return None
    return {part: [getattr(look, part) for look in view.looks] for part in ("people", "value", "low", "high")}


def section(view: TrialView) -> Markup:
    """Of the dashboard: the sentence, the picture, then arms."""
    parts: list[Child] = [tag("p", view.said, class_="verdict")]
    now = view.now
    if now is not None:
        parts += [tag("p", now.problem, class_="problem", role="alert") if now.problem else None]
        parts += [picture(view), tag("p", CAPTION, class_="note"), means(view, now)]
        parts += [tag("p", ENDED, class_="over") if now.ended else None]
    assumed = [words.ASSUMED[view.holdout.bound], words.GROUPS[view.holdout.assign], words.STOPPED]
    assumed += [BOUNDS] * bool(view.holdout.pairs)
    return tag(
        "section",
        tag("h2", f"Is it better than {view.against.removeprefix('with ')}?"),
        tag("div", *parts, id="trial", data_live=True),
        tag("details", tag("summary", "How sure is that?"), [tag("p", one) for one in (_sure(view), *assumed)]),
    )


BOUNDS = (
    "Of an arm without people of its own no more is known than this: those who got it brought what they brought, the "
    "others anything. Declare min_share to know more."
)


def _sure(view: TrialView) -> str:
    level = percent(view.holdout.level)
    return (
        f"Who is compared with the holdout is drawn by the number of a choice alone. With a probability of {level} the "
        "interval holds the truth at every look, however often you look and whenever you stop. The truth is what "
        "the bandit, as it was then, would have brought to everybody so far, less what the holdout would have. All of "
        "it is computed from sums that were released with noise; the noise is in the interval."
    )


def means(view: TrialView, now: Trial) -> Markup:
    """What each would have brought to everybody, on one scale."""
    holdout = view.against.removeprefix("with ").removeprefix("your ")
    rows = [
        (f"{holdout[0].upper()}{holdout[1:]} (holdout)", now.holdout_value),
        *((f"“{name}”", one) for name, one in now.arms.items()),
        ("The bandit", now.bandit),
    ]
    least, most = min(one.low for _, one in rows), max(one.high for _, one in rows)
    room = max(most - least, 1e-9)
    unit = Unit.of(max(one.high - one.low for _, one in rows), view.rewards)

    def at(value: float) -> str:
        return f"{2 + 96 * (value - least) / room:.1f}%"

    def row(name: str, one: Interval) -> Markup:
        bar = tag("line", x1=at(one.low), x2=at(one.high), y1=8, y2=8), tag("circle", cx=at(one.value), cy=8, r=5)
        return tag(
            "li",
            tag("span", name),
            tag("svg", bar, height=16, aria_hidden="true"),
            tag("span", words.mean(one, unit), class_="share"),
            class_="likely" if one is now.bandit else None,
        )

    everybody = f"Everybody so far, in all groups: {words.mean(now.earned, Unit.of(now.earned.width, view.rewards))}."
    return tag("div", tag("ul", [row(*each) for each in rows], class_="three"), tag("p", everybody, class_="note"))


def picture(view: TrialView) -> Markup:
    """The estimate and its band over people, as steps, and the moment since when it is clear."""
    found, now = view.looks, view.looks[-1]
    unit = Unit.of(now.high - now.low, view.rewards)
    low, high, step = _range(found, unit)
    ends = [look.people for look in found] + [1.12 * now.people]
    first, last = math.log(ends[0]), math.log(ends[-1])

    def x(people: float) -> float:
        return LEFT + (100 - LEFT) * (math.log(people) - first) / (last - first)

    def y(value: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * (min(max(value * unit.people, low), high) - low) / (high - low)

    parts: list[Child] = []
    for nth in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1):
        at = BOTTOM - (BOTTOM - TOP) * (nth * step - low) / (high - low)
        kind = "zero" if nth == 0 else "grid"
        parts.append(tag("line", x1=f"{LEFT}%", x2="100%", y1=f"{at:.1f}", y2=f"{at:.1f}", class_=kind))
        parts.append(tag("text", _sign(nth * step), x=f"{LEFT - 1}%", y=f"{at + 4:.1f}", text_anchor="end"))
    before = -APART
    for people in _marks(ends[0], ends[-1]):
        anchor = "middle" if x(people) < 92 else "end"
        if x(people) - before < APART * (1 if anchor == "middle" else 1.6):
            continue
        before = x(people)
        parts.append(tag("text", count(people), x=f"{x(people):.2f}%", y=BOTTOM + 18, text_anchor=anchor))
    for i, look in enumerate(found):
        left, wide = x(ends[i]), x(ends[i + 1]) - x(ends[i])
        top, tall = y(look.high), y(look.low) - y(look.high)
        parts.append(
            tag("rect", x=f"{left:.2f}%", width=f"{wide:.2f}%", y=f"{top:.1f}", height=f"{tall:.1f}", class_="band")
        )
        here, mid = f"{left:.2f}%", f"{y(look.value):.1f}"
        if i:
            parts.append(tag("line", x1=here, x2=here, y1=f"{y(found[i - 1].value):.1f}", y2=mid, class_="value"))
        parts.append(tag("line", x1=here, x2=f"{left + wide:.2f}%", y1=mid, y2=mid, class_="value"))
    if now.since is not None:
        parts += _since(now, x(now.since))
    parts.append(tag("text", "people so far", x="100%", y=HEIGHT - 4, text_anchor="end"))
    name = "for a choice" if unit.people == 1 else f"of {count(unit.people)} people"
    parts.append(tag("text", f"bandit minus holdout, {name}", x=0, y=12))
    return tag("svg", parts, class_="plot trial", height=HEIGHT, role="img", aria_label=view.said)


def _since(now: Trial, at: float) -> list[Child]:
    words = f"since person {count(now.since or 0)}"
    place: dict[str, str] = {"x": f"{at + 1:.2f}%"} if at < 60 else {"x": f"{at - 1:.2f}%", "text_anchor": "end"}
    kind = "since" if now.low > 0 else "since worse"
    return [
        tag("line", x1=f"{at:.2f}%", x2=f"{at:.2f}%", y1=TOP, y2=BOTTOM, class_=kind),
        tag("text", words, y=TOP + 14, class_=kind, **place),
    ]


def _range(found: Sequence[Trial], unit: Unit) -> tuple[float, float, float]:
    """The scale: 0, estimates of all looks but early ones, the last interval and some room. Wider bands are cut."""
    later = found[len(found) // 3 :]
    now = later[-1]
    ends = [0.0, now.low, now.high, *(look.value for look in later)]
    least, most = min(ends), max(ends)
    room = 0.25 * (most - least)
    wide = min(look.low for look in found), max(look.high for look in found)
    low, high = (unit.people * one for one in (max(least - room, wide[0]), min(most + room, wide[1])))
    low, high = min(low, 0.0), max(high, 0.0)
    rough = max(high - low, 1e-9) / 5
    size = 10.0 ** math.floor(math.log10(rough))
    return low, high, next(size * k for k in (1, 2, 5, 10) if size * k >= 0.99 * rough)


def _marks(first: float, last: float) -> list[int]:
    """1, 2, 5, 10, ... people, within."""
    found = [k * 10**power for power in range(2, 13) for k in (1, 2, 5)]
    return [n for n in found if first <= n <= last] or [round(first)]


def _sign(number: float) -> str:
    text = f"{abs(number):g}"
    return f"+{text}" if number > 0 else f"\u2212{text}" if number < 0 else "0"
