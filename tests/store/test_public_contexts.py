"""contexts="public" on a database: each choice's context is in the sums once, whatever happens; its reward is not."""

import numpy as np
import pytest

from tacit.errors import BadState, PersonLimit
from tacit.features import Number, Schema
from tacit.holders import erasure
from tacit.holders.retirement import retire
from tacit.model.vectors import add_pair, packed_size, pair_size
from tests.store import test_kill
from tests.store.places import HOLD, Clock, arms, dies_at, glm, restored, settle, sums, table, total
from tests.store.test_both_holders import Same
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
    found = table(stored, "SELECT sums FROM context_sum WHERE bandit = ? ORDER BY step", stored._vault.uid)
    return [np.frombuffer(bytes(sums)).copy() for (sums,) in found]


def copied(bandit):
    """What choices are made by, and what contexts of closed steps sum to: of a bandit in memory or on a database."""
    if hasattr(bandit, "_versions"):
        fold = bandit._versions.fold
        return [np.copy(part) for part in (*fold.estimate.arrays, fold.contexts)]
    return [np.copy(part) for part in (*bandit._state.estimate, bandit._state.public.closed)]


def alike(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("kind", [public, blocks, hybrid])
def test_the_same_sums_and_estimates_as_in_memory(on_sqlite, kind):
    """With the same noise, bit by bit, with rewards that never come, and a restart. A choice enters before the next,
    as in memory."""
    memory, seen, rng = kind(source=Same()), [], np.random.default_rng(4)
    for i in range(60):
        choice, reward = memory.choose(one_arm(kind, rng)), float(rng.random() < 0.5)
        seen.append(copied(memory))
        if i % 3:
            memory.observe(choice, reward)
    rng, noise = np.random.default_rng(4), Same()
    stored = on_sqlite.open(kind(source=noise))
    for i in range(60):
        if i == 35:
            stored.close()
            stored = on_sqlite.open(kind(source=noise))
        choice, reward = stored.choose(one_arm(kind, rng)), float(rng.random() < 0.5)
        assert alike(copied(stored), seen[i])
        if i % 3:
            stored.observe(choice, reward)
        settle(stored)
    memory.choose(one_arm(kind, rng))  # in memory a step that is full ends with the next choice
    assert stored.version == memory._steps > 2 and alike(copied(stored), copied(memory))
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
        assert stored.entered == 50 and stored.version == 5 > memory._steps == 4
        memory.choose(arms(rng, count=1))  # in memory a step that is full ends with the next choice
        assert alike(copied(stored), copied(memory))
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
            asked = [stored.prepare(one) for one in given]
            for start in range(0, 9, size):
                stored.choose_group(asked[start : start + size])
            settle(stored)
            found.append(context_sums(stored)[0])
    assert found[0].any() and np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])


def test_contexts_enter_at_the_deadline_whatever_was_written(place):
    """A reward, none, one that was cancelled: the same contexts, at the same time."""
    found = []
    for name, reward in (("silent", "never"), ("cancelled", None), ("answered", 1.0)):
        clock = Clock()
        with place.open(public(), name=name, clock=clock) as stored:
            choice = stored.choose(ARM)
            if reward != "never":
                stored.observe(choice, reward)
            clock.now += HOLD + stored._database.skew - 0.01
            stored.tend()
            assert context_sums(stored) == []
            clock.now += 0.02
            stored.tend()
            found.append(context_sums(stored)[0])
            assert total(stored).any() == (reward == 1.0)
    assert found[0].any() and np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])


def identity():
    """Of which curvature does not depend on the estimate, and neither does moment + offset."""
    return public(link="identity", first=5)


def test_entries_that_are_killed_count_once_or_not_at_all(on_sqlite):
    """At each statement of a look at what is due, also where it closes a step and releases it."""
    clock, packed, before = Clock(), packed_size(3), 3

    def opened():
        return on_sqlite.open(identity(), clock=clock)

    def curvature(stored):
        return sum(context_sums(stored))[:packed]

    with opened() as stored:
        for _ in range(before):
            stored.choose(ARM)
        settle(stored)
        one, outcomes, choices = curvature(stored) / before, [], before
    while not outcomes or outcomes[-1]:
        with opened() as stored:
            stored.choose(ARM)
            choices += 1
        clock.now += HOLD + 1.0
        outcomes.append(dies_at(len(outcomes), on_sqlite, lambda stored: stored.tend(), lambda: [opened()]))
        with opened() as stored:
            entered = stored.entered
            assert entered in (choices - 1, choices) and np.allclose(curvature(stored), entered * one)
            stored.tend()
            assert stored.entered == choices == 5 * stored.version + choices % 5
            assert np.allclose(curvature(stored), choices * one)
    assert len(outcomes) > 10 and outcomes.count(False) == 1


def test_workers_that_choose_and_tend_at_once(on_postgres):
    """None overwrites what another has added."""
    clock = Clock()
    with (
        on_postgres.open(public(first=100), clock=clock) as one,
        on_postgres.open(public(first=100), clock=clock) as two,
    ):

        def work(worker, name):
            for i in range(10):
                worker.choose(ARM, request=f"{name} {i // 2}")  # each is sent twice

        for n in range(3):
            at_once(*(lambda w=w, m=m, n=n: work(w, f"{n} {m}") for m, w in enumerate([one, two, one, two])))
            clock.now += HOLD + 6.0
            at_once(one.tend, two.tend, one.tend, two.tend)
        one.tend()  # of two who look at once, one may leave it to the other
        memory = public()
        memory.choose(ARM)
        (found,) = context_sums(one)
        assert one.entered == one.choices == 60 and np.allclose(found, 60 * memory._state.public.open, rtol=1e-12)


def lived(place, monkeypatch, kills, seed):
    """What is in the sums of contexts and rewards of each step is what the run nobody killed would have there."""
    identity().warm_up()
    packed = packed_size(3)

    def vector(i, reward):
        out = np.zeros(pair_size(3))
        add_pair(test_kill.user(i)[0][found.answers[i][1]], 2.0, 2.0 * reward, out)
        return out

    def equal(one, other):  # rewards are rounded to cells
        return np.allclose(one[:packed], other[:packed], rtol=1e-9) and np.allclose(one, other, atol=0.01)

    with test_kill.short_skew():
        found = test_kill.lives(place, identity, kills, seed)
        with place.open(identity(), **test_kill.REAL) as stored:
            assert stored.entered == stored.choices and found.versions > 2
            exact, cell = sums(stored), stored.algorithm.plan.mechanism.cell
            for (step, users), whole in zip(
                test_kill.by_step(stored, found).items(), context_sums(stored), strict=True
            ):
                whole[packed:] += cell * exact[step]
                assert test_kill.explains(users, found.outcomes, whole, vector, equal), step


def test_eight_kills(on_sqlite, monkeypatch):
    lived(on_sqlite, monkeypatch, 8, 3)


@pytest.mark.full
def test_sixty_kills(place, monkeypatch):
    lived(place, monkeypatch, 60, 4)


def play(stored, rng, rounds, **options):
    for _ in range(rounds):
        stored.observe(stored.choose(arms(rng), **options), float(rng.random() < 0.5))
    settle(stored)


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
            stored.observe(choice, float(rng.random() < 0.5))
            settle(stored)

    with on_sqlite.open(named(form, "walk", "sleep")) as stored:
        choose(stored, ("walk", "sleep"), 23)
    with on_sqlite.open(named(form, "walk", "sleep", "read")) as stored:
        choose(stored, ("walk", "sleep", "read"), 20)
        seen, history = copied(stored), stored.history
        assert stored.version > 5 and stored.theta.any()
    with on_sqlite.open(named(form, "walk", "sleep", "read")) as stored:
        assert alike(copied(stored), seen) and len(history) == len(stored.history)
        assert all(np.array_equal(a.estimate, b.estimate) for a, b in zip(history, stored.history, strict=True))


def test_a_restore_starts_from_contexts_and_releases_of_the_same_steps(place):
    rng = np.random.default_rng(6)
    with place.open(public()) as stored:
        play(stored, rng, 35)
        before, theta = copied(stored), stored.theta
        assert stored.version == 3 and context_sums(stored)[-1].any()
    for _ in range(2):
        restored(place, public())
        with place.open(public()) as stored:
            assert stored.version == 0 and np.allclose(stored.theta, theta) and theta.any()
            assert alike(copied(stored)[-1:], before[-1:])
            play(stored, rng, 12)
            first, closed = context_sums(stored)[0], before[-1] * stored.algorithm.plan.mechanism.fading
            before, theta = copied(stored), stored.theta
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
        settle(stored)
        (before,) = context_sums(stored)
        stored.choose(ARM, person="ada")  # which waits: it adds nothing
        said = stored.erase("ada")
        assert said == stored.erase("nobody") == erasure.ERASED + erasure.PUBLIC
        settle(stored)
        assert stored.entered == 2 and before.any() and np.array_equal(context_sums(stored)[0], before)
    assert erasure.erase_at(on_sqlite.where, "ada", keys=on_sqlite.keys) == said


def test_a_person_beyond_the_limit_adds_nothing(on_sqlite):
    """Refused or served; and served, whether or not a reward came."""
    clock = Clock()
    with on_sqlite.open(public(max_rounds_per_person=1), clock=clock) as stored:
        stored.choose(ARM, person="ada")
        settle(stored)
        (before,) = context_sums(stored)
        with pytest.raises(PersonLimit):
            stored.choose(ARM, person="ada")
        settle(stored)
        assert stored.entered == 2 and np.array_equal(context_sums(stored)[0], before)
        assert "the rewards of at most 1 round" in stored.privacy.unit
    with on_sqlite.open(public(max_rounds_per_person=1), clock=clock, on_limit="serve") as stored:
        stored.observe(stored.choose(ARM, person="ada"), 1.0)
        settle(stored)
        assert stored.entered == 3 and np.array_equal(context_sums(stored)[0], before) and not total(stored).any()
        stored.choose(ARM, person="bob")  # silent: it is a round all the same
        settle(stored)
        assert np.allclose(context_sums(stored)[0], 2 * before)
        stored.observe(stored.choose(ARM, person="bob"), 1.0)
        settle(stored)
        assert np.allclose(context_sums(stored)[0], 2 * before) and not total(stored).any()


def test_it_is_fixed_for_ever(on_sqlite):
    on_sqlite.open(public()).close()
    with pytest.raises(BadState, match="another contexts"):
        on_sqlite.open(glm())


def test_the_certificate_names_what_is_public(on_sqlite):
    with on_sqlite.open(public()) as stored:
        assert "features and offered arms are public" in stored.privacy.unit and stored.privacy.private
        assert 'contexts="public"' in str(stored.privacy) and any("not sealed" in one for one in stored.privacy.caveats)


def test_the_certificate_says_that_two_copies_tell_a_choice(on_sqlite):
    """As they do: up to its sign and length, the arm is what a choice adds when it enters."""
    with on_sqlite.open(public()) as stored:
        play(stored, np.random.default_rng(11), 5)
        before, given = context_sums(stored)[0], arms(np.random.default_rng(12))
        index = stored.choose(given).index
        settle(stored)
        added, (i, j) = context_sums(stored)[0] - before, np.triu_indices(3)
        matrix = np.zeros((3, 3))
        matrix[i, j] = matrix[j, i] = added[:6] / np.where(i == j, 1.0, np.sqrt(2))
        read = np.linalg.eigh(matrix)[1][:, -1]
        assert np.allclose(abs(given @ read)[index], 1) and np.argmax(abs(given @ read)) == index
        assert any("before and after a choice" in one for one in stored.privacy.caveats)
