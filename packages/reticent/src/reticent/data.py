"""Two kinds of numbers, told apart by types and at run time: what depends on people's data, and what may be shown.

A contribution is Exact: open numbers, as kernels and mechanisms compute with them. What waits or is summed outside of
mechanisms is Raw: closed, so that nothing can be read of it by accident. Only a mechanism (reticent.mechanisms) opens
what is Raw, and only a mechanism turns it into Released, by adding noise; whatever estimates, chooses or is shown takes
Released. A device turns its own Exact contribution into Sent, the only thing that leaves it; in the shuffle model by
way of Coded, which is private only as a sum over a batch. At run time all but Raw are plain arrays or bytes: mypy keeps
them apart, a test over the syntax tree keeps the conversions in mechanisms/, and the replay tests see what slips
through types."""

from typing import Any, Generic, NewType, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Booleans = npt.NDArray[np.bool_]
Exact = NewType("Exact", npt.NDArray[Any])  # depends on people's data: floats, or whole cells of a grid
Released = NewType("Released", Array)  # came out of a mechanism
Coded = NewType("Coded", Integers)  # a contribution as whole numbers with coins, or a sum of those: for the shuffler
Sent = NewType("Sent", bytes)  # a report that may leave its device: randomised, or for the shuffler

T = TypeVar("T")


class Raw(Generic[T]):
    """Closed: what depends on people's data, moved by code that has no business to read it. Whoever converts, compares,
    counts, indexes, formats, copies or pickles one gets a TypeError, and its repr says nothing. Only mechanisms open
    one (reticent.mechanisms.opening). This stops accidents, not malice: Python has no locks."""

    __slots__ = ("__value",)
    __array_ufunc__ = None  # numpy leaves operators to what is below
    __hash__ = object.__hash__  # by identity: a hash of the value would tell of it

    def __init__(self, value: T) -> None:
        self.__value = value

    def __repr__(self) -> str:
        return "<raw>"

    def __eq__(self, other: object) -> bool:
        raise _closed()

    def __ne__(self, other: object) -> bool:
        raise _closed()


def _closed() -> TypeError:
    return TypeError("Expected what may be read, got raw data: only mechanisms open it.")


def _refuse(*_: object, **__: object) -> NoReturn:
    raise _closed()


_ALONE = "bool len iter reversed array float int complex index bytes format neg pos abs invert round trunc floor ceil"
_ALONE += " copy deepcopy reduce reduce_ex getstate getitem setitem delitem contains lt le gt ge"
_BETWEEN = "add sub mul truediv floordiv mod divmod pow matmul and or xor lshift rshift"
for _name in _ALONE.split() + [f"{side}{name}" for name in _BETWEEN.split() for side in ("", "r", "i")]:
    setattr(Raw, f"__{_name}__", _refuse)
