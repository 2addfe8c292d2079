"""One person in many rounds: more noise, a cap that holds, and a certificate that says which unit it protects."""

import json
import math

import numpy as np
import pytest

from tacit import Budget, JointGLM, Simulated, Stored
from tacit.errors import PersonLimit, UnknownChoice
from tacit.mechanisms.grid import on_grid
from tacit.mechanisms.toeplitz import Toeplitz
from tacit.privacy import gaussian

BUDGET = Budget(1.0, 1e-6)
ARMS = np.eye(2)
KINDS = [JointGLM]


def test_numpy_numbers_are_people_too():
    bandit = JointGLM(dim=2, budget=Budget(1.0, 1e-6), max_rounds_per_person=2)
    for person in (3, np.int64(3)):
        bandit.choose(np.eye(2), person=person)
    with pytest.raises(PersonLimit):
        bandit.choose(np.eye(2), person=np.uint8(3))
    with pytest.raises(ValueError, match="whole number"):
        bandit.choose(np.eye(2), person=np.float64(3))


def build(kind=JointGLM, **options):
    return kind(**({"dim": 2, "horizon": 500, "budget": BUDGET, "pending": 50} | options))


@pytest.mark.parametrize("source", [None, Simulated(0)], ids=["secure", "simulated"])
@pytest.mark.parametrize("kind", KINDS)
def test_noise_grows_with_the_rounds_of_a_person(kind, source):
    options = ({} if source is None else {"source": source}) | ({"first": 10} if kind is JointGLM else {})
    one, three = build(kind, **options), build(kind, **options, max_rounds_per_person=3)
    for a, b in zip(one.privacy.releases, three.privacy.releases, strict=True):
        assert b.sigma == pytest.approx(3 * a.sigma, rel=1e-6)
        assert b.mu == pytest.approx(a.mu, rel=1e-6)
    assert three.privacy.epsilon == pytest.approx(1.0, rel=1e-9)
    assert "one person: the arm sets and rewards of at most 3 rounds" in three.privacy.unit
    assert "one round" in one.privacy.unit


def test_the_sensitivity_for_k_rounds_is_attained_and_never_exceeded():
    """k equal changes in one step move the encoded sums by k D times the column norm; other steps by less."""
    rng = np.random.default_rng(0)
    grid, k, bound = on_grid(Toeplitz(leaves=12, size=2, sigma=0.0), sensitivity=2.0, mu=1.0), 4, 2.0
    C = np.tril(np.ones((12, 12)))
    for i in range(12):
        C[i:, i] = grid.real.encoder()[: 12 - i]
    limit = k * bound * grid.column_norm
    largest = 0.0
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
    assert build(kind, max_rounds_per_person=2).privacy.group == {}


@pytest.mark.parametrize("kind", KINDS)
def test_round_k_plus_one_is_refused_and_is_a_number_that_nobody_answers(kind, tmp_path):
    """It counts as a choice, or a refusal would move everybody else to other steps."""
    bandit = build(kind, max_rounds_per_person=2)
    for person in ("ada@lovelace", b"ada@lovelace", 7, "7", 8, "Ada@lovelace"):
        bandit.choose(ARMS, person=person)
    for saved in (False, True):
        if saved:
            bandit.save(tmp_path / "b.json")
            bandit = kind.load(tmp_path / "b.json")
        before = bandit.choices
        for person in ("ada@lovelace", 7):
            with pytest.raises(PersonLimit, match="at most 2 rounds") as error:
                bandit.choose(ARMS, person=person)
            assert "ada@lovelace" not in str(error.value)
            with pytest.raises(UnknownChoice):
                bandit.observe(bandit.choices, 1.0)
        assert bandit.choices == before + 2
    bandit.choose(ARMS, person=b"Ada@lovelace")
    bandit.choose(ARMS, person="8")
    assert b"ada@lovelace" not in (tmp_path / "b.json").read_bytes()
    assert "ada@lovelace" not in repr(bandit) and "ada@lovelace" not in repr(bandit._persons)


def test_ids_are_taken_as_they_are_and_a_refusal_tells_who_came():
    """What the docs ask callers to take care of: no code can know that two spellings are one person, and a cap that
    holds cannot hide that it was reached."""
    bandit = build(max_rounds_per_person=1)
    for person in ("ada@example.org", "Ada@example.org", "ada@example.org "):
        bandit.choose(ARMS, person=person)
    came = []
    for person in ("ada@example.org", "bob@example.org"):
        try:
            bandit.choose(ARMS, person=person)
        except PersonLimit:
            came.append(person)
    assert came == ["ada@example.org"]


def test_a_refused_request_is_no_round():
    bandit = build(max_rounds_per_person=1)
    with pytest.raises(ValueError, match="norm at most 1"):
        bandit.choose(2 * ARMS, person="ada@lovelace")
    bandit.choose(ARMS, person="ada@lovelace")


def test_batches_refuse_a_persons_row_alone():
    bandit = build(max_rounds_per_person=2, require_person=False)
    arms = np.stack([ARMS] * 6)
    arms[5] *= np.nan
    choices = bandit.choose_many(arms, persons=["ada@lovelace", "bob", "ada@lovelace", "ada@lovelace", None, "bob"])
    assert set(choices.refused) == {3, 5}
    assert "at most 2 rounds" in choices.refused[3] and "finite" in choices.refused[5]
    assert bandit.choices == 6 and choices.index[3] == -1
    bandit.choose(ARMS, person="bob")  # the bad row was not one of bob's rounds
    with pytest.raises(ValueError, match="one person for each of 6 rows"):
        bandit.choose_many(arms, persons=["ada@lovelace"])
    assert bandit.choices == 7


def test_one_round_is_no_plural(tmp_path):
    bandit = JointGLM(dim=2, budget=BUDGET, max_rounds_per_person=1, require_person=False)
    assert "rewards of at most 1 round (" in bandit.privacy.unit
    bandit.choose([[0.0, 1.0]])
    assert "nobody has more than 1 round is assumed" in " ".join(bandit.privacy.caveats)
    other = JointGLM(dim=2, budget=BUDGET, max_rounds_per_person=1)
    with Stored(other, tmp_path / "bandit.db", hold=60) as stored:
        for either in (bandit, stored):
            either.choose([[0.0, 1.0]], person="ada")
            with pytest.raises(PersonLimit, match="at most 1 round of one person"):
                either.choose([[0.0, 1.0]], person="ada")


@pytest.mark.parametrize("kind", [JointGLM])
def test_a_choice_says_whose_it_is(kind, tmp_path):
    """Where rounds of a person are limited. A request without is no user; a row of a batch or a log without counts and
    teaches nothing, like any other bad row."""
    bandit = build(kind, max_rounds_per_person=2)
    for forgotten in (lambda: bandit.choose(ARMS), lambda: bandit.choose_many([ARMS, ARMS])):
        with pytest.raises(ValueError, match="Expected a person .*or require_person = false"):
            forgotten()
    assert bandit.choices == 0 and "(enforced: every choice has a person)" in bandit.privacy.unit
    choices = bandit.choose_many([ARMS] * 3, persons=["ada", None, "bob"])
    assert list(choices.refused) == [1] and "require_person" in choices.refused[1] and bandit.choices == 3
    row = {"reward": [1.0], "person": [None]} | {f"x{i}": [float(x)] for i, x in enumerate(ARMS[0])}
    with pytest.raises(ValueError, match=r"got 1 of 1; nothing was learnt. Row 0: .*require_person"):
        bandit.learn_log(row)
    assert bandit.choices == 3
    assert not any("assumed" in c for c in bandit.privacy.caveats)
    bandit.save(tmp_path / "bandit.json")
    with pytest.raises(ValueError, match="require_person"):
        kind.load(tmp_path / "bandit.json").choose(ARMS)
    build(kind).choose(ARMS)  # without a limit nobody is asked
    with pytest.raises(ValueError, match="Expected require_person to be true or false"):
        build(kind, max_rounds_per_person=2, require_person=1)
    with pytest.raises(ValueError, match="Expected max_rounds_per_person with require_person"):
        build(kind, require_person=True)


def test_without_ids_the_cap_is_a_stated_assumption():
    bandit = build(max_rounds_per_person=2, require_person=False)
    bandit.choose(ARMS, person="ada@lovelace")
    assert not any("assumed" in c for c in bandit.privacy.caveats)
    bandit.choose(ARMS)
    assert any("assumed for the one choice made without person=" in c for c in bandit.privacy.caveats)


def test_misuse():
    with pytest.raises(ValueError, match="Expected max_rounds_per_person"):
        build().choose(ARMS, person="ada@lovelace")
    for person in (1.5, True, ["ada@lovelace"], ""):
        with pytest.raises(ValueError, match="Expected person"):
            build(max_rounds_per_person=1).choose(ARMS, person=person)
    for wrong in (0, -1, 1.5, True):
        for kind in KINDS:
            with pytest.raises(ValueError, match="max_rounds_per_person"):
                build(kind, max_rounds_per_person=wrong)


def test_the_certificate_does_not_tell_which_rows_were_refused():
    """One row of a batch is bad in one world: what is said of choices without an id is the same."""

    def caveats(feature):
        bandit = JointGLM(dim=2, budget=Budget(1.0, 1e-3), max_rounds_per_person=2, require_person=False)
        bandit.choose_many([[[0.1, 0.2]], [[0.3, 0.4]], [[feature, 0.2]]])
        return bandit.privacy.caveats

    assert caveats(0.1) == caveats(math.nan)
