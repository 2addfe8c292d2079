"""One person in many rounds: more noise, a cap that holds, and a certificate that says which unit it protects."""

import json
import math

import numpy as np
import pytest

from core_tests.made import any_kind
from reticent import Bandit, Budget, Simulated
from reticent.mechanisms.discounted import Discounted
from reticent.mechanisms.grid import on_grid
from reticent.mechanisms.opening import opened
from reticent.privacy import gaussian

BUDGET = Budget(1.0, 1e-6)
ARMS, KINDS = np.eye(2), [Bandit]


def build(kind=Bandit, **options):
    return any_kind(kind, **({"features": 2, "horizon": 500, "budget": BUDGET, "pending": 50} | options))


@pytest.mark.parametrize("source", [None, Simulated(0)], ids=["secure", "simulated"])
@pytest.mark.parametrize("kind", KINDS)
def test_noise_grows_with_the_rounds_of_a_person(kind, source):
    options = ({} if source is None else {"source": source}) | ({"first": 10} if kind is Bandit else {})
    one, three = build(kind, **options), build(kind, **options, rounds=3)
    for a, b in zip(one.privacy.releases, three.privacy.releases, strict=True):
        assert b.sigma == pytest.approx(3 * a.sigma, rel=1e-6) and b.mu == pytest.approx(a.mu, rel=1e-6)
    assert three.privacy.epsilon == pytest.approx(1.0, rel=1e-9)
    assert "one person: the arm sets and rewards of at most 3 rounds" in three.privacy.unit
    assert "one round" in one.privacy.unit


def test_the_sensitivity_for_k_rounds_is_attained_and_never_exceeded():
    """k equal changes in one step move the encoded sums by k D times the column norm; other steps by less."""
    rng = np.random.default_rng(0)
    grid, k, bound = on_grid(Discounted(leaves=12, size=2, sigma=0.0, discount=1.0), sensitivity=2.0, mu=1.0), 4, 2.0
    C = np.tril(np.ones((12, 12)))
    for i in range(12):
        C[i:, i] = grid.real.encoder()[: 12 - i]
    limit, largest = k * bound * grid.column_norm, 0.0
    for trial in range(500):
        leaves = np.zeros(k, int) if trial == 0 else rng.integers(0, 12, k)
        x = np.zeros((12, 2))
        for leaf in leaves:
            angle = 0.0 if trial == 0 else rng.uniform(0, 2 * math.pi)
            x[leaf] += bound * np.array([math.cos(angle), math.sin(angle)])
        largest = max(largest, np.linalg.norm(C @ x))
    assert 0.999 * limit <= largest <= limit * (1 + 1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_group_privacy_without_a_cap(kind):
    """Without a cap: epsilon of 2, 5 and 10 rounds, by the exact curve at k mu and the same delta."""
    privacy = build(kind).privacy
    mu = math.hypot(*(r.mu for r in privacy.releases))
    assert privacy.group == {k: pytest.approx(gaussian.epsilon(k * mu, 1e-6)) for k in (2, 5, 10)}
    assert privacy.group[2] > 2 and privacy.group[10] > privacy.group[5]
    assert json.loads(privacy.json())["group"]["2"] == pytest.approx(privacy.group[2])
    assert build(kind, rounds=2).privacy.group == {}


@pytest.mark.parametrize("kind", KINDS)
def test_round_k_plus_one_teaches_nothing_also_after_a_restart(kind, tmp_path):
    """And is a choice like any other, or what is shown would tell who came often."""
    bandit = build(kind, rounds=2, first=100)
    for person in ("ada@lovelace", b"ada@lovelace", 7, "7", 8, "Ada@lovelace"):
        bandit.observe(bandit.choose(ARMS, person=person), 1.0)
    for saved in (False, True):
        if saved:
            bandit.save(tmp_path / "b.json")
            bandit = kind.load(tmp_path / "b.json")
        before, sums = bandit.choices, opened(bandit.sums.state.prefix).open.copy()
        for person in ("ada@lovelace", 7):
            choice = bandit.choose(ARMS, person=person)
            assert choice.index in (0, 1) and bandit.observe(choice, 1.0)
        assert bandit.choices == before + 2 and np.array_equal(opened(bandit.sums.state.prefix).open, sums)
    for person in (b"Ada@lovelace", "8"):
        before = opened(bandit.sums.state.prefix).open.copy()
        bandit.observe(bandit.choose(ARMS, person=person), 1.0)
        assert not np.array_equal(opened(bandit.sums.state.prefix).open, before)
    assert b"ada@lovelace" not in (tmp_path / "b.json").read_bytes()
    assert "ada@lovelace" not in repr(bandit) and "ada@lovelace" not in repr(bandit.memory.persons)


@pytest.mark.parametrize("kind", KINDS)
def test_a_choice_says_whose_it_is(kind, tmp_path):
    """Where rounds are limited, a request without a person is no user; such a row teaches nothing, like any bad row."""
    bandit = build(kind, rounds=2)
    for forgotten in (lambda: bandit.choose(ARMS), lambda: bandit.choose_many([ARMS, ARMS])):
        with pytest.raises(ValueError, match="Expected a person with every choice"):
            forgotten()
    assert bandit.choices == 0 and "(enforced: every choice has a person)" in bandit.privacy.unit
    choices = bandit.choose_many([ARMS, ARMS, np.nan * ARMS], persons=["ada", None, "bob"])
    assert list(choices.refused) == [1, 2] and "finite" in choices.refused[2] and bandit.choices == 3
    assert "Expected a person" in choices.refused[1] and choices.index[1] == -1
    with pytest.raises(ValueError, match="one person for each of 2 rows"):
        bandit.choose_many([ARMS, ARMS], persons=["ada"])
    row = {"reward": [1.0], "person": [None]} | {f"x{i}": [float(x)] for i, x in enumerate(ARMS[0])}
    with pytest.raises(ValueError, match=r"got 1 of 1; nothing was learnt. Row 0: Expected a person"):
        bandit.learn_log(row)
    assert bandit.choices == 3
    bandit.save(tmp_path / "bandit.json")
    with pytest.raises(ValueError, match="Expected a person"):
        kind.load(tmp_path / "bandit.json").choose(ARMS)
    build(kind).choose(ARMS)  # without a limit nobody is asked


def test_misuse():
    with pytest.raises(ValueError, match="Expected a budget for a person"):
        build().choose(ARMS, person="ada@lovelace")
    bandit = build(rounds=1)
    with pytest.raises(ValueError, match="norm at most 1"):
        bandit.choose(2 * ARMS, person="ada@lovelace")
    assert not bandit.memory.persons.counts and bandit.choices == 0 and "at most 1 round (" in bandit.privacy.unit
    for wrong in (0, -1, 1.5, True):
        for kind in KINDS:
            with pytest.raises(ValueError, match="rounds"):
                build(kind, rounds=wrong)
