"""The noise that an aggregator adds to its share of a step."""

from collections.abc import Callable
from typing import Protocol

from reticent.data import Integers, Words
from reticent.privacy import exact
from reticent.privacy.noise import with_room


class WholeNoise(Protocol):
    """What a mechanism on whole numbers asks of a source."""

    def integers(self, count: int, size: int, cells: float) -> Integers:
        """`count` fresh vectors of length `size` of discrete Gaussians of parameter `cells`."""
        ...


class Stirred:
    """Secure noise of one step, nothing of it drawn ahead: a program that was stopped, copied and resumed has none to
    use twice. `stir` gives words that depend on what the step is of: where a copied machine repeats the kernel's bytes,
    two different steps still have different noise."""

    def __init__(self, stir: Callable[[int], Words]) -> None:
        self._stir = stir

    def integers(self, count: int, size: int, cells: float) -> Integers:
        numbers = exact.draw(count * size, cells, self._stir)
        with_room(numbers, cells)
        return numbers.reshape(count, size)
