"""What is earned, as routes and the dashboard show it: functions of released sums (tacit.bandits.joint.earnings)."""

from collections.abc import Sequence
from typing import Any

from tacit.bandits.joint.earnings import LEVEL, Earned, Earning
from tacit.service.markup import Markup, tag
from tacit.service.words import between, percent, signed

CAPTION = "The average reward after each release. Shaded: its interval."
PLOT = "The average reward after each release; the sentence above has the latest."
READING = (
    "The average is over choices that were answered. An arm's number is what would have been earned had everybody been "
    "offered it, estimated from those who were: each counts the more, the less likely that offer was, up to a weight "
    "of {clip:g}. People who had less than a chance of {least} of an arm count less for it than they should; “speaks "
    "for” says how much of all choices is left, and for the others the number says nothing. Recent choices count more "
    "than old ones, as in all that is learnt. An interval holds the truth with a probability of about {level}, noise "
    "and chance included, each by itself. All of this is computed from sums that were released with noise, for which "
    "{share} of the privacy budget (of its mu²) is set aside."
)


def written(found: Earned | None) -> dict[str, Any] | None:
    """As JSON has it; None where nothing has been released, or is not to be."""
    if found is None:
        return None
    arms = [{"name": arm.name, **_numbers(arm), "covered": arm.covered} for arm in found.arms]
    return {"level": LEVEL, "average": _numbers(found.average), "arms": arms}


def section(found: Earned | None, rewards: tuple[float, float], *, share: float, clip: float) -> Markup:
    """Of the dashboard."""
    reading = READING.format(clip=clip, least=percent(1 / clip), level=percent(LEVEL), share=percent(share))
    return tag(
        "section",
        tag("h2", "What does it earn?"),
        tag("div", tag("p", _verdict(found, rewards), class_="verdict"), id="earned", data_live=True),
        tag("div", id="earned-plot", role="img", aria_label=PLOT, hidden=True),
        tag("p", CAPTION, id="earned-point", class_="note", hidden=True),
        tag("div", _arms(found, rewards), id="earned-arms", data_live=True),
        tag("details", tag("summary", "How to read this"), tag("p", reading)),
    )


def _numbers(one: Earning) -> dict[str, float]:
    return {"value": one.value, "low": one.low, "high": one.high}


def _verdict(found: Earned | None, rewards: tuple[float, float]) -> str:
    if found is None:
        return "Nothing has been released so far."
    average = found.average
    if _unknown(average, rewards):
        return "Not known yet: noise still hides how many rewards came."
    likely = between(average.low, average.high)
    return f"On average {signed(average.value)} for a choice that was answered, likely {likely}."


def curve(found: Sequence[Earned | None], rewards: tuple[float, float]) -> dict[str, list[float | None]] | None:
    """Of the average reward, release by release; None in it as long as nothing is known. None where nothing is
    released."""
    if all(one is None for one in found):
        return None
    averages = [None if one is None or _unknown(one.average, rewards) else one.average for one in found]
    return {
        part: [None if one is None else round(float(getattr(one, part)), 5) for one in averages]
        for part in ("value", "low", "high")
    }


def _unknown(one: Earning, rewards: tuple[float, float]) -> bool:
    """Whether the interval is all that there is."""
    return one.high - one.low > 0.999 * (rewards[1] - rewards[0])


def _arms(found: Earned | None, rewards: tuple[float, float]) -> Markup | None:
    if found is None or not found.arms:
        return None
    titles = ("Arm", "If everybody got it", "Likely between", "", "Speaks for")
    rows = [
        tag(
            "tr",
            tag("th", arm.name, scope="row"),
            tag("td", "not known yet" if _unknown(arm, rewards) else signed(arm.value)),
            tag("td", between(arm.low, arm.high)),
            tag("td", _bar(arm, rewards), class_="bar"),
            tag("td", percent(arm.covered)),
        )
        for arm in found.arms
    ]
    head = tag("thead", tag("tr", [tag("th", title, scope="col") for title in titles]))
    return tag("table", head, tag("tbody", rows))


def _bar(one: Earning, rewards: tuple[float, float]) -> Markup:
    """The interval within the range of rewards, and the estimate in it."""
    low, value, high = ((end - rewards[0]) / (rewards[1] - rewards[0]) * 100 for end in (one.low, one.value, one.high))
    likely = tag("rect", x=f"{low:.1f}%", width=f"{max(high - low, 0.5):.1f}%", class_="likely")
    estimate = None if _unknown(one, rewards) else tag("rect", x=f"{min(value, 98.5):.1f}%", width="1.5%")
    return tag("svg", likely, estimate, aria_hidden="true")
