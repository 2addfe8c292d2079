"""Checks of what comes in: they say what was expected and what came, never the value of a context or a reward."""

import dataclasses
import difflib
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

# The radius, rewards and whatever else bounds what a person adds: with sizes in between, their ratios, products and
# fourth powers are ordinary floats, and no bound on a person's influence is lost in an infinity, a NaN or a denormal.
SMALLEST, LARGEST = 1e-30, 1e30
SHOWN, LONGEST = 20, 64  # names in a message, and characters of one that is compared with them


def positive_int(**values: object) -> None:
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"Expected {name} to be a whole number of at least 1, got {value!r}.")


def positive(**values: float) -> None:
    for name, value in values.items():
        if not (_number(value) and 0 < value < math.inf):
            raise ValueError(f"Expected {name} to be a positive number, got {value!r}.")


def size(**values: float) -> None:
    for name, value in values.items():
        if not (_number(value) and SMALLEST <= value <= LARGEST):
            raise ValueError(f"Expected {name} to be a number from {SMALLEST:g} to {LARGEST:g}, got {value!r}.")


def non_negative(**values: float) -> None:
    for name, value in values.items():
        if not (_number(value) and 0 <= value < math.inf):
            raise ValueError(f"Expected {name} to be a number of at least 0, got {value!r}.")


def probability(**values: float) -> None:
    for name, value in values.items():
        if not (_number(value) and 0 < value < 1):
            raise ValueError(f"Expected {name} in (0, 1), got {value!r}.")


def below_one(**values: float) -> None:
    for name, value in values.items():
        if not (_number(value) and 0 <= value < 1):
            raise ValueError(f"Expected {name} in [0, 1), got {value!r}.")


def truth(**values: object) -> None:
    for name, value in values.items():
        if not isinstance(value, bool):
            raise ValueError(f"Expected {name} to be true or false, got {value!r}.")


def one_of(choices: Sequence[str], **values: object) -> None:
    for name, value in values.items():
        if value not in choices:
            raise ValueError(f"Expected {name} to be one of {', '.join(choices)}, got {value!r}.")


def interval(**values: tuple[float, float]) -> None:
    for name, value in values.items():
        pair = isinstance(value, tuple | list) and len(value) == 2 and all(map(_number, value))
        if not (pair and -math.inf < value[0] < value[1] < math.inf):
            raise ValueError(f"Expected {name} to be a pair low < high of finite numbers, got {value!r}.")
        if not SMALLEST <= max(abs(value[0]), abs(value[1])) <= LARGEST:
            raise ValueError(
                f"Expected {name} whose larger end is between {SMALLEST:g} and {LARGEST:g} in size, got {value!r}."
            )


def name(what: str, given: str, known: Iterable[str]) -> None:
    """ValueError unless `given` is one of the known names: first those it looks like, then all of them."""
    names = list(known)
    if given not in names:
        near = difflib.get_close_matches(given.lower(), names)
        guess = f" Did you mean {' or '.join(near)}?" if near else ""
        raise ValueError(f"Expected {what}, got {given!r}.{guess} There are {', '.join(names)}.")


def among(known: Sequence[str], given: Iterable[object]) -> str:
    """The known names, with those that something given is like: for errors that may not hold what came."""
    rest = f" and {len(known) - SHOWN} more" if len(known) > SHOWN else ""
    unknown = (one.lower() for one in given if isinstance(one, str) and one not in known and len(one) <= LONGEST)
    near = next(filter(None, (difflib.get_close_matches(one, known, 1) for one in unknown)), [])
    guess = f" (did you mean {near[0]}?)" if near else ""
    return (", ".join(known[:SHOWN]) or "none") + rest + guess


def _number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def concise(made: Any) -> str:
    """A dataclass as it would be made: with the settings that are not the usual ones."""
    given = []
    for f in dataclasses.fields(made):
        value = getattr(made, f.name, None)
        usual = f.default_factory() if callable(f.default_factory) else f.default
        if f.init and f.repr and repr(value) != repr(usual):
            given.append(f"{f.name}={value!r}")
    return f"{type(made).__name__}({', '.join(given)})"
