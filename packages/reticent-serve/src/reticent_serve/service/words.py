"""Numbers as people read them."""

import datetime
import math
from collections.abc import Callable
from typing import NamedTuple

from reticent_serve.trials.bounds import CALIBRATED, PROVEN, Interval
from reticent_serve.trials.trial import Trial

NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
SPACE = "\u202f"  # narrow, and no line ends there


def count(number: int) -> str:
    """12 345."""
    return f"{number:,}".replace(",", SPACE)


def counted(number: int, one: str, several: str | None = None) -> str:
    """1 choice, 2 choices."""
    return f"{count(number)} {one if number == 1 else several or one + 's'}"


def spelt(number: int, one: str) -> str:
    """One field, five fields, 20 fields."""
    word = NUMBERS[number] if number < len(NUMBERS) else count(number)
    return f"{word} {one if number == 1 else one + 's'}"


def listed(names: list[str]) -> str:
    """A, b and c."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def percent(share: float) -> str:
    """Whole per cents; a small share is not called none, nor a large one all."""
    if 0 < share < 0.005:
        return f"under 1{SPACE}%"
    if 0.995 < share < 1:
        return f"over 99{SPACE}%"
    return f"{100 * share:.0f}{SPACE}%"


def signed(number: float) -> str:
    """Two digits after the point, with a true minus."""
    return f"{round(number, 2) + 0.0:.2f}".replace("-", "\u2212")  # + 0.0: no minus before 0


def between(low: float, high: float) -> str:
    return f"{signed(low)}\u00a0to\u00a0{signed(high)}"


def span(seconds: float, digits: str = ".3g") -> str:
    """10 s, 48 h."""
    units = ((100, 1, "s"), (100 * 60, 60, "min"), (48 * 3600, 3600, "h"), (math.inf, 86400, "days"))
    unit, name = next((unit, name) for most, unit, name in units if seconds < most)
    return f"{seconds / unit:{digits}}{SPACE}{name}"


def date(at: float) -> str:
    return datetime.datetime.fromtimestamp(at, datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")


def ago(seconds: float) -> str:
    return "just now" if seconds < 2 else f"{span(seconds, '.0f')} ago"


class Scale(NamedTuple):
    """How mean rewards are read: in per cent where rewards are from 0 to 1, with a digit more where they are rare."""

    percent: bool
    digits: int

    @classmethod
    def of(cls, rewards: tuple[float, float], usual: float) -> "Scale":
        in_percent = tuple(rewards) == (0.0, 1.0)
        return cls(in_percent, (1 if usual < 0.1 else 0) if in_percent else 2)

    def plain(self, value: float) -> str:
        number = round(100 * value if self.percent else value, self.digits) + 0.0
        return f"{number:.{self.digits}f}".replace("-", "\u2212")

    def reward(self, value: float) -> str:
        return self.plain(value) + (f"{SPACE}%" if self.percent else "")

    def likely(self, value: float, low: float, high: float) -> str:
        """37 % (32 to 41)."""
        return f"{self.reward(value)} ({self.span(low, high)})"

    def apart(self, value: float, low: float, high: float) -> str:
        """Of a difference: 6 points (2 to 10)."""
        found = self.plain(value)
        unit = "" if not self.percent else " point" if found.strip("\u2212") == "1" else " points"
        return f"{found}{unit} ({self.span(low, high)})"

    def span(self, low: float, high: float) -> str:
        return f"{self.plain(low)}\u00a0to\u00a0{self.plain(high)}"


MINUS = "\u2212"
ROUND = (5.0, 2.0, 1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01)  # of 100 people: how sure one may want to be
PEEK = "You may look whenever you like: this has been certain enough ({level}) since person {since}."
ASSUMED = {
    CALIBRATED: "One thing is assumed: that chance in who is in which group is normal, as it is for sums over many "
    "people. People may differ as they like, and change with time.",
    PROVEN: "Nothing is assumed of people's rewards but their range.",
}
GROUPS = {
    "blocks": "What a person does must not depend on what those just before them were shown: where people reload a "
    'page until they like it, or talk, declare assign = "coins".',
    "coins": "What a person does may depend on what others before were shown.",
}
STOPPED = (
    "Read the interval, not the point: where one stops because it looks good, the point is too good. It is about the "
    "people up to the last look, not about those to come."
)


class Unit(NamedTuple):
    """How differences are told: for so many people, each of whom says yes or no; or for one, in units of rewards."""

    people: int
    digits: int

    @classmethod
    def of(cls, width: float, rewards: tuple[float, float]) -> "Unit":
        """For an interval of that width: of 100 people, or more where that would be less than two whole ones."""
        if tuple(rewards) != (0.0, 1.0):
            return cls(1, max(0, 1 - math.floor(math.log10(max(width, 1e-9)))))
        return cls(next((n for n in (100, 1000, 10_000) if n * width >= 2), 100_000), 0)

    def down(self, value: float) -> float:
        return _rounded(value * self.people, self.digits, math.floor, 1e-9)

    def up(self, value: float) -> float:
        return _rounded(value * self.people, self.digits, math.ceil, -1e-9)

    def near(self, value: float) -> float:
        return round(value * self.people, self.digits) + 0.0

    def text(self, number: float) -> str:
        return f"{abs(number):,.{self.digits}f}".replace(",", SPACE)

    def more(self, number: float) -> str:
        """21 more, 3 fewer."""
        few = "fewer" if self.people > 1 else "less"
        return f"{self.text(number)} {'more' if number >= 0 else few}"


def verdict(trial: Trial, against: str, rewards: tuple[float, float]) -> str:
    """What the trial says by now. against: the holdout, in words."""
    unit = Unit.of(trial.high - trial.low, rewards)
    low, high = unit.down(trial.low), unit.up(trial.high)
    if not trial.clear:
        return f"Not known yet: between {unit.more(low)} and {unit.more(high)}{_of(unit, against)}."
    value = unit.near(trial.value)
    ends = sorted((abs(low), abs(high)))
    between = f"between {unit.text(ends[0])} and {unit.text(ends[1])}"
    if low <= 0 <= high:
        between = f"between {unit.more(low)} and {unit.more(high)}"
    if unit.people == 1:
        return f"On average {unit.more(value)} for a choice than {against} ({between})."
    return f"Of {count(unit.people)} people, {unit.more(value)} said yes than {against} ({between})."


def _of(unit: Unit, against: str) -> str:
    if unit.people == 1:
        return f" for a choice than {against}"
    return f" of {count(unit.people)} people say yes than {against}"


def certainty(trial: Trial) -> str | None:
    """Since when it is clear, and that one may look."""
    if trial.since is None:
        return None
    return PEEK.format(level=percent(trial.level), since=count(trial.since))


def price(trial: Trial, rewards: tuple[float, float]) -> str | None:
    """What the holdout has cost, about; nothing is said where that is not clear."""
    if not trial.clear:
        return None
    yes = "yeses" if tuple(rewards) == (0.0, 1.0) else "in rewards"
    if trial.value >= 0:
        return f"The holdout has cost about {about(trial.cost)} {yes}."
    return f"The holdout has brought about {about(-trial.cost)} {yes} more than the bandit would have."


def still(people: int | None, width: float, rewards: tuple[float, float]) -> str:
    """How many more people make the interval so narrow; people: None where that is too far away."""
    yes, points = tuple(rewards) == (0.0, 1.0), round(100 * width, 6)
    what = f"{points:g} point{'' if points == 1 else 's'}" if yes else f"{width:g}"
    many = "more than a billion people" if people is None else f"about {about(people)} more people"
    return f"{what} either way take{'s' if not yes or points == 1 else ''} {many}"


def wanted(half: float, rewards: tuple[float, float]) -> float:
    """The width that is worth a sentence: the next round one that is clearly less than what there is."""
    unit = rewards[1] - rewards[0]
    return next((one / 100 * unit for one in ROUND if one / 100 * unit < 0.8 * half), ROUND[-1] / 100 * unit)


def whole(
    trial: Trial, against: str, rewards: tuple[float, float], *, more: int | None = None, width: float = 0.0
) -> str:
    """All of it. more: people until the interval is so narrow; for a trial that goes on and is not clear."""
    said = verdict(trial, against, rewards)
    if not trial.clear and not trial.ended and width:
        said = f"{said.removesuffix('.')}; {still(more, width, rewards)}."
    return " ".join(part for part in (said, certainty(trial), price(trial, rewards)) if part)


def mean(one: Interval, unit: Unit) -> str:
    """Of an average: 41 of 100 people (37 to 46)."""
    low, high, value = unit.down(one.low), unit.up(one.high), unit.near(one.value)
    if unit.people == 1:
        return f"{_signed(unit, value)} ({_signed(unit, low)} to {_signed(unit, high)})"
    return f"{unit.text(value)} of {count(unit.people)} people ({unit.text(low)} to {unit.text(high)})"


def about(number: float) -> str:
    """Two digits: 370, 16 000."""
    if abs(number) < 10:
        return f"{number:.1f}" if 0 < abs(number) < 1 else f"{number:.0f}"
    size = 10 ** (math.floor(math.log10(abs(number))) - 1)
    return count(round(number / size) * size)


def _signed(unit: Unit, number: float) -> str:
    return (MINUS if number < 0 else "") + unit.text(number)


def _rounded(number: float, digits: int, which: Callable[[float], int], slack: float) -> float:
    """What is a whole number but for floating point stays it."""
    scale: float = 10.0**digits
    return which(number * scale + slack) / scale + 0.0
