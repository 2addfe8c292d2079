"""Two aggregators release what a curator with both noises would, to the last bit; each one's noise is the grid's."""

import dataclasses
import math
import secrets

import numpy as np
import pytest

from lab_tests.raising import raised
from reticent.data import Raw
from reticent.errors import BadState, HorizonReached, NotSecure
from reticent.mechanisms.discounted import Discounted
from reticent.mechanisms.grid import on_grid
from reticent.mechanisms.recursive import Recursive
from reticent.mechanisms.recursive_grid import on_integers
from reticent.privacy import randomness
from reticent.privacy.noise import Secure
from reticent_lab.mechanisms.tree import Tree
from reticent_two.noise import Stirred
from reticent_two.shares import SharedSteps, check_honest, check_room, circuit_for, grid_for, joined
from reticent_two.vdaf import xof
from reticent_two.vdaf.circuit import Bounded
from reticent_two.vdaf.field_kernel import P
from reticent_two.vdaf.prio3 import Prio3

SIZE, LONGEST, LEAVES = 4, 1.2, 40
MECHANISMS = {
    "for ever": lambda: Discounted(leaves=LEAVES, size=SIZE, discount=0.97, sigma=0.0),
    "forgetting": lambda: Discounted(leaves=LEAVES, size=SIZE, discount=0.4, sigma=0.0),
    "plain": lambda: Discounted(leaves=LEAVES, size=SIZE, discount=1.0, sigma=0.0),
}


class Recorded:
    """The operating system's noise, kept to be used again."""

    private = True

    def __init__(self):
        self.source, self.drawn = Secure(), []

    def expect(self, need, cells):
        pass

    def integers(self, count, size, cells):
        self.drawn.append(self.source.integers(count, size, cells))
        return self.drawn[-1].copy()  # who has used it wipes it


class Both:
    """What two aggregators drew, added up."""

    def __init__(self, *aggregators):
        self.noises = zip(*(one.drawn for one in aggregators), strict=True)

    def expect(self, need, cells):
        pass

    def integers(self, count, size, cells):
        return sum(next(self.noises))


def plan(name):
    grid = on_grid(MECHANISMS[name](), sensitivity=2.0, mu=1.0)
    half = 2 ** int(np.ceil(np.log2(LONGEST / grid.cell + 2)))
    return grid, Bounded(size=SIZE, top=2 * half - 1, centre=half, longest=(half - 1) ** 2)


@pytest.mark.parametrize("name", MECHANISMS)
def test_releases_are_the_curators_with_both_noises_to_the_last_bit(name):
    rng = np.random.default_rng(secrets.randbits(32))
    grid, circuit = plan(name)
    prio3 = Prio3(circuit=circuit, context=b"test")
    key, aggregators, sources = secrets.token_bytes(32), [SharedSteps(grid) for _ in range(2)], [Recorded(), Recorded()]
    counts, leaves, sums = [], [], []
    for _ in range(LEAVES):
        counts.append(int(rng.integers(0, 4)))
        total = np.zeros(SIZE, np.int64)
        for _ in range(counts[-1]):
            v = rng.standard_normal(SIZE)
            cells = grid.encode(v * LONGEST / np.linalg.norm(v) * rng.random())
            total += cells
            nonce = rng.bytes(16)
            report = prio3.shard(cells.tolist(), nonce, secrets.token_bytes(128))
            kept, said = zip(
                *(prio3.verifier_share(key, i, nonce, report.public, share) for i, share in enumerate(report.shares)),
                strict=True,
            )
            message = prio3.message(said)
            for one, aggregator in zip(kept, aggregators, strict=True):
                aggregator.add(prio3.finished(one, message))
        sums.append(total)
        leaves.append([one.release(source) for one, source in zip(aggregators, sources, strict=True)])
    noise = Both(*sources)
    state = grid.init(noise)
    for step, total in enumerate(sums):
        curators = grid.measure(state, total, noise)
        assert np.array_equal(joined(grid, circuit, counts[: step + 1], leaves[step]), curators), step
        grid.close(state, step, total)
    raised(HorizonReached, aggregators[0].release, sources[0])


def test_one_aggregators_leaf_alone_is_uniform_and_its_noise_is_the_grids():
    """Less the sum it has the grid's sigma: within 10 % but with a chance of 10^-5, and not 2/3 or 3/2 of it."""
    grid, _ = plan("for ever")
    deviations = []
    for _ in range(1000):
        one = SharedSteps(grid)
        share = np.array([secrets.randbelow(P) for _ in range(SIZE)], np.uint64)
        one.add(share)
        said, weight = one.release(Secure()), int(grid.encoder_cells[0])
        for y, x in zip(said, share, strict=True):
            d = (int(y) - weight * int(x)) % P
            deviations.append((d if d <= P // 2 else d - P) / grid.cells)
    found = float(np.std(deviations))
    assert 0.9 < found < 1.1 and not 0.9 < found * 1.5 < 1.1 and not 0.9 < found / 1.5 < 1.1


def test_the_noise_of_a_step_is_the_grids_and_that_of_another_step_is_another(monkeypatch):
    """As above. Where a copied machine repeats the kernel's bytes, two sets of reports have two noises, one has one."""
    grid, _ = plan("plain")

    def source(binder):
        return Stirred(xof.stream(bytes(32), b"test", binder))

    found = float(np.std(source(b"a").integers(1, 4000, grid.cells) / grid.cells))
    assert 0.9 < found < 1.1
    monkeypatch.setattr(randomness, "fill", lambda out: out.fill(12345))
    first, again, other = (source(binder).integers(1, 50, grid.cells) for binder in (b"a", b"a", b"b"))
    assert np.array_equal(first, again) and not (first == other).any()


def test_shares_that_are_saved_are_gone_on_from():
    grid, _ = plan("forgetting")
    one, rng = SharedSteps(grid), np.random.default_rng(3)
    for _ in range(grid.window + 3):
        one.add(rng.integers(P, size=SIZE, dtype=np.uint64))
        one.release(Silent())
    one.add(rng.integers(P, size=SIZE, dtype=np.uint64))
    again = SharedSteps(grid)
    closed = [one.saved(step) for step in range(one.step - grid.window, one.step)]
    again.restore(one.step, closed, one.saved())
    assert np.array_equal(one.release(Silent()), again.release(Silent())) and again.step == one.step
    raised(BadState, SharedSteps(grid).restore, 5, closed[:2], one.saved()).match("all steps")


class Silent:
    def integers(self, count, size, cells):
        return np.zeros((count, size), np.int64)


def test_sums_are_closed_and_have_room():
    grid, circuit = plan("plain")
    one = SharedSteps(grid)
    assert isinstance(one, Raw) and repr(one) == "<raw>" and one.step == 0
    raised(TypeError, np.asarray, one)
    check_room([grid, grid], circuit, 10**6)
    raised(NotSecure, check_room, [grid, grid], circuit, 10**12).match("room")
    tree = on_integers(Tree(leaves=LEAVES, size=SIZE, sigma=0.0), sensitivity=2.0, mu=1.0)
    recursive = on_integers(Recursive(leaves=LEAVES, size=SIZE, discount=0.97, sigma=0.0), sensitivity=2.0, mu=1.0)
    for other in (tree, recursive):
        raised(NotSecure, SharedSteps, other).match("whole numbers")


@pytest.mark.parametrize("size", [1, 2, 20, 230])
def test_every_honest_contribution_passes_its_circuit(size):
    """Of the greatest length, with numbers that all round away from zero: the worst, which nearly attains the bound."""
    real = Discounted(leaves=LEAVES, size=size, discount=0.99, sigma=0.0)
    for norm in (1.0, 1.17, 1.99999):
        grid = grid_for(real, norm=norm, sensitivity=2 * norm, mu=1.0)
        circuit, rng, longest = circuit_for(grid), np.random.default_rng(0), 0
        check_honest(grid, circuit)
        with pytest.raises(NotSecure, match="narrower"):
            check_honest(grid, dataclasses.replace(circuit, longest=(math.isqrt(circuit.longest) - 1) ** 2))
        halves = math.floor(norm / grid.cell / math.sqrt(size) - 0.5) + 0.5 + 1e-9  # all are rounded up
        drawn = rng.standard_normal((200, size))
        drawn *= norm / grid.cell / np.linalg.norm(drawn, axis=1, keepdims=True)
        for cells in (np.full(size, halves), *drawn):
            assert np.linalg.norm(cells) <= norm / grid.cell * (1 + 1e-12)
            whole = np.rint(cells)
            longest = max(longest, int(whole @ whole))
            assert whole @ whole <= circuit.longest and np.abs(whole).max() < circuit.centre
        assert longest > 0.98 * circuit.longest
