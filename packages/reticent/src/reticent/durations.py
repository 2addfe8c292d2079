"""Times as people write them: a number of seconds, or "2 hours"."""

import re

UNITS = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0, "week": 604800.0}


def seconds(given: float | str, name: str) -> float:
    """A number as it is, or the seconds of "90 seconds", "2 hours", "1 day"; ValueError for another text. name: of the
    setting."""
    if not isinstance(given, str):
        return given
    found = _parsed(given)
    if found is None:
        raise ValueError(
            f'Expected {name} to be a number, or a time as "90 seconds", "10 minutes", "2 hours" or "1 day", got a '
            "text of another form."
        )
    return found[0] * UNITS[found[1]]


def days(given: str) -> float | None:
    """The days of such a text; None for another one."""
    found = _parsed(given)
    return None if found is None else found[0] * (UNITS[found[1]] / UNITS["day"])


def words(seconds: float) -> str:
    """In the largest unit that needs at most one digit after the point: 1 hour, 1.5 hours, 100 seconds."""
    short = (name for name, unit in reversed(UNITS.items()) if seconds / unit == round(seconds / unit, 1) >= 1)
    name = next(short, "second")
    number = seconds / UNITS[name]
    return f"{number:.12g} {name}" + "s" * (number != 1)


def _parsed(given: str) -> tuple[float, str] | None:
    found = re.fullmatch(rf"(\d+(?:\.\d+)?) ({'|'.join(UNITS)})s?", given)
    return None if found is None else (float(found[1]), found[2])
