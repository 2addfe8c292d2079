"""A successor: a new bandit from what a backup has of releases. Nothing raw goes along, the witness says what its
predecessor is charged with, and a restore that is killed is done again."""

import dataclasses
import math
import shutil

import numpy as np
import pytest

from reticent import Budget
from reticent.errors import BadState, Moved, Retired, RolledBack, UnknownChoice
from reticent.privacy import gaussian
from reticent_serve import restore, retire
from reticent_serve.holders import restoring
from reticent_serve.holders.backups import Backup
from reticent_serve.holders.closed import RESTORE
from reticent_serve.holders.moving import move
from reticent_serve.holders.seal import Keys
from reticent_serve.holders.witness import older
from serve_tests.store.places import (
    BUDGET,
    Place,
    arms,
    backed_up,
    glm,
    linear,
    lived,
    play,
    restored,
    settle,
    table,
    total,
)
from serve_tests.store.processes import dies_at

MU = gaussian.mu(BUDGET)


def epsilon(times):
    return pytest.approx(gaussian.epsilon(math.sqrt(times) * MU, 1e-5), rel=1e-3)


def together(stored):
    """What its certificate says of those who were in all of them; it names each predecessor."""
    (said,) = [caveat for caveat in stored.privacy.caveats if caveat.startswith("Restored")]
    assert all(uid in said for uid in stored.predecessors)
    return float(said.partition("in all of them has epsilon ")[2].split()[0])


def snapshot(stored):
    """The estimate, and the sums that it is made from."""
    return stored.theta, np.copy(stored._served.estimator._released)


# what goes along


@pytest.mark.parametrize("kind", [glm, linear])
def test_it_starts_from_what_was_released_and_from_nothing_that_is_raw(place, folder, kind, rng):
    with place.open(kind()) as stored:
        play(stored, rng, 35, together=12)
        waiting, before = stored.choose(arms(rng), request="w"), stored._store.uid
        stored.observe(waiting, 1.0)
        estimate, prefix = snapshot(stored)
    content = backed_up(place, folder / "backup").read_bytes()
    uid = restore(kind(), folder / "backup", place.where, keys=place.keys)
    assert (folder / "backup").read_bytes() == content and not list(folder.glob("backup?*"))
    with place.open(kind()) as stored:
        assert stored._store.uid == uid != before and stored.predecessors == (before,)
        assert stored.version == 0 and stored.choices == 0 and not total(stored).any()
        assert np.array_equal(snapshot(stored)[1], prefix)
        if kind is glm:  # the same sums and noise; a UCB's regulariser is made for more noise
            assert np.allclose(snapshot(stored)[0], estimate, rtol=0, atol=1e-12)
        for raw in ("choice", "waiting", "written", "leaf", "drawn", "person"):
            assert table(stored, f"SELECT count(*) FROM {raw}") == [(0,)]
        assert stored.choose(arms(rng), request="w").id != waiting.id
        play(stored, rng, 12, together=12)
        assert stored.version == 1
        assert [what for _, what in stored.events] == [f"restored: a new bandit in the place of {before}"]
    labels = Keys(place.keys).labels("")
    assert f"{before}.tickets" in labels  # of its ids, and nothing else
    assert {label.partition(".")[0] for label in labels if label != f"{before}.tickets"} == {uid, "bandit"}


def test_ids_of_the_predecessor_are_not_counted_and_prove_nothing(place, rng):
    """Also one of a number that the new bandit has not come to, or has given to another choice."""
    old = lived(place)
    restored(place, glm())
    with place.open(glm()) as stored:
        own = stored.choose_group([stored.prepare(arms(rng)) for _ in range(5)])
        for choice in (old[0], old[-1]):
            assert stored.observe(choice.id, 1.0) is False
        reports = [stored.report(choice.id, 0.0) for choice in (own[1], old[1], own[2])]
        assert stored.write_group(reports) == [True, False, True]
        settle(stored)
        assert stored.entered == 5 and stored.events[-1][1].startswith("restored")
        with pytest.raises(UnknownChoice):
            stored.observe(f"{int(old[0].id[0], 16) ^ 8:x}{old[0].id[1:]}", 1.0)


def test_the_noise_of_a_prior_is_taken_into_account(place):
    """Twice restored after n releases: variances add up, faded."""
    n, one_pass = 3, glm().one_pass(exact=True)
    grid = one_pass.plan.mechanism
    std = grid.sigma * float(grid.gain(np.array([float(n)]))[0])
    for _ in range(2):
        with place.open(glm()) as stored:
            play(stored, np.random.default_rng(6), 10 * n + 1, together=12)
            assert stored.version == n
        restored(place, glm())
    with place.open(glm()) as stored:
        expected = math.hypot(std, grid.fading**n * std)
        assert stored._store.bandit.prior_std == pytest.approx(expected)
        used = stored._served.estimator.algorithm
        assert used.gains[0] * grid.sigma == pytest.approx(expected) and used.gains[2] > one_pass.gains[2]


def test_another_database_where_the_first_is_lost(on_sqlite, on_postgres, folder):
    with on_postgres.open(glm()) as stored:
        play(stored, np.random.default_rng(0), 12, together=12)
        before = snapshot(stored)[1]
    backed_up(on_postgres, folder / "backup")
    for other in (
        on_sqlite,
        on_sqlite._replace(where=str(folder / "b.db"), keys=folder / "other"),
    ):  # with its keys, too
        restore(glm(), folder / "backup", other.where, keys=other.keys)
        with other.open(glm()) as stored:
            assert np.array_equal(snapshot(stored)[1], before)


# what it costs


def test_it_is_charged_with_what_the_witness_has_on_record(place, folder, rng):
    """And not with what the backup has: two releases more were shown. A round in one of them alone costs no more."""
    with place.open(glm()) as stored:
        play(stored, rng, 12, together=12)
        alone = stored.privacy
    backed_up(place, folder / "backup")
    with place.open(glm()) as stored:
        play(stored, rng, 24, prefix="s", together=12)
        assert stored.version == 3
        spent = stored.privacy.spent
    said = restoring.cost(glm(), folder / "backup", place.where, keys=place.keys)
    restore(glm(), folder / "backup", place.where, keys=place.keys)
    with place.open(glm()) as stored:
        found, mu = stored.privacy, gaussian.mu(Budget(spent, 1e-5))
        assert found.epsilon == alone.epsilon == said.alone and found.private and found.spent == 0.0
        assert (
            [one.steps for one in stored._store.bandit.predecessors] == [3] == [one.steps for one in said.predecessors]
        )
        expected = gaussian.epsilon(math.hypot(mu, MU), 1e-5)
        assert together(stored) == pytest.approx(expected, rel=1e-3) == pytest.approx(said.together, rel=1e-3)


def test_without_a_witness_it_is_charged_with_the_whole_plan(place, folder):
    lived(place)
    shutil.rmtree(place.keys)
    with pytest.raises(BadState):
        place.open(glm())
    assert not place.keys.exists()
    restored(place, glm())
    with place.open(glm()) as stored:
        assert together(stored) == epsilon(2) and "its witness is lost" in stored.privacy.caveats[-1]


def test_a_chain_adds_up_also_from_a_backup_of_the_first(place, folder):
    """A file from before an earlier restore is of the same line: the bandit that came between is charged, too."""
    for i in range(3):
        with place.open(glm()) as stored:
            play(stored, np.random.default_rng(i), 12, prefix=f"{i} ", together=12)
            spent = gaussian.mu(Budget(stored.privacy.spent, 1e-5))
            uids = (*stored.predecessors, stored._store.uid)
        if i == 0:
            backed_up(place, folder / "first")
        if i < 2:
            restored(place, glm())
    restore(glm(), folder / "first", place.where, keys=place.keys)
    with place.open(glm()) as stored:
        assert stored.predecessors == uids and len(uids) == 3
        expected = gaussian.epsilon(math.sqrt(MU**2 + 3 * spent**2), 1e-5)
        assert together(stored) == pytest.approx(expected, rel=1e-3)


def test_nothing_is_charged_before_the_first_release(on_sqlite):
    with on_sqlite.open(glm()) as stored:
        stored.choose(np.eye(3))
    restored(on_sqlite, glm())
    with on_sqlite.open(glm()) as stored:
        assert together(stored) == pytest.approx(stored.privacy.epsilon, rel=1e-3)


def test_a_person_has_all_rounds_in_each_of_them(place):
    def limited():
        return glm(rounds=3)

    with place.open(limited()) as stored:
        stored.choose_group([stored.prepare(np.eye(3), person=f"{i}") for i in range(10)])
        settle(stored)
        spent = gaussian.mu(Budget(stored.privacy.spent, 1e-5))
    restored(place, limited())
    with place.open(limited()) as stored:
        assert stored.privacy.private and stored.privacy.epsilon == epsilon(1)
        assert together(stored) == pytest.approx(gaussian.epsilon(math.hypot(MU, spent), 1e-5), rel=1e-3)


# what is refused


def test_what_is_refused_changes_nothing(place, folder):
    lived(place)
    place.open(linear(), name="other").close()
    backed_up(place, folder / "backup")
    stranger = Place(str(folder / "stranger.db"), folder / "stranger")
    stranger.open(glm()).close()
    backed_up(stranger, folder / "of a stranger")
    (folder / "text").write_text("x" * 9000)
    (folder / "empty").touch()
    before = {path.name: path.read_bytes() for path in place.keys.iterdir()}
    for given, file, name, error, words in (
        (glm(), "backup", "nobody", BadState, "of the name nobody"),
        (glm(radius=2.0), "backup", "bandit", BadState, "settings that bandit was made with"),
        (glm(), "none", "bandit", ValueError, "no such file"),
        (glm(), "text", "bandit", BadState, "got another file"),
        (glm(), "empty", "bandit", BadState, "of the name bandit in the backup, got none"),
        (glm(), ".", "bandit", ValueError, "got a folder"),
        (glm(), "of a stranger", "bandit", BadState, "another bandit of the same name"),
    ):
        for work in (restoring.cost, restore):
            with pytest.raises(error, match=words):
                work(given, folder / file, place.where, name=name, keys=place.keys)
    with pytest.raises(BadState, match="another bandit of the same name"):  # by the witness alone
        restore(glm(), folder / "of a stranger", str(folder / "new.db"), keys=place.keys)
    assert {path.name: path.read_bytes() for path in place.keys.iterdir()} == before
    assert not (folder / "new.db").exists()
    place.open(glm()).close()
    retire(place.where, keys=place.keys)
    for work in (restoring.cost, restore):
        with pytest.raises(Retired):
            work(glm(), folder / "backup", place.where, keys=place.keys)


def test_a_backup_that_is_put_in_place_by_hand_is_refused(on_sqlite, folder):
    """Also where nothing was released since, so that the witness sees no difference."""
    on_sqlite.open(glm()).close()
    shutil.copy(on_sqlite.where, folder / "copy.db")
    backed_up(on_sqlite, folder / "backup")
    shutil.copy(folder / "backup", on_sqlite.where)
    with pytest.raises(RolledBack, match="got a backup of it") as error:
        on_sqlite.open(glm())
    assert all(f"If it is lost: {RESTORE}" in str(said) for said in (error.value, older()))  # else keys in use would go
    restore(glm(), folder / "backup", on_sqlite.where, keys=on_sqlite.keys)
    on_sqlite.open(glm()).close()
    shutil.copy(folder / "copy.db", on_sqlite.where)  # and so is the predecessor itself
    with pytest.raises(RolledBack, match="got the one before it"):
        on_sqlite.open(glm())


def test_what_has_moved_is_neither_backed_up_nor_restored_in_its_old_place(on_sqlite, on_postgres, folder):
    on_sqlite.open(glm()).close()
    backed_up(on_sqlite, folder / "backup")
    move(on_sqlite.where, on_postgres.where, keys=on_sqlite.keys)
    made = Backup(folder / "other")
    with pytest.raises(Moved):
        made.add(on_sqlite.where, keys=on_sqlite.keys)
    made.abandon()
    assert not list(folder.glob("other*"))
    with pytest.raises(Moved):
        restore(glm(), folder / "backup", on_sqlite.where, keys=on_sqlite.keys)


def test_workers_of_the_predecessor_are_refused(on_postgres, folder, rng):
    """Those that are open, and that drew a leaf which the witness did not know; and its own database put back."""
    with on_postgres.open(glm()) as stored:
        choice = stored.choose(arms(rng))
        restored(on_postgres, glm())
        for call in (lambda: stored.choose(arms(rng)), lambda: stored.observe(choice, 1.0), stored.tend):
            with pytest.raises(RolledBack):
                call()
        with pytest.raises(RolledBack):
            stored._store.witness.record(dataclasses.replace(stored._steps._drawn, used=1))


# kill -9


@pytest.mark.parametrize("apart", [pytest.param(1, marks=pytest.mark.full), 5])
def test_a_restore_that_is_killed_leaves_the_predecessor_or_a_whole_successor_or_nobody(place, folder, apart, clock):
    """Done again it is done; what was released is charged once, and no raw row and no key of it is left."""
    with place.open(glm(), clock=clock) as stored:
        play(stored, np.random.default_rng(0), 12, together=12)
        first, prefix = stored._store.uid, snapshot(stored)[1]
    backed_up(place, folder / "backup")
    before, outcomes = first, []
    for number in range(0, 300, apart):
        was = dies_at(number, place, lambda: restore(glm(), folder / "backup", place.where, keys=place.keys))
        try:
            with place.open(glm(), clock=clock) as stored:
                opened = stored._store.uid
                assert opened == before or (before in stored.predecessors and stored.choices == 0)
                outcomes.append((was, opened != before))
        except RolledBack:
            outcomes.append((was, None))
            assert was
        restore(glm(), folder / "backup", place.where, keys=place.keys)
        with place.open(glm(), clock=clock) as stored:
            assert np.array_equal(snapshot(stored)[1], prefix)
            charged = {one.uid: one.steps for one in stored._store.bandit.predecessors}
            assert charged.pop(first) == 1 and set(charged.values()) <= {0}
            before = stored._store.uid
            others = {label for label in Keys(place.keys).labels("") if not label.startswith((before, "bandit."))}
            assert all(label.endswith(".tickets") for label in others)
        if not was:
            break
    assert outcomes[-1] == (False, True) and {(True, False), (True, None)} <= set(outcomes)
