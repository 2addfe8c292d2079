"""Continual release of what is shared between aggregators: each releases its share of the sums with noise of its own.

A grid's release Y = C X + Z is whole numbers, and linear in the sums X. So it acts on shares: with X = X_A + X_B modulo
P (vdaf.field_kernel) each aggregator computes Y_i = C X_i + Z_i modulo P from what it has, and Y_A + Y_B, taken between
-P/2 and P/2, is C X + Z_A + Z_B exactly, as long as that has room there (`check_room`).

Guarantee: against one aggregator, who knows its own noise, what the other one releases is the grid's mechanism with the
other's noise: mu-GDP with the grid's own mu (mechanisms.grid). Noise that both know of adds up to sqrt 2 times as much.
Against both together there is none.

Counts of reports in a step are public here: one is sent for each choice."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tacit.data import Exact, Raw, Released, Words
from tacit.errors import HorizonReached, NotSecure
from tacit.mechanisms.grid import COEFFICIENT_BITS, ROOM, Grid
from tacit.mechanisms.opening import opened
from tacit.mechanisms.shares_kernel import encoded
from tacit.mechanisms.tree import Tree
from tacit.privacy.noise import Secure
from tacit.vdaf.circuit import Bounded
from tacit.vdaf.field_kernel import P, add_to


class ShareState(NamedTuple):
    open: Exact  # (size,): this aggregator's share of the open step
    closed: Exact  # (window, size): and of the steps that releases still depend on
    step: list[int]  # steps that were released


class SharedSteps(Raw[ShareState]):
    """One aggregator's shares of the sums of all steps, closed."""

    __slots__ = ("_grid",)

    def __init__(self, grid: Grid) -> None:
        if type(grid) is not Grid or isinstance(grid.real, Tree):  # those that round sums are not linear in them
            raise NotSecure("Expected a mechanism with an encoder of whole numbers for shares, got another.")
        window = np.zeros((grid.window, grid.size), np.uint64)
        super().__init__(ShareState(Exact(np.zeros(grid.size, np.uint64)), Exact(window), [0]))
        self._grid = grid

    @property
    def step(self) -> int:
        """Steps that were released. Public."""
        return opened(self).step[0]

    def add(self, share: Words) -> None:
        """Of one report that was verified (vdaf.prio3)."""
        add_to(opened(self).open, share)

    def release(self, source: Secure) -> Words:
        """Close the open step: this aggregator's share of the next noisy leaf, with fresh noise of its own.
        HorizonReached after the last step."""
        state, grid = opened(self), self._grid
        at = state.step[0]
        if at >= grid.leaves:
            raise HorizonReached(f"Expected at most {grid.leaves} steps, and they have all been released.")
        noise = source.integers(1, grid.size, grid.cells)[0]
        state.closed[at % grid.window] = state.open
        within = min(at + 1, grid.window)
        weights = grid.encoder_cells[(at - np.arange(within)) % grid.window].astype(np.uint64)
        out = encoded(weights, Exact(state.closed[:within]), noise)
        state.open[:] = 0
        state.step[0] = at + 1
        return out


def joined(grid: Grid, circuit: Bounded, counts: Sequence[int], leaves: Sequence[Words]) -> Released:
    """The noisy leaf that all aggregators' shares amount to, in floats of the grid, as Grid.measure has it. counts: of
    the reports in all steps up to this one, each of whose numbers came with `centre` added."""
    total = leaves[0].copy()
    for share in leaves[1:]:
        add_to(total, share)
    recent = counts[-grid.window :]
    shift = circuit.centre * sum(int(m) * n for m, n in zip(grid.encoder_cells, reversed(recent), strict=False))
    values = [(int(y) - shift) % P for y in total]
    return Released(np.array([float(y if y <= P // 2 else y - P) for y in values]) * grid.step)


def check_room(grid: Grid, circuit: Bounded, reports: int, aggregators: int = 2) -> None:
    """NotSecure unless so many reports and all noise have room between -P/2 and P/2, whatever they are."""
    largest = max(circuit.centre, circuit.top - circuit.centre)
    if reports * (1 << COEFFICIENT_BITS) * largest + aggregators * ROOM * grid.cells >= P // 2:
        raise NotSecure(f"Expected sums of {reports} reports that have room in the field, got larger ones.")
