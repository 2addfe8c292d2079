"""Replay of a bandit on a database: with the same noisy leaves and quite other people, all that it shows is the same.

As tests/whole/test_replay.py, for every public name of `Stored`: a new one has to be in ASKED or QUIET."""

import numpy as np
import pytest

from reticent import Holdout
from reticent.core.assignment import Assignment
from reticent.core.curator import Curator
from reticent.errors import ReticentError
from reticent.mechanisms import leaves
from reticent.mechanisms.opening import opened
from reticent_serve import Stored
from reticent_serve.holders import rows
from reticent_serve.holders.choosing import Choosing
from reticent_serve.holders.served import ServedEstimates
from serve_tests.store.places import Clock, arms, glm, linear, table
from tests.whole import replay
from tests.whole.tape import Tape, frozen

ASKED = {
    "erase": lambda stored, given: stored.erase("somebody"),
    "interval": lambda stored, given: (stored.interval(given), stored.interval(given, level=0.5)),
    "offers": lambda stored, given: stored.offers(given),
}
QUIET = {  # they show nothing, or to the trusted only
    *("choose", "choose_group", "observe", "write_group", "prepare", "report", "tend", "close", "secret"),
    *("backup", "check_keys", "with_propensity", "learn_log", "look"),
    *("end_experiment", "unreadable"),
}
SIZES = {
    "leaves": "SELECT step, length(sums), noisy, visible_at FROM leaf WHERE bandit = ? ORDER BY step",
    "choices": "SELECT number, length(sealed), length(mark) FROM choice WHERE bandit = ? ORDER BY number",
    "waiting": "SELECT number, made_at, length(ticket), length(sealed) FROM waiting WHERE bandit = ? ORDER BY number",
    "open step": "SELECT step, settled, closed_at, length(sums) FROM open_step WHERE bandit = ?",
}
ROUNDS, EVERY = 60, 5  # one user in so many is in all runs


def shown(stored, given):
    """Everything public, by its name."""
    out = {"repr": type(stored).__repr__ is object.__repr__}
    for name in dir(Stored):
        if name.startswith("_") or name in QUIET:
            continue
        assert name in ASKED or not callable(getattr(Stored, name)), f"{name} is shown, and not compared"
        out[name] = frozen(ASKED[name](stored, given) if name in ASKED else getattr(stored, name))
    return out


def refusals(stored, choice, earlier):
    """What is said to a user who does something wrong, twice, or late."""
    wrong = (
        *(lambda: stored.observe(choice, 0.5), lambda: stored.observe(earlier, 0.5)),
        *(lambda: stored.observe(choice.id, 7.0), lambda: stored.observe("00" * 24, 0.5)),
        *(lambda: stored.choose([[np.nan] * 3]), lambda: stored.choose(np.eye(3), person="nobody asked")),
    )
    out = []
    for act in wrong:
        try:
            out.append(repr(act()))
        except (ValueError, ReticentError) as error:
            out.append(f"{type(error).__name__}: {error}")
    return out


def run(place, kind, people, name):
    """The users who are in all runs see everything; the others differ by `people`, in number of arms and names, and in
    whether, when and how often they answer: nobody does in the last run."""
    same, others, clock, own, out = np.random.default_rng(0), np.random.default_rng(people), Clock(), [], []
    held, late = replay.Held(), []
    with place.open(kind(first=6), policy=np.random.default_rng(7), name=name, delay=3.0, clock=clock) as stored:
        for i in range(ROUNDS):
            clock.now += 1.0
            with held.round(i):
                if i % EVERY == 0:
                    given = arms(same)
                    with replay.logged() as lines:
                        choice = stored.choose(given, request=f"{i}")
                        stored.tend()
                        seen = {"index": choice.index, "by": choice.version, "propensity": choice.propensity.hex()}
                        own.append(choice)
                        seen["in time"] = stored.observe(choice, 0.5)
                        seen |= shown(stored, given) | {"refused": refusals(stored, choice, own[len(own) // 2])}
                    out.append(seen | {"log": lines, "next": stored._served.next_at})
                    continue
                choice = stored.choose(arms(others, count=int(others.integers(1, 9))), request=f"{i}")
                if i % EVERY == 2:
                    stored.tend()
                fate = (1, int(others.integers(4)), 0)[people - 1]
                for _ in range(fate):
                    stored.observe(choice, float(others.random()))
                late += [choice] if fate == 0 and people < 3 else []
                if late and others.random() < 0.3:
                    stored.observe(late.pop(), None if others.random() < 0.5 else 1.0)
        return [*out, {name: table(stored, statement, stored._store.uid) for name, statement in SIZES.items()}]


def check(place, kind):
    tape = Tape()
    with tape.recording():
        first = run(place, kind, 1, "first")
    for people, name in ((2, "second"), (3, "third")):
        with tape.playing():
            again = run(place, kind, people, name)
        for i, (one, other) in enumerate(zip(first, again, strict=True)):
            wrong = sorted(what for what in one if one[what] != other[what])
            assert not wrong, f"{', '.join(wrong)} not the same with other people in round {EVERY * i}"
    assert len(tape.kept) >= 6 and int(first[-2]["version"]) >= 5


def experiment(**settings):
    return glm(holdout=Holdout(policy="uniform", share=0.5, actions=()), default=0.0, **settings)


@pytest.mark.parametrize("kind", [glm, linear])
def test_quite_other_people_change_nothing_that_is_shown(place, kind):
    check(place, kind)


def test_an_experiment_changes_nothing_of_that(place, monkeypatch):
    """Each run has the same key of groups."""
    with_key = lambda holdout, key, **options: Assignment(holdout, bytes(32), **options)  # noqa: E731
    monkeypatch.setattr("reticent_serve.holders.shared_settings.Assignment", with_key)
    check(place, experiment)


# planted: each shows a little of what is raw, and is found


def answers(run, uid):
    """Rewards of choices that wait: how many came is raw."""
    return run("SELECT count(*) FROM written WHERE bandit = ?", uid)[0][0]


def in_the_time(patch):
    """A step ends earlier, the more people have answered."""
    put = rows.put_step

    def earlier(run, uid, new):
        put(run, uid, new._replace(closed_at=new.closed_at and new.closed_at - 1e-6 * answers(run, uid)))

    patch.setattr(rows, "put_step", earlier)


def in_the_schedule(patch):
    """A step is longer by one choice if the number of answers is odd."""
    advance = rows.advance

    def longer(run, uid, new):
        advance(run, uid, new._replace(boundary=new.boundary + answers(run, uid) % 2))

    patch.setattr(rows, "advance", longer)


def in_the_entries(patch):
    """A choice enters as soon as it is answered."""
    times = rows.times

    def sooner(run, uid, start, most):
        came = {number for (number,) in run("SELECT number FROM written WHERE bandit = ?", uid)}
        return [(number, 0.0 if number in came else at) for number, at in times(run, uid, start, most)]

    patch.setattr(rows, "times", sooner)


def in_a_choice(patch):
    """Who has answered makes the next choice another one."""
    draw = Curator.draw

    def moved(self, asked):
        drawn, vault = draw(self, asked), self.book._store
        with vault.database.transaction() as run:
            count = answers(run, vault.uid)
        return drawn._replace(picked=(drawn.picked + count) % len(asked.offer.arms))

    patch.setattr(Curator, "draw", moved)


def in_the_estimate(patch):
    show = ServedEstimates._show

    def leaky(self, leaf):
        with self._store.database.transaction() as run:
            count = answers(run, self._store.uid)
        noisy = leaves.read(leaf.noisy, self.estimator.algorithm.plan.mechanism.size) + 1e-9 * count
        show(self, leaf._replace(noisy=leaves.written(noisy)))

    patch.setattr(ServedEstimates, "_show", leaky)


def in_a_leaf(patch):
    """The exact sums."""
    measured, kept = leaves.ClosedSteps.measured, []
    patch.setattr(
        leaves.ClosedSteps, "measured", lambda self, sums, source: kept.append(sums) or measured(self, sums, source)
    )
    patch.setattr(leaves, "written", lambda noisy: opened(kept[-1]).astype(float).tobytes())


def in_the_count(patch):
    """Choices that are not answered are not counted yet."""
    choices = Stored.choices.fget
    patch.setattr(
        Stored, "choices", property(lambda self: choices(self) - table(self, "SELECT count(*) FROM written")[0][0])
    )


def in_the_reply(patch):
    """Whether a reward is the first one of its choice."""
    write = Choosing.write

    def tells(self, reports):
        with self._database.transaction() as run:
            before = answers(run, self._store.uid)
        return [one and before % 2 == 0 for one in write(self, reports)]

    patch.setattr(Choosing, "write", tells)


LEAKS = (in_the_time, in_the_schedule, in_the_entries, in_a_choice, in_the_estimate, in_a_leaf)


@pytest.mark.parametrize("leak", [*LEAKS, in_the_count, in_the_reply], ids=lambda leak: leak.__name__)
def test_leaks_are_found(leak, on_sqlite, monkeypatch):
    leak(monkeypatch)
    with pytest.raises(AssertionError, match="with other people"):
        check(on_sqlite, linear)
