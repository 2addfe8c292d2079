"""Continual release of what is shared between aggregators: each releases its share of the sums with noise of its own.

A grid's release Y = C X + Z is whole numbers, and linear in the sums X. So it acts on shares: with X = X_A + X_B modulo
P (vdaf.field_kernel) each aggregator computes Y_i = C X_i + Z_i modulo P from what it has, and Y_A + Y_B, taken between
-P/2 and P/2, is C X + Z_A + Z_B exactly, as long as that has room there (`check_room`).

Guarantee: against one aggregator, who knows its own noise, what the other one releases is the grid's mechanism with the
other's noise: mu-GDP with the grid's own mu (mechanisms.grid). Noise that both know of adds up to sqrt 2 times as much.
Against both together there is none.

Counts of reports in a step are public here: one is sent for each choice.

Numbers have BITS bits, since a report has so many elements for each of them: cells are larger than a curator's, and
rounding to them costs up to a hundredth of the noise (`grid_for`). A contribution of norm at most L has at most
L / h + sqrt(m) / 2 cells in length once it is rounded, m the numbers: that is the circuit's bound, so that an honest
one always passes it."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from reticent.data import Exact, Raw, Released, Sent, Words
from reticent.errors import BadState, HorizonReached, NotSecure
from reticent.mechanisms.continual import Continual
from reticent.mechanisms.grid import COEFFICIENT_BITS, LENGTH_SLACK, ROOM, Grid, sigma_for
from reticent.mechanisms.opening import opened
from reticent.privacy import randomness
from reticent_two.noise import WholeNoise
from reticent_two.shares_kernel import encoded
from reticent_two.vdaf.circuit import Bounded
from reticent_two.vdaf.field_kernel import P, add_to
from reticent_two.vdaf.prio3 import Prio3

BITS = 12  # of each number of a report


class ShareState(NamedTuple):
    open: Exact  # (size,): this aggregator's share of the open step
    closed: Exact  # (window, size): and of the steps that releases still depend on
    step: list[int]  # steps that were released


class SharedSteps(Raw[ShareState]):
    """One aggregator's shares of the sums of all steps, closed."""

    __slots__ = ("_grid",)

    def __init__(self, grid: Grid) -> None:
        if type(grid) is not Grid:  # those that round sums are not linear in them
            raise NotSecure("Expected a mechanism with an encoder of whole numbers for shares, got another.")
        window = np.zeros((grid.window, grid.size), np.uint64)
        super().__init__(ShareState(Exact(np.zeros(grid.size, np.uint64)), Exact(window), [0]))
        self._grid = grid

    @property
    def step(self) -> int:
        """Steps that were released. Public."""
        return opened(self).step[0]

    def add(self, share: Words) -> None:
        """Of one report that was verified (reticent_two.vdaf.prio3)."""
        add_to(opened(self).open, share)

    def saved(self, step: int | None = None) -> bytes:
        """This aggregator's share of a closed step within the window, or of the open one: uniform by itself, for its
        own store."""
        state = opened(self)
        row = state.open if step is None else state.closed[step % self._grid.window]
        return np.asarray(row, "<u8").tobytes()

    def restore(self, step: int, closed: Sequence[bytes], open: bytes) -> None:
        """As they were saved: `closed` are the last steps before `step`, all that the window has, the oldest first."""
        state, grid = opened(self), self._grid
        if len(closed) != min(step, grid.window) or any(len(row) != 8 * grid.size for row in (*closed, open)):
            raise BadState("Expected shares of all steps of this task, got others.")
        for at, row in enumerate(closed, step - len(closed)):
            state.closed[at % grid.window] = np.frombuffer(row, "<u8")
        state.open[:] = np.frombuffer(open, "<u8")
        state.step[0] = step

    def release(self, source: WholeNoise) -> Words:
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
        noise[:] = 0
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


def check_room(grids: Sequence[Grid], circuit: Bounded, reports: int) -> None:
    """NotSecure unless so many reports and the noise of all aggregators have room between -P/2 and P/2, whatever they
    are."""
    largest = max(circuit.centre, circuit.top - circuit.centre)
    if reports * (1 << COEFFICIENT_BITS) * largest + ROOM * sum(grid.cells for grid in grids) >= P // 2:
        raise NotSecure(f"Expected sums of {reports} reports that have room in the field, got larger ones.")


def check_honest(grid: Grid, circuit: Bounded) -> None:
    """NotSecure unless every contribution that is no longer than the grid's `longest` passes the circuit: a refusal
    would tell of it."""
    rounded = grid.longest / grid.cell + math.sqrt(grid.size) / 2
    if circuit.longest is None or not rounded <= math.isqrt(circuit.longest) <= circuit.centre - 1:
        raise NotSecure("Expected a circuit that every honest contribution passes, got a narrower one.")


# what numbers, bounds and noise follow from


def grid_for(real: Continual, *, norm: float, sensitivity: float, mu: float) -> Grid:
    """The mechanism of one aggregator, whose noise alone is mu-GDP against the other: cells are the smallest for which
    contributions of at most that norm have BITS bits in every number, rounded."""
    most = (1 << (BITS - 1)) - 1 - math.sqrt(real.size) / 2
    longest = norm * (1 + LENGTH_SLACK)
    if most < 1:
        raise NotSecure(f"Expected contributions of numbers that have room in {BITS} bits, got {real.size} of them.")
    cell = 2.0 ** math.ceil(math.log2(longest / most))
    shape = {"leaves": real.leaves, "size": real.size, "spacing": real.spacing}
    grid = Grid(**shape, sigma=0.0, real=real, cell=cell, longest=longest)
    sigma = sigma_for(grid.sensitivity(sensitivity) * grid.column_norm, mu, grid.step)
    return Grid(**shape, sigma=sigma, real=real, cell=cell, longest=longest)


def circuit_for(grid: Grid) -> Bounded:
    """What the reports of a grid of `grid_for` may be."""
    half = 1 << (BITS - 1)
    longest = math.ceil(grid.longest / grid.cell + math.sqrt(grid.size) / 2)
    return Bounded(size=grid.size, top=2 * half - 1, centre=half, longest=longest**2)


class Split(NamedTuple):
    """A contribution as it leaves its device. Each share by itself is uniform."""

    public: Sent
    leader: Sent
    helper: Sent

    def sealed(self, leader: Callable[[bytes], bytes], helper: Callable[[bytes], bytes]) -> Sent:
        """With each share sealed to its aggregator."""
        return Sent(self.public + leader(self.leader) + helper(self.helper))


def split(prio3: Prio3, cell: float, vector: Exact, nonce: bytes) -> Split:
    """A contribution, rounded to whole cells, in shares made with fresh randomness. One that does not fit the circuit,
    NaN included, is sent as zeros by the same work: an error or a missing report would tell of it."""
    circuit = prio3.circuit
    with np.errstate(all="ignore"):
        whole = np.rint(np.asarray(vector, np.float64) / cell)
        inside = bool((np.abs(whole) < circuit.centre).all())
        fits = inside and bool(circuit.longest is None or whole @ whole <= circuit.longest)
    numbers = np.where(fits, whole, 0.0).astype(np.int64).tolist()
    report = prio3.shard(numbers, nonce, randomness.octets(prio3.randomness))
    return Split(Sent(report.public), *map(Sent, report.shares))
