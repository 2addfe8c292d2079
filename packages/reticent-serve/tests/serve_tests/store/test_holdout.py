"""A holdout on a database: every number counts once in its group; groups survive what rows and keys survive."""

import itertools

import numpy as np
import pytest

from reticent import Holdout
from reticent.core.assignment import Assignment
from reticent.errors import BadState, RefusedRequest, Unavailable, WrongKeys
from reticent_serve import move, retire
from reticent_serve.holders import rows
from serve_tests.store.places import Clock, Place, arms, glm, restored, settle, sums, table
from serve_tests.store.processes import dies_at

HOLDOUT, MISSING = Holdout(action=1, share=0.2), 0.25
FATES = ("yes", "no", "silent", "cancels", "bad", "lost")  # what becomes of a request


@pytest.fixture
def quiet(monkeypatch):
    """Noise of 0: sums are exact but for the grid."""
    monkeypatch.setattr("reticent.privacy.noise.Secure.integers", lambda self, n, size, cells: np.zeros((n, size), int))


def made(holdout=HOLDOUT):
    return glm(holdout=holdout, default=MISSING)


def opened(place, holdout=HOLDOUT, **options):
    return place.open(made(holdout), **options)


def play(stored, rounds, seed=0, **given):
    """Everybody answers; what happened to each number."""
    rng, out = np.random.default_rng(seed), {}
    for _ in range(rounds):
        number = stored.choices + 1
        choice, reward = stored.choose(arms(rng), **given), float(rng.random() < 0.5)
        stored.observe(choice, reward)
        out[number] = stored._shared.assignment.group(number), reward
    settle(stored)
    return out


def check(stored, happened):
    """All looks are what happened; False where there is none yet."""
    found = stored.trial_sums
    for look in found.looks:
        groups = np.array([happened[n][0] for n in range(1, look.people + 1)])
        rewards = np.array([happened[n][1] for n in range(1, look.people + 1)])
        exact = [rewards[groups == i].sum() - np.sum(groups == i) / 2 for i in range(len(found.groups))]
        assert look.counts == tuple(np.bincount(groups, minlength=len(found.groups)))
        assert look.totals == pytest.approx(exact, abs=0.02)
    return bool(found.looks)


def test_every_number_counts_whatever_became_of_it(place, quiet):
    """Answered, silent, cancelled, not shown, shown, refused, retired meanwhile, lost: those without a reward count as
    the default. A request that is sent again has no second number."""
    rng, happened = np.random.default_rng(1), {}
    with opened(place) as stored:
        for t in range(60):
            number, reward = stored.choices + 1, float(rng.random() < 0.5)
            happened[number] = stored._shared.assignment.group(number), MISSING
            if t % 10 == 1:
                with pytest.raises(RefusedRequest, match="Expected"):
                    stored.choose(np.full((4, 3), np.nan), request=f"bad {t}")
                with pytest.raises(RefusedRequest, match="Expected"):
                    stored.choose(np.full((4, 3), np.nan), request=f"bad {t}")
                with pytest.raises(ValueError, match="refused before"):
                    stored.choose(arms(rng), request=f"bad {t}")
                continue
            if t % 10 == 2:
                with stored._database.transaction() as run:  # a worker that was killed before its rows came
                    stored._choosing.taken(run, 1)
                continue
            choice = stored.choose(arms(rng), request=f"r{t}")
            assert stored.choose(arms(rng), request=f"r{t}").id == choice.id and stored.choices == number
            if t % 10 in (3, 5):
                continue
            stored.observe(choice, None if t % 10 == 6 else reward)
            if t % 10 != 6:
                happened[number] = happened[number][0], reward
        settle(stored)
        assert check(stored, happened) and stored.trial_sums.looks[-1].counts == (48, 12)
        assert {happened[n][0] for n in happened} == {0, 1}


def test_what_the_holdout_plays_and_what_answers_tell(place, rng):
    """The holdout's numbers get its arm; the stored propensity is the mixture, whoever played."""
    with opened(place) as stored:
        told, x = {}, arms(rng)
        for t in range(40):
            number, choice = stored.choices + 1, stored.choose(x, request=f"{t}", propensity=True)
            if stored._shared.assignment.group(number):
                assert choice.index == 1
            told.setdefault(choice.index, set()).add(round(choice.propensity, 9))
            assert stored.choose(x, request=f"{t}").propensity == choice.propensity and not hasattr(choice, "group")
        assert told[1] == {0.4} and all(found == {0.2} for index, found in told.items() if index != 1)
        later = stored.choose(x)
        assert later.propensity == pytest.approx(0.4 if later.index == 1 else 0.2)


def test_own_is_the_callers_choice(place, quiet):
    with opened(place, Holdout(policy="given", share=0.2)) as stored:
        rng, before = np.random.default_rng(3), 0
        for _ in range(30):
            number, choice = stored.choices + 1, stored.choose(arms(rng), own=2)
            before += stored._shared.assignment.group(number)
            assert choice.index == 2 or not stored._shared.assignment.group(number)
        assert before == 6
        for own in (None, 4, "a"):
            with pytest.raises(RefusedRequest, match="Expected own="):
                stored.choose(arms(rng), own=own)
        assert stored.choices == 33
    with place.open(glm(), name="other") as plain, pytest.raises(ValueError, match="Expected own= with holdout"):
        plain.choose(arms(rng), own=1)


def test_it_goes_on_after_a_restart_and_workers_agree_on_its_end(place, quiet, clock):
    with opened(place) as stored:
        happened = play(stored, 47)
        before, key = stored.trial_sums, stored._store.groups
    clock.now = 5000.0
    with opened(place, clock=clock) as stored:
        assert stored._store.groups == key and stored.trial_sums.looks == before.looks
        if place.where.startswith("postgres"):
            with opened(place, clock=clock) as other:
                other.end_experiment()
        else:
            stored.end_experiment()
        happened |= play(stored, 60, seed=1)
        assert stored.trial_sums.ended == 50 and check(stored, happened)
        assert not any(happened[n][0] for n in range(51, 108)) and stored.trial_sums.looks[-1].counts[1] == 10
        assert any("holdout ended" in what for _, what in stored.events)
        with pytest.raises(ValueError, match="Expected a holdout that goes on"):
            stored.end_experiment()
    with opened(place, clock=clock) as stored:
        assert stored.trial_sums.ended == 50 and check(stored, happened)


@pytest.mark.parametrize("ahead", [True, False])
def test_propensities_of_its_last_block_do_not_tell_the_group(on_sqlite, ahead):
    with opened(on_sqlite) as stored:
        x = arms(np.random.default_rng(2))
        stored.choose(x)
        stored.end_experiment()
        found = [stored.choose(x, propensity=ahead) for _ in range(6)]
        told = [0.4 if choice.index == 1 else 0.2 for choice in found[:4]]
        assert [choice.propensity for choice in found] == pytest.approx([*told, 0.25, 0.25])


@pytest.mark.parametrize("ahead", [True, False])
def test_a_choice_that_is_tried_again_with_another_number_is_what_the_bandit_drew(on_sqlite, ahead):
    with opened(on_sqlite) as stored:
        assignment = stored._shared.assignment
        numbers = {assignment.group(number): number for number in range(1, 6)}
        for available in (None, [True, True, True, False]):
            for _ in range(10):
                asked = stored.prepare(arms(np.random.default_rng(2)), available=available)
                asked = stored.with_propensity(asked) if ahead else asked
                drawn = stored._curator.draw(asked)
                once, again = (stored._curator.played(numbers[group], asked, drawn) for group in (1, 0))
                assert once.place == 1 and again.place == asked.offer.place(drawn.picked)
                assert again.chance() == pytest.approx(0.8 / len(asked.offer.arms) + 0.2 * (again.place == 1))


def test_its_end_is_tried_again_and_not_believed_before_it_is_committed(on_sqlite, monkeypatch):
    settle_row, fails = rows.settle, [True, False]

    def failing(*given):
        if fails.pop(0):
            raise Unavailable("Expected a database, got none.")
        settle_row(*given)

    with opened(on_sqlite) as stored:
        play(stored, 7)
        monkeypatch.setattr("reticent_serve.holders.rows.settle", failing)
        stored.end_experiment()
        assert not fails and stored.trial_sums.ended == 10
    with opened(on_sqlite) as stored:
        assert stored.trial_sums.ended == 10


def test_a_restore_begins_a_new_experiment(on_sqlite, quiet, clock):
    """With another key; one that has ended stays so."""
    with opened(on_sqlite) as stored:
        play(stored, 40)
        key = stored._store.groups
    restored(on_sqlite, made())
    clock.now = 9000.0
    with opened(on_sqlite, clock=clock) as stored:
        assert stored.trial_sums.looks == () and stored._store.groups != key and stored.version == 0
        assert check(stored, play(stored, 40, seed=5))
        stored.end_experiment()
    restored(on_sqlite, made())
    with opened(on_sqlite, clock=clock) as stored:
        assert stored.trial_sums.ended == 0 and {group for group, _ in play(stored, 20, seed=6).values()} == {0}


def test_it_moves_to_another_database(on_sqlite, on_postgres, quiet):
    with opened(on_sqlite) as stored:
        happened, clock = play(stored, 33), stored._clock
    move(on_sqlite.where, on_postgres.where, keys=on_sqlite.keys)
    with opened(Place(on_postgres.where, on_sqlite.keys), clock=clock) as stored:
        happened |= play(stored, 33, seed=2)
        assert check(stored, happened) and stored.trial_sums.looks[-1].people > 50


def test_its_key_is_one_of_the_folders(on_sqlite):
    with opened(on_sqlite) as stored:
        assert stored._store.seal.keys.labels(f"{stored._store.uid}.groups") == [f"{stored._store.uid}.groups"]
        key, shown = stored._store.groups, f"{stored._store!r}{stored._shared.assignment!r}{stored.trial_sums}"
        assert len(key) == 32 and key.hex() not in shown and repr(key) not in shown
        stored._store.seal.keys.destroy(f"{stored._store.uid}.groups")
    with pytest.raises(WrongKeys):
        opened(on_sqlite)


def test_what_it_needs_and_what_it_refuses(on_sqlite):
    with pytest.raises(ValueError, match="Expected a reward with window and default in an experiment.* no default"):
        glm(holdout=HOLDOUT)
    with opened(on_sqlite) as stored:
        with pytest.raises(ValueError, match="Expected no log in an experiment"):
            stored.learn_log({"x0": [0.0], "x1": [0.0], "x2": [0.0], "reward": [1.0]}, log="a")
        assert stored.privacy.releases[0].name == "one of"
    for other in (None, Holdout(action=1, share=0.1), Holdout(action=2, share=0.2)):
        with pytest.raises(BadState, match="holdout"):
            opened(on_sqlite, other)
    with on_sqlite.open(glm(), name="plain") as stored:
        assert stored.trial_sums is None
        with pytest.raises(ValueError, match="Expected a bandit in an experiment"):
            stored.end_experiment()


def killed_at_every_statement(place):
    """A worker is killed before each statement of a choice and its reward, and of the holdout's end; the same is asked
    again by the next one. Every number counts once: with its reward, or as the default where it was lost."""

    clock, number, alive = Clock(), 0, True

    def begun():
        return (opened(place, clock=clock),)

    def work(stored):
        stored.observe(stored.choose(np.eye(3), request=f"{number}"), 1.0)

    opened(place).close()
    while alive:
        alive = dies_at(number, place, work, begun)
        with opened(place, clock=clock) as stored:
            work(stored)
            settle(stored)
        number += 1
    assert number > 4
    for at in range(20):
        alive = dies_at(at, place, lambda stored: stored.end_experiment(), begun)
        with opened(place, clock=clock) as stored:
            if stored.trial_sums.ended is not None:
                break
            assert alive
    with opened(place, clock=clock) as stored:
        ended = stored.trial_sums.ended
        for i in range(30):
            stored.observe(stored.choose(np.eye(3), request=f"later {i}"), 1.0)
        settle(stored)
        found = table(stored, "SELECT number FROM choice WHERE bandit = ?", stored._store.uid)
        answered, group = {int(one) for (one,) in found}, stored._shared.assignment.group
        assert ended % 5 == 0 and all(group(n) == 0 for n in range(ended + 1, ended + 20))
        assert check(stored, {n: (group(n), 1.0 if n in answered else MISSING) for n in range(1, stored.choices + 1)})
        assert len(answered) == number + 30 <= stored.choices


@pytest.mark.full
def test_killed_at_every_statement(on_sqlite, quiet):
    killed_at_every_statement(on_sqlite)


@pytest.mark.full
def test_killed_at_every_statement_on_postgres(on_postgres, quiet):
    killed_at_every_statement(on_postgres)


@pytest.mark.parametrize("assign", ["blocks", "coins"])
def test_what_was_released_stays_when_it_retires(on_sqlite, quiet, assign):
    """Coins cannot be counted without their key, which is destroyed."""
    holdout = Holdout(action=1, share=0.2, assign=assign)
    with opened(on_sqlite, holdout) as stored:
        happened, clock, before = play(stored, 40), stored._clock, stored.trial_sums
    retire(on_sqlite.where, keys=on_sqlite.keys)
    with opened(on_sqlite, holdout, clock=clock) as stored:
        if assign == "coins":
            assert stored.trial_sums is None
        else:
            assert stored.trial_sums.looks[: len(before.looks)] == before.looks and check(stored, happened)


def after(place, fate, monkeypatch):
    """Exact sums by step, in cells, of 40 people of whom the first of a group has that fate."""
    with_key = lambda holdout, key, **options: Assignment(holdout, bytes(32), **options)  # noqa: E731
    monkeypatch.setattr("reticent_serve.holders.shared_settings.Assignment", with_key)
    bandit = made()
    with place.open(bandit, name=fate.replace(" ", "-")) as stored:
        group = int(fate.endswith("holdout"))
        canary = next(n for n in range(1, 11) if stored._shared.assignment.group(n) == group)
        rng = np.random.default_rng(6)
        for number in range(1, 41):
            x, own = np.repeat(arms(rng, count=1), 2, axis=0), number == canary  # whichever arm is drawn
            if own and fate.startswith("bad"):
                with pytest.raises(RefusedRequest):
                    stored.choose(x * np.nan)
                continue
            if own and fate.startswith("lost"):
                with stored._database.transaction() as run:
                    stored._choosing.taken(run, 1)
                continue
            choice = stored.choose(x if not own else -x)
            if not own or not fate.startswith("silent"):
                reward = {"yes": 1.0, "no": 0.0, "cancels": None}.get(fate.split()[0], 1.0) if own else number % 2
                stored.observe(choice, reward)
        settle(stored)
        return bandit, group, sums(stored)


@pytest.mark.parametrize("who", ["bandit", "holdout"])
def test_one_person_moves_one_step_and_one_group_by_at_most_the_claim(on_sqlite, quiet, monkeypatch, who):
    """Whatever becomes of the person's request. Later steps are those of the others, whose groups have not moved."""
    found = {fate: after(on_sqlite, f"{fate} {who}", monkeypatch) for fate in FATES}
    moved = set()
    for one, other in itertools.combinations(FATES, 2):
        (bandit, group, zero), (_, _, another) = found[one], found[other]
        one_pass = bandit.one_pass(exact=True)
        start, grid = one_pass.learnt.sums.size, one_pass.plan.mechanism
        apart = {step: zero[step] - another[step] for step in zero}
        assert grid.cell * np.linalg.norm(apart[0]) <= grid.sensitivity(one_pass.model.sums.sensitivity)
        moved |= set(np.flatnonzero(apart[0][start:]).tolist())
        assert len(zero) == 5 and all(not apart[step][start:].any() for step in range(1, 5))
    assert moved == {group}
