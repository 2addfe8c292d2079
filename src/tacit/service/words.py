"""Numbers as people read them."""

import datetime
import math

SPACE = "\u202f"  # narrow, and no line ends there


def count(number: int) -> str:
    """12 345."""
    return f"{number:,}".replace(",", SPACE)


def counted(number: int, one: str, several: str | None = None) -> str:
    """1 choice, 2 choices."""
    return f"{count(number)} {one if number == 1 else several or one + 's'}"


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
