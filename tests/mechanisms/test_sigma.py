"""The noise of everything that draws has the standard deviation that is claimed for it, and is drawn once.

Everything is in tests/draws.py, once. By chance, with secure noise: each coordinate of each family to 5 %, all of them
together to 1 %; the whole file gives a false alarm once in 10^6 runs, and each check would reject 0.9 sigma. And
exactly, with noise that the test knows: each number that is let out has one number of the source in it."""

import functools
import math

import numpy as np
import pytest
from scipy.stats import chi2

from reticent import JointGLM, Secure, Simulated, registry
from reticent.core.live import Live
from reticent.errors import NotSecure
from reticent.kernels.continual import simulate_step
from reticent.kernels.noise import gaussian_law
from reticent.mechanisms.discounted import Discounted
from reticent_devices import Server
from tests.draws import BUDGET, DRAWS
from tests.registered import bandits

ALARM = 1e-6  # of this file
MARGIN, POOLED = 0.05, 0.01
QUIET = 0.9


def ends(count, level):
    """Between which the root mean square of so many normal numbers of variance 1 lies, but with that probability."""
    return math.sqrt(chi2.ppf(level / 2, count) / count), math.sqrt(chi2.isf(level / 2, count) / count)


def enough(margin, level):
    """How many numbers tell a standard deviation within that margin at that level."""
    count = 100
    while max(ends(count, level)[1] - 1, 1 - ends(count, level)[0]) > margin:
        count = math.ceil(1.02 * count)
    return count


def farthest(count, level):
    """Beyond this is a sum of so many products of two normal numbers with at most that probability (Chernoff)."""
    low, high = 0.0, 1.0
    for _ in range(60):
        t = (low + high) / 2
        x = count * t / (1 - t * t)
        low, high = (low, t) if 2 * math.exp(-t * x - count / 2 * math.log1p(-t * t)) < level else (t, high)
    return count * high / (1 - high * high)


class Bulk(Secure):
    """Secure noise, asked for by thousands: what is drawn ahead, and left once, has its tests elsewhere."""

    def __init__(self):
        super().__init__()
        self.kept = {}

    def expect(self, need, cells):
        pass

    def integers(self, count, size, cells):
        kept = self.kept.get(cells, np.zeros(0, np.int64))
        if kept.size < count * size:
            kept = super().integers(1, 5000, cells)[0]
        self.kept[cells] = kept[count * size :]
        return kept[: count * size].reshape(count, size)


class Family:
    """Draws by the same lines of code. level: of its coordinates, of its correlations; a third is for all together."""

    def __init__(self, members, count):
        self.members, self.level = members, ALARM / 3 / count


def families(draws):
    names = sorted({draw.family for draw in draws.values()})
    return {
        name: Family({each: draw for each, draw in draws.items() if draw.family == name}, len(names)) for name in names
    }


FAMILY_CASES = families(DRAWS)
KNOWN_CASES = {name: draw for name, draw in DRAWS.items() if draw.known}


@functools.cache
def runs(family, times=1):
    """(runs, numbers of a run) for each member, so many that each coordinate has enough numbers."""
    makers = {name: draw.make(Bulk()) for name, draw in family.members.items()}
    shapes = {name: [len(vector) for vector in run()] for name, run in makers.items()}
    alike = len({size for sizes in shapes.values() for size in sizes}) == 1
    names = {name: np.concatenate([columns(size, alike) for size in sizes]) for name, sizes in shapes.items()}
    seen = np.bincount(np.concatenate(list(names.values())))
    need = math.ceil(times * enough(MARGIN, family.level / (len(seen) + len(names))) / seen[seen > 0].min())
    return {name: np.array([np.concatenate(run()) for _ in range(need)]) for name, run in makers.items()}, names


def columns(size, alike):
    """The coordinates of a vector: each its own where all vectors are as long, else the first, the last, the rest."""
    out = np.arange(size)
    return out if alike else np.where(out == size - 1, 1, np.where(out == 0, 0, 2))


def size_of(numbers):
    return math.sqrt(float(np.mean(np.square(numbers))))


def test_each_coordinate_has_the_sigma_that_is_claimed(family_case):
    family = family_case
    drawn, names = runs(family)
    kinds = np.unique(np.concatenate(list(names.values())))
    for column in kinds:
        numbers = np.concatenate([drawn[name][:, names[name] == column].ravel() for name in drawn])
        low, high = ends(numbers.size, family.level / (len(kinds) + len(drawn)))
        assert 1 - MARGIN <= low <= size_of(numbers) <= high <= 1 + MARGIN, column
        assert QUIET * size_of(numbers) < low and size_of(numbers) / QUIET > high
    for name, table in drawn.items():  # each member as well as its own numbers tell it
        low, high = ends(table.size, family.level / (len(kinds) + len(drawn)))
        assert low <= size_of(table) <= high, name


def test_no_number_is_like_another(family_case):
    """No two numbers of a run correlate, nor with those of the run before: noise that is used again would."""
    family = family_case
    drawn, _ = runs(family)
    for name, table in drawn.items():
        count, numbers = table.shape
        products = [np.triu(table.T @ table, 1), table[1:].T @ table[:-1]]
        most = farthest(count, family.level / len(drawn) / (1.5 * numbers**2))
        assert max(np.abs(product).max() for product in products) < most < 0.7 * count, name


def test_all_together(request):
    everybody = request.module.FAMILY_CASES.values()
    numbers = np.concatenate([table.ravel() for family in everybody for table in runs(family)[0].values()])
    low, high = ends(numbers.size, ALARM / 3)
    assert 1 - POOLED <= low <= size_of(numbers) <= high <= 1 + POOLED


@pytest.mark.full
def test_each_family_to_one_percent(family_case):
    """Another 10^-6 of false alarms."""
    family, level = family_case, 3 * family_case.level
    few = sum(table.size for table in runs(family)[0].values())
    drawn, _ = runs(family, times=enough(POOLED, level) / few)
    numbers = np.concatenate([table.ravel() for table in drawn.values()])
    low, high = ends(numbers.size, level)
    assert 1 - POOLED <= low <= size_of(numbers) <= high <= 1 + POOLED


class Known:
    """Plus or minus the standard deviation that was asked for: a test knows which, and that it was used."""

    description = "known"

    def __init__(self, private):
        self.private, self.signs, self.coins = private, [], np.random.default_rng(0)

    def expect(self, need, cells):
        pass

    def integers(self, count, size, cells):
        return self.draw(count, size) * round(cells)

    def rows(self, count, size, law):
        return self.draw(count, size) * law.scale

    def draw(self, count, size):
        signs = self.coins.choice([-1, 1], (count, size))
        self.signs.extend(signs.ravel())
        return signs


@pytest.mark.parametrize("private", [True, False])
def test_each_number_of_the_source_is_used_once_and_as_it_is(known_case, private):
    source = Known(private)
    run = known_case.make(source)
    source.signs.clear()
    for _ in range(3):
        before = len(source.signs)
        assert np.allclose(np.concatenate(run()), source.signs[before:], rtol=0, atol=2e-3)


@pytest.mark.parametrize("fused", [False, True])
def test_simulated_noise_has_the_sigma_that_is_asked_for(fused):
    """To 1 %, at the level of all together: in the loop of a simulation, and by itself."""
    law, source = gaussian_law(3.0), Simulated(0)
    count = enough(POOLED, ALARM / 3)
    if fused:
        state = Discounted(leaves=1, size=count, sigma=3.0, discount=1.0).init(source)
        simulate_step(source.generator, state, law)
        numbers = state.released / 3.0
    else:
        numbers = source.rows(1, count, law)[0] / 3.0
    low, high = ends(numbers.size, ALARM / 3)
    assert 1 - POOLED <= low <= size_of(numbers) <= high <= 1 + POOLED


def test_every_class_that_draws_for_people_is_here(request, registering):
    kinds = [registry.load(*home) for home in bandits(registering).values()] + getattr(request.module, "REGRESSORS", [])
    taking = {kind for kind in kinds if "source" in getattr(kind, "__dataclass_fields__", {}) or kind is JointGLM}
    drawing = {draw.kind for family in request.module.FAMILY_CASES.values() for draw in family.members.values()}
    for kind in sorted(taking - drawing - {Server}, key=lambda kind: kind.__name__):
        assert issubclass(kind, Live)
        with pytest.raises(NotSecure, match=r"source=Simulated\(seed\) .* for experiments"):
            kind(dim=2, horizon=10_000, budget=BUDGET, source=Secure())
