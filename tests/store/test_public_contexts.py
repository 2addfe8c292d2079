"""contexts="public" on a database: each choice's context is in the sums once, whatever happens; its reward is not."""

import time

import numpy as np
import pytest

from tacit import recover
from tacit.errors import BadState, PersonLimit, RolledBack
from tacit.features import Number, Schema
from tacit.holders import erasure, learning
from tacit.holders.retirement import retire
from tacit.model.vectors import add_pair, packed_size, pair_size
from tests.store import test_kill
from tests.store.places import arms, dies_at, glm, table, total
from tests.store.test_choices import Same
from tests.store.test_together import at_once

ARM = np.array([[0.6, 0.0, 0.3]])


def public(**options):
    return glm(contexts="public", **options)


def blocks(**options):
    return public(dim=6, blocks=2, **options)


def hybrid(**options):
    return public(dim=4, blocks=2, shared=2, **options)


def one_arm(bandit, rng):
    """The same choice whatever the policy draws."""
    row = arms(rng, count=1)
    return np.column_stack([row, [[float(rng.integers(2))]]]) if bandit is not public else row


def context_sums(stored):
    """What contexts sum to, step by step."""
    found = table(stored, "SELECT sums FROM context_sum WHERE bandit = ? ORDER BY step", stored._line.uid)
    return [np.frombuffer(bytes(sums)) for (sums,) in found]


def copied(bandit):
    posterior, public_sums = bandit._state.estimate, bandit._state.public
    return [np.copy(part) for part in (*posterior, public_sums.closed)]


def alike(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("kind", [public, blocks, hybrid])
def test_the_same_sums_and_estimates_as_in_memory(on_sqlite, kind):
    """With the same noise, bit by bit, with rewards that are late or never come, and a restart. A step is closed before
    the next choice, as in memory: else that is made at the estimate before."""
    memory, seen, rng, late = kind(source=Same()), [], np.random.default_rng(4), []

    def answers(bandit, i, choice):
        late.append(choice)
        if i % 3 == 1:
            bandit.observe(late.pop(0), float(rng.random() < 0.5))

    for i in range(60):
        answers(memory, i, memory.choose(one_arm(kind, rng)))
        seen.append(copied(memory))
    rng, noise = np.random.default_rng(4), Same()
    late.clear()
    stored = on_sqlite.open(kind(source=noise))
    for i in range(60):
        if i == 35:
            stored.close()
            stored = on_sqlite.open(kind(source=noise))
        if stored.head.choices == stored.head.boundary:
            learning._next_step(stored)
        answers(stored, i, stored.choose(one_arm(kind, rng)))
        assert alike(copied(stored._bandit), seen[i])
    assert stored.version == memory._steps > 2 and np.array_equal(context_sums(stored)[-1], memory._state.public.open)
    stored.close()


def test_a_log_is_learnt_as_in_memory(on_sqlite):
    """Also rows whose reward is refused: their contexts count, and tell nothing of it."""
    rng = np.random.default_rng(5)
    columns = {f"x{i}": column for i, column in enumerate(arms(rng, count=50).T.tolist())}
    rewards = [(1.0, None, 7.0, 0.0, "much")[i % 5] for i in range(50)]
    memory = public(source=Same())
    refused = memory.learn_log(columns | {"reward": rewards})
    with on_sqlite.open(public(source=Same())) as stored:
        assert stored.learn_log(columns | {"reward": rewards}, log="a") == refused and len(refused) == 20
        assert alike(copied(stored._bandit), copied(memory)) and stored.version == memory._steps > 2
        first = context_sums(stored)[0]
    for reward in (None, 1.0, 7.0):
        with on_sqlite.open(public(), name=f"all-{reward}".replace(".", "-").lower()) as stored:
            stored.learn_log(columns | {"reward": [reward] * 50}, log="a")
            assert np.array_equal(context_sums(stored)[0], first)


def test_how_requests_are_grouped_changes_no_bit(on_sqlite):
    """Groups form while rewards are written: their bits would tell of these."""
    given, found = [arms(np.random.default_rng(i), count=1) for i in range(9)], []
    for size in (1, 4, 9):
        with on_sqlite.open(public(), name=f"by-{size}") as stored:
            asks = [stored.ask(one) for one in given]
            for start in range(0, 9, size):
                stored.choose_group(asks[start : start + size])
            found.append(context_sums(stored)[0])
    assert found[0].any() and np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])


@pytest.mark.parametrize("before", [3, 5])
def test_a_choice_that_is_killed_counts_once_or_not_at_all(on_sqlite, before):
    """At each statement of it, also where it closes a step; sent again it counts once."""

    def opened():
        return on_sqlite.open(public(first=5))

    with opened() as stored:
        for i in range(before):
            stored.choose(ARM, request=f"{i}")
        one, outcomes = context_sums(stored)[0] / before, []

    def work(stored):
        stored.choose(ARM, request="killed")
        stored.choices  # noqa: B018

    while not outcomes or outcomes[-1][0]:
        killed = dies_at(len(outcomes), on_sqlite, work, lambda: [opened()])
        with opened() as stored:
            assert np.allclose(sum(context_sums(stored)), stored.choices * one)
            assert len(context_sums(stored)) == stored.head.step + 1
            outcomes.append((killed, stored.choices - before))
    assert (True, 0) in outcomes and (True, 1) in outcomes and outcomes[-1] == (False, 1)


def test_workers_that_choose_at_once(on_postgres):
    """None overwrites what another has added."""
    with on_postgres.open(public(first=100)) as one, on_postgres.open(public(first=100)) as two:

        def work(worker, name):
            for i in range(20):
                worker.choose(ARM, request=f"{name} {i // 2}")  # each is sent twice

        at_once(*(lambda w=w, n=n: work(w, n) for n, w in enumerate([one, two, one, two])))
        memory = public()
        memory.choose(ARM)
        (found,) = context_sums(one)
        assert one.choices == 40 and np.allclose(found, 40 * memory._state.public.open, rtol=1e-12)


def identity():
    """Of which curvature does not depend on the estimate, and neither does moment + offset."""
    return public(link="identity", first=5)


def lived(place, kills, seed):
    identity().warm_up()
    users, answers, versions = test_kill.lives(place, identity, kills, seed)
    with place.open(identity(), clock=time.time) as stored:
        for i in range(users - test_kill.LATE, users):
            stored.activate(answers[i][0])
            stored.observe(answers[i][0], test_kill.user(i)[1])
        assert stored.choices == users == len(answers) and versions > 2
        chosen = [test_kill.user(i)[0][int(answers[i][1])] for i in range(users)]
        rewards = [test_kill.user(i)[1] for i in range(users)]
        found, expected, packed = sum(context_sums(stored)), np.zeros(pair_size(3)), packed_size(3)
        found[packed:] += stored._bandit.mechanism.cell * total(stored)
        for x, y in zip(chosen, rewards, strict=True):
            add_pair(x, 2.0, 2.0 * y, expected)
        assert np.allclose(found[:packed], expected[:packed], rtol=1e-9)
        assert np.allclose(found[packed:], expected[packed:], atol=0.01)  # rounded to cells


def test_eight_kills(on_sqlite):
    lived(on_sqlite, 8, 3)


@pytest.mark.full
def test_sixty_kills(place):
    lived(place, 60, 4)


def play(stored, rng, rounds, **options):
    for _ in range(rounds):
        stored.observe(stored.choose(arms(rng), **options), float(rng.random() < 0.5))
        stored.tend()


def named(form, *names):
    schema = Schema(context={"age": Number(0, 100)}, arms=form, actions=names, max_actions=4, **NUMBERS[form])
    return public(dim=0, features=schema, first=5)


NUMBERS = {"disjoint": {}, "hybrid": {"action": {"long": Number(0, 1)}}}


@pytest.mark.parametrize("form", NUMBERS)
def test_every_worker_has_the_same_estimate_where_an_action_was_added(on_sqlite, form):
    """One that has seen each release as it came, and one that starts now."""
    rng = np.random.default_rng(9)

    def choose(stored, names, rounds):
        given = {name: {"long": 0.5} for name in names} if form == "hybrid" else None
        for _ in range(rounds):
            choice = stored.choose({"age": float(rng.integers(100))}, actions=given)
            stored.tend()
            stored.observe(choice, float(rng.random() < 0.5))

    with on_sqlite.open(named(form, "walk", "sleep")) as stored:
        choose(stored, ("walk", "sleep"), 23)
    with on_sqlite.open(named(form, "walk", "sleep", "read")) as stored:
        choose(stored, ("walk", "sleep", "read"), 20)
        seen, history = copied(stored._bandit), stored.history
        assert stored.version > 5 and stored.theta.any()
    with on_sqlite.open(named(form, "walk", "sleep", "read")) as stored:
        assert alike(copied(stored._bandit), seen) and len(history) == len(stored.history)
        assert all(np.array_equal(a.estimate, b.estimate) for a, b in zip(history, stored.history, strict=True))


def test_a_recovery_starts_from_contexts_and_releases_of_the_same_steps(place):
    rng = np.random.default_rng(6)
    with place.open(public()) as stored:
        play(stored, rng, 35)
        before, theta = copied(stored._bandit), stored.theta
        assert stored.version == 3 and context_sums(stored)[-1].any()
    for incarnation in (2, 3):
        assert recover(public(), place.where, keys=place.keys) == incarnation
        with place.open(public()) as stored:
            assert stored.version == 0 and np.allclose(stored.theta, theta) and theta.any()
            assert alike(copied(stored._bandit)[-1:], before[-1:])
            play(stored, rng, 12)
            first, closed = context_sums(stored)[0], before[-1] * stored._bandit.mechanism.fading
            before, theta = copied(stored._bandit), stored.theta
            assert stored.version == 1 and np.allclose(before[-1], closed + first)


def test_what_is_left_of_one_that_has_ended(on_sqlite):
    with on_sqlite.open(public()) as stored:
        play(stored, np.random.default_rng(7), 35)
        theta, sums = stored.theta, context_sums(stored)
    retire(on_sqlite.where, keys=on_sqlite.keys)
    with on_sqlite.open(public()) as stored:
        assert np.array_equal(stored.theta, theta) and stored.version == 3 and len(sums) == 4
        assert alike(context_sums(stored), sums[:3])  # what was not released is gone


def test_erasing_somebody_says_what_stays(on_sqlite):
    with on_sqlite.open(public(max_rounds_per_person=3)) as stored:
        stored.choose(ARM, person="ada")
        sums = context_sums(stored)[0]
        said = stored.erase("ada")
        assert said == stored.erase("nobody") == erasure.ERASED + erasure.PUBLIC
        assert table(stored, "SELECT count(*) FROM waiting") == [(0,)] and np.array_equal(context_sums(stored)[0], sums)
    assert erasure.erase_at(on_sqlite.where, "ada", keys=on_sqlite.keys) == said


def test_a_person_beyond_the_limit_adds_nothing(on_sqlite):
    """Refused or served."""
    with on_sqlite.open(public(max_rounds_per_person=1)) as stored:
        stored.choose(ARM, person="ada")
        sums = context_sums(stored)[0]
        with pytest.raises(PersonLimit):
            stored.choose(ARM, person="ada")
        assert stored.choices == 2 and np.array_equal(context_sums(stored)[0], sums)
        assert "the rewards of at most 1 round" in stored.privacy.unit
    with on_sqlite.open(public(max_rounds_per_person=1), on_limit="serve") as stored:
        stored.observe(stored.choose(ARM, person="ada"), 1.0)
        assert stored.choices == 3 and np.array_equal(context_sums(stored)[0], sums) and not total(stored).any()


def test_a_choice_that_is_never_shown_has_its_curvature(on_sqlite):
    """Whether it was shown is as private as its reward."""
    with on_sqlite.open(public()) as stored:
        choice = stored.choose(ARM, deferred=True)
        sums = context_sums(stored)[0]
        stored.observe(choice, 1.0)
        assert sums.any() and not total(stored).any()
        stored.activate(choice)
        assert total(stored).any() and np.array_equal(context_sums(stored)[0], sums)


def test_it_is_fixed_for_ever(on_sqlite):
    on_sqlite.open(public()).close()
    with pytest.raises(BadState, match="another contexts"):
        on_sqlite.open(glm(), population="another")
    with on_sqlite.open(glm(), name="older", population="older") as stored:  # as if it were
        plan = stored._line.bandit.plan.replace('"contexts": "private", ', "")
        assert plan != stored._line.bandit.plan
        table(stored, "UPDATE bandit SET plan = ? WHERE name = ?", plan, "older")
    on_sqlite.open(glm(), name="older", population="older").close()
    with pytest.raises(BadState, match="another contexts"):
        on_sqlite.open(public(), name="older", population="another")


def test_the_certificate_names_what_is_public(on_sqlite):
    with on_sqlite.open(public()) as stored:
        assert "features and offered arms are public" in stored.privacy.unit and stored.privacy.private
        assert 'contexts="public"' in str(stored.privacy) and any("not sealed" in one for one in stored.privacy.caveats)
    with pytest.raises(ValueError, match="a population of its own"):
        on_sqlite.open(glm(), name="another")


def test_the_certificate_says_that_two_copies_tell_a_choice(on_sqlite):
    """As they do: up to its sign and length, the arm is what a choice adds."""
    with on_sqlite.open(public()) as stored:
        play(stored, np.random.default_rng(11), 5)
        before, given = context_sums(stored)[0], arms(np.random.default_rng(12))
        index = stored.choose(given).index
        added, (i, j) = context_sums(stored)[0] - before, np.triu_indices(3)
        matrix = np.zeros((3, 3))
        matrix[i, j] = matrix[j, i] = added[:6] / np.where(i == j, 1.0, np.sqrt(2))
        read = np.linalg.eigh(matrix)[1][:, -1]
        assert np.allclose(abs(given @ read)[index], 1) and np.argmax(abs(given @ read)) == index
        assert any("before and after a choice" in one for one in stored.privacy.caveats)


MISSING, CHANGED = "DELETE FROM context_sum WHERE step = 2", "UPDATE context_sum SET sums = ? WHERE step = 2"


@pytest.mark.parametrize(("damage", "witness"), [(MISSING, True), (MISSING, False), (CHANGED, True)])
def test_sums_that_are_missing_or_changed_are_noticed_and_recovered_from(on_sqlite, damage, witness):
    """By the witness; if that was lost, too, those that are missing. A recovery uses all steps before."""
    with on_sqlite.open(public()) as stored:
        play(stored, np.random.default_rng(8), 25)
        theta, closed, version = stored.theta, copied(stored._bandit)[-1], stored.version
        play(stored, np.random.default_rng(9), 20)
        assert version == 2 and stored.version == 4
        other = (2.0 * context_sums(stored)[2]).tobytes()
        table(stored, damage, *[other] * (damage == CHANGED))
    if not witness:
        (on_sqlite.keys / "bandit.witness").unlink()
    with pytest.raises(RolledBack if witness else BadState, match="recover"), on_sqlite.open(public()) as stored:
        stored.choose(ARM)
    assert recover(public(), on_sqlite.where, keys=on_sqlite.keys) == 2
    with on_sqlite.open(public()) as stored:
        assert np.allclose(stored.theta, theta) and theta.any() and alike(copied(stored._bandit)[-1:], [closed])
        play(stored, np.random.default_rng(10), 15)
        assert stored.version == 1
