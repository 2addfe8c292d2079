"""Numbers as people read them."""

import datetime
import math
from typing import NamedTuple

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
