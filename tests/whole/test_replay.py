"""What is shown depends on released sums, own arms and fresh randomness alone: every private bandit, by replay.

Nothing here is by chance: a leak of the last bit of a number is seen, and there are no false alarms."""

import itertools
from unittest import mock

import numpy as np
import pytest

from core_tests.made import any_kind, joint
from reticent import Bandit, Budget, Holdout, JointGLM, Secure, Simulated, registry
from reticent.core.memory import Sums
from reticent.errors import WrongBatch
from reticent.experiments.spec import settings_of
from reticent.features import Category, Number, Schema
from reticent.mechanisms import recursive
from reticent.models import glm as glm_model
from reticent.testing.leaks import Leaking
from reticent_devices import Embedded, LocalIRLS, ShuffleNewton
from tests.registered import bandits
from tests.whole import leaks, replay
from tests.whole.leaks import leaking

BUDGET = Budget(1.0, 0.02)


def made(kind, **options):
    """What makes one, with a source of noise and, where a test asks for it, a leak; policies draw alike each time.
    kind: of a bandit that is one class with its algorithm, of a bandit with a JointGLM, or JointGLM."""
    if issubclass(kind, JointGLM | Bandit):
        face = Bandit if issubclass(kind, JointGLM) else kind

        def composed(source, leak=None):
            given = {"features": 2, "horizon": 400, "budget": BUDGET} | options
            return joint(kind=leaking(leak, face), source=source, policy=np.random.default_rng(3), **given)

        return composed
    draws = "policy" in kind.__dataclass_fields__

    def make(source, leak=None):
        settings = {"features": 2, "horizon": 400, "budget": BUDGET, "source": source}
        settings |= {"policy": np.random.default_rng(3)} if draws else {}
        return any_kind(leaking(leak, kind), **settings | options)

    return make


def long_vectors(kind, **options):
    """With ten sums of the past, which vectors of any length have here."""

    def make(source, leak=None):
        with mock.patch.object(recursive, "LARGEST_TABLE", 1):
            return made(kind, **options)(source, leak)

    return make


def embedded(kind, **options):
    return lambda source, leak=None: leaking(leak, Embedded)(made(kind, **options)(source))


def registered(table, how, package="reticent", **options):
    """Every bandit of a package as it comes, with those of the options that it has; below are those with others."""
    kinds = {name: registry.load(*home) for name, home in bandits(package, table).items()}
    return {
        name: how(kind, **{key: value for key, value in options.items() if key in settings_of(kind)})
        for name, kind in kinds.items()
    }


HELD = {  # choices enter at their deadlines
    "joint-glm-window": made(JointGLM, first=6, window=7),
    "joint-glm-holdout": made(JointGLM, first=6, window=3, default=0.0, holdout=Holdout(policy="uniform", share=0.5)),
    "joint-glm-holdout-coins": made(
        JointGLM, first=6, window=3, default=0.5, holdout=Holdout(policy="uniform", assign="coins")
    ),
    "joint-glm-window-silence": made(JointGLM, first=6, window=4, default=0.0),
}
JOINT_CASES = registered("JOINT", made, first=6) | {
    "joint-glm-forget": made(JointGLM, first=3, forget=30),
    "joint-glm-probit": made(JointGLM, first=6, link="probit", radius=2.0),
    "joint-glm-long": long_vectors(JointGLM, first=6),
    "joint-glm-scores": made(JointGLM, first=6, model="scores"),
    "joint-glm-base-rate": made(JointGLM, first=6, base_rate=0.2),
    "joint-glm-warm": made(JointGLM, first=6, prior=([0.3, 0.2], 1.0), rows=([[0.6, 0.1], [0.2, 0.7]], [1.0, 0.0])),
    **HELD,
}
SHUFFLE_CASES = registered("SHUFFLE", embedded, first=16) | {
    "shuffle-newton-scores": embedded(ShuffleNewton, first=16, curvature="none"),
    "shuffle-newton-sum": embedded(ShuffleNewton, first=16, estimate="sum"),
    "shuffle-newton-elimination": embedded(ShuffleNewton, first=16, explore="elimination"),
}
# A report that is sent when a reward comes is there or not: everybody answers.
LOCAL_CASES = registered("LOCAL", embedded) | {
    "local-irls": embedded(LocalIRLS, first=5, forced=10),
    "local-irls-scores": embedded(LocalIRLS, first=5, forced=10, curvature="none"),
    "local-irls-public": embedded(LocalIRLS, first=5, forced=10, public_arms=True),
}


def test_step_by_step_with_secure_noise(joint_case):
    assert replay.check(lambda: joint_case(Secure())) >= 2


def test_rows_of_a_log_with_secure_noise():
    """Bad rewards among them."""
    assert replay.check(lambda: JOINT_CASES["joint-glm"](Secure()), replay.logs) >= 2


class ByFields(Bandit):
    """Whoever asks has fields, made of the first of the arms; there are as many actions on offer as arms."""

    def choose(self, arms, **options):
        return super().choose(*self._asked(arms), **options | {"actions": NAMES[: len(arms)]})

    def choose_many(self, rows):
        return super().choose_many([self._asked(arms)[0] for arms in rows], actions=NAMES[:3])

    def interval(self, arms, **options):
        return super().interval(*self._asked(arms), **options | {"actions": NAMES[: len(arms)]})

    def _asked(self, arms):
        x = np.asarray(arms["0"] if isinstance(arms, dict) else arms[0])
        if x.shape != (self.memory.validator.width,):
            raise ValueError("Expected other arms, got these.")
        age = float(50 + 1e8 * x[0]) if np.isfinite(x).all() else "much"
        return ({"age": age, "plan": "free" if x[1] > 0 else "paid"},)


NAMES = [str(i) for i in range(12)]
PEOPLE = Schema(
    context={"age": Number(0, 100, bins=3), "plan": Category("free", "paid")}, arms="disjoint", actions=tuple(NAMES)
)
FIELDS = {"plain": {}, "window": {"window": 7}, "base-rate": {"base_rate": 0.2}, "blocks": {"model": "curvature"}}


@pytest.mark.parametrize("name", FIELDS)
def test_fields_with_secure_noise(name):
    make = made(ByFields, first=6, features=PEOPLE, **FIELDS[name])
    assert replay.check(lambda: make(Secure())) >= 2


class Named(Bandit):
    """Everybody has an id, another in each run: who has taught how often, and how coins fell, is never the same."""

    _runs = itertools.count()

    def choose(self, arms, **options):
        return super().choose(arms, person=self._somebody(), **options)

    def choose_many(self, arms, **options):
        return super().choose_many(arms, persons=[self._somebody() for _ in arms], **options)

    def _somebody(self):
        return int(self.__dict__.setdefault("_crowd", np.random.default_rng([9, next(self._runs)])).integers(4))


LIMITS = {"ever": {}, "weeks": {"per": 15}}


@pytest.mark.parametrize("name", LIMITS)
def test_who_teaches_is_not_shown(name):
    make = made(Named, first=6, rounds=2, **LIMITS[name])
    assert replay.check(lambda: make(Secure())) >= 2


SIMULATED_CASES, LOOP_CASES = JOINT_CASES, JOINT_CASES | SHUFFLE_CASES | LOCAL_CASES


def test_step_by_step_with_simulated_noise(simulated_case):
    assert replay.check(lambda: simulated_case(Simulated(4))) >= 2


def test_in_a_compiled_loop(loop_case):
    assert replay.check(lambda: loop_case(Simulated(4)), replay.blocks) >= 2


@pytest.mark.parametrize("source", [None, 4])
def test_shuffle(shuffle_case, source):
    assert replay.check(lambda: shuffle_case(source and Simulated(source))) >= 2


def test_draws_are_the_same_however_many_rewards_never_came():
    """A device of the round before chooses, after as many reports of nobody."""
    drawn = []
    for absent in (0, 3):
        server, held = ShuffleNewton(2, BUDGET, first=60), replay.Held()
        with held.round(1):
            device = server.device()
        with held.round(2):
            for _ in range(absent):
                server.device().report(np.zeros(2), None)
            drawn.append([device.choose(np.eye(2).repeat(50, 0)).index for _ in range(5)])
    assert drawn[0] == drawn[1] and len(set(drawn[0])) > 1


@pytest.mark.parametrize("source", [None, 4])
def test_local(local_case, source):
    assert replay.check(lambda: local_case(source and Simulated(source)), absent=False) >= 2


def planted(leaks, cases):
    return {f"{leak.__name__}-{name}": (leak, make) for leak in leaks for name, make in cases.items()}


LEAK_CASES = planted((leaks.Entered, leaks.Patient, leaks.Told), HELD)
LEAK_CASES |= planted(
    (leaks.Raw, leaks.Counted, leaks.Timed, leaks.Waiting),
    {name: make for name, make in JOINT_CASES.items() if name not in HELD},
)
LEAK_CASES |= planted((leaks.Raw, leaks.Counted, leaks.Answered, leaks.Waiting), SHUFFLE_CASES)


def test_leaks_are_found(leak_case):
    leak, make = leak_case
    with pytest.raises((AssertionError, WrongBatch), match="with other people|as its billboard says"):
        replay.check(lambda: make(Simulated(4), leak))


def test_leaks_of_a_local_server_are_found(local_case):
    with pytest.raises(AssertionError, match="with other people"):
        replay.check(lambda: local_case(None, leaks.Raw), absent=False)


@pytest.mark.parametrize("source", [Secure, lambda: Simulated(4)])
def test_exact_sums_in_the_estimate_are_found(source):
    with pytest.raises(AssertionError, match="not the same with other people"):
        replay.check(lambda: made(Leaking, first=6)(source()))


class LateSums(Sums):
    """In a compiled loop: the rewards of a block move the estimate after it."""

    def rounds(self, block, held, tend):
        played = super().rounds(block, held, tend)
        self.state.estimate.theta[0] += 1e-12 * block.reward.sum()
        return played


class Late(Bandit):
    learns = LateSums


def test_a_leak_of_a_compiled_loop_is_found():
    with pytest.raises(AssertionError, match="theta.* not the same"):
        replay.check(lambda: made(Late, first=6)(Simulated(4)), replay.blocks)


def test_a_leak_within_a_compiled_loop_is_found(monkeypatch):
    """Each user's reward moves the estimate, before it is released."""
    exact = glm_model.add_glm

    def leaky(x, y, theta, *rest):
        exact(x, y, theta, *rest)
        theta[0] += 1e-12 * y

    monkeypatch.setattr(glm_model, "add_glm", leaky)
    with pytest.raises(AssertionError, match="estimate.* not the same"):
        replay.check(lambda: made(JointGLM, first=6)(Simulated(4)), replay.blocks)


@pytest.mark.parametrize("kind", leaks.BESIDE)
def test_leaks_beside_the_estimate_are_found(kind):
    with pytest.raises(AssertionError, match="not the same"):
        replay.check(lambda: made(kind, first=6)(Simulated(4)))
