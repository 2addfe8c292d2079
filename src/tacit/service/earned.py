"""What is earned, as routes and the dashboard show it: functions of released sums (tacit.algorithms.earnings)."""

from collections.abc import Sequence
from typing import Any

from tacit.algorithms.earnings import LEVEL, Earned, Earning
from tacit.service.markup import Markup, tag
from tacit.service.words import between, percent, signed

CAPTION = "The average reward after each release. Shaded: its interval."
PLOT = "The average reward after each release; the sentence above has the latest."
COUNTED = (  # without a reward for silence, and with one
    "The average is over choices that had a reward within {wait}; those without are left out.",
    "The average is over all choices that were shown: with the reward that came within {wait}, and {silence:g} where "
    "none did. What came later is not in it.",
)
READING = (
    "{counted} Recent choices count more than old ones, as in all that is "
    "learnt. The interval holds the truth with a probability of about {level}, noise and chance included. All of this "
    "is computed from sums that were released with noise, for which {share} of the privacy budget (of its mu²) is set "
    "aside. What a single arm would earn if everybody got it does not follow from them: the bandit offers an arm to "
    "those whom it suits."
)


def written(found: Earned | None) -> dict[str, Any] | None:
    """As JSON has it; None where nothing has been released, or is not to be."""
    if found is None:
        return None
    return {"level": LEVEL, "average": found.average._asdict()}


def section(
    found: Earned | None, rewards: tuple[float, float], *, share: float, wait: str, silence: float | None
) -> Markup:
    """Of the dashboard. wait, silence: how long a choice waits for its reward, and which one it has without."""
    counted = COUNTED[silence is not None].format(wait=wait, silence=silence)
    reading = READING.format(counted=counted, level=percent(LEVEL), share=percent(share))
    return tag(
        "section",
        tag("h2", "What does it earn?"),
        tag("div", tag("p", _verdict(found, rewards, wait, silence), class_="verdict"), id="earned", data_live=True),
        tag("div", id="earned-plot", role="img", aria_label=PLOT, hidden=True),
        tag("p", CAPTION, id="earned-point", class_="note", hidden=True),
        tag("details", tag("summary", "How to read this"), tag("p", reading)),
    )


def _verdict(found: Earned | None, rewards: tuple[float, float], wait: str, silence: float | None) -> str:
    if found is None:
        return "Nothing has been released so far."
    average = found.average
    if _unknown(average, rewards):
        return "Not known yet: noise still hides how many rewards came."
    likely = between(average.low, average.high)
    whose = f" that had a reward within {wait}"
    if silence is not None:
        whose = f": the reward that came within {wait}, or {silence:g} without one"
    return f"On average {signed(average.value)} for a choice{whose}; likely {likely}."


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
