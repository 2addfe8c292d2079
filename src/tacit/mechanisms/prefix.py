"""The sums of a bandit in memory, closed: contributions go in, and what a mechanism has released comes out."""

from collections.abc import Callable
from typing import Any

from tacit.data import Exact, Integers, Raw, Released
from tacit.kernels.continual import NOTHING, Closing, ContinualState, Entering, PrefixState, close_on_grid
from tacit.kernels.rounds import Held
from tacit.mechanisms.continual import Continual, RowAdder
from tacit.mechanisms.entering import EnteringRows
from tacit.mechanisms.opening import opened


class PrefixSums(Raw[PrefixState]):
    """Under continual release by that mechanism. Public: what was released, and how often."""

    __slots__ = ("_mechanism",)

    def __init__(self, mechanism: Continual, source: Any) -> None:
        super().__init__(mechanism.init(source))
        self._mechanism = mechanism

    @property
    def released(self) -> Released:
        """The sums of all closed steps, with noise."""
        return opened(self).released

    @property
    def step(self) -> int:
        """Releases so far."""
        return int(opened(self).noise.step[0])

    def absorb(self, add: Callable[..., None], *data: Raw[Any]) -> None:
        """One contribution joins the open step: `add` is given the data, open, and the vector that it adds to."""
        given = [opened(one) for one in data]
        self._mechanism.absorb(opened(self), lambda out: add(*given, out))

    def add(self, rows: Raw[EnteringRows], adder: RowAdder) -> None:
        """The contributions of rows join the open step; one whose reward is NaN adds nothing."""
        self._mechanism.add(opened(self), *opened(rows), adder)

    def enter(self, rows: Raw[EnteringRows], adder: RowAdder, held: Raw[Held], entered: Integers) -> None:
        """The same where choices enter in the order of their numbers: these wait no more, and move on `entered`. All of
        it, or, if interrupted, nothing."""
        self._mechanism.add(opened(self), *opened(rows), adder, Entering(entered, opened(held)))

    def join(self, total: Raw[Exact]) -> None:
        """A sum of contributions in whole cells joins the open step; it may lack numbers at the end."""
        sums = opened(total)
        opened(self).open[: len(sums)] += sums

    def release(self, source: Any, closing: Closing = NOTHING) -> Released:
        """Close the open step, and what goes with it (Continual.release)."""
        return self._mechanism.release(opened(self), source, closing)

    def follow(self, noisy: Released, closing: Closing = NOTHING) -> None:
        """Close a step whose noisy leaf others have released: what is open here is no part of it."""
        state = opened(self)
        close_on_grid(state, Exact(state.closed[:0]), noisy[None], closing)

    def use(self, noise: ContinualState) -> None:
        """In the place of the mechanism's own noise: for experiments, and for rehearsals with no data."""
        super().__init__(opened(self)._replace(noise=noise))


def run(loop: Callable[..., Any], *arguments: Any) -> Any:
    """Compiled rounds: what is closed among the arguments, or within one that is a NamedTuple, is given open."""
    return loop(*map(_open, arguments))


def _open(given: Any) -> Any:
    if isinstance(given, Raw):
        return opened(given)
    if isinstance(given, tuple) and any(isinstance(part, Raw) for part in given):
        return type(given)(*map(_open, given))
    return given
