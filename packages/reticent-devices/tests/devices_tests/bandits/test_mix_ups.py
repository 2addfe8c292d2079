"""One thing given for another: the error names what was expected and what came."""

import pickle

import numpy as np
import pytest

import reticent
from core_tests.made import joint
from reticent import (
    Bandit,
    Budget,
    Experiment,
    Holdout,
    JointGLM,
    LinUCB,
    Reward,
    Secure,
    Spec,
    checks,
    environments,
    simulate,
)
from reticent.errors import WrongBatch
from reticent.mechanisms.opening import opened
from reticent.privacy import gaussian
from reticent_devices import Embedded, LocalIRLS, ShuffleNewton, Shuffler
from reticent_devices.bandits.server import named
from reticent_devices.mechanisms.shuffle import calibration
from reticent_devices.roles.local import LocalClient
from reticent_devices.roles.shuffle import ShuffleClient as ShuffleClient

BUDGET = Budget(epsilon=1.0, delta=1e-6)
PURE = Budget(epsilon=1.0, delta=0.0)
LOCAL = LocalIRLS(3, BUDGET)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: joint(features=3, budget=1.0), "to be a Budget, .* got float"),
        (lambda: LocalIRLS(3, (1.0, 0.1)), "to be a Budget, .* got tuple"),
        (lambda: joint(features=3, budget=BUDGET, horizon=9, source=3), r"Secure\(\) or Simulated.*, got int"),
        (lambda: LocalIRLS(3, BUDGET, "probit"), "reward= with reward's own settings, got 'probit'"),
        (lambda: LocalIRLS(3, BUDGET, Reward(window=9)), "reward without window for LocalIRLS, where it has no effect"),
        (lambda: ShuffleNewton(3, BUDGET, Reward(default=0.0)), "a reward without default for ShuffleNewton"),
        (lambda: ShuffleNewton(3, BUDGET, Reward(base_rate=0.1)), "a reward without base_rate for ShuffleNewton"),
        (lambda: ShuffleNewton(0.3, BUDGET), "Expected features to be a Schema .* got float"),
        (lambda: LocalIRLS(3, BUDGET, source=Secure()), "source to be None .* got Secure"),
        (lambda: joint(features=3, budget=BUDGET, source=Secure), r"Secure\(\) or Simulated.*, got the class Secure"),
        (lambda: joint(features=3, budget=BUDGET, tuning=1), "a Tuning of 6 numbers, got int"),
        (lambda: Bandit(BUDGET), r"an algorithm, e.g. JointGLM\(...\), got Budget"),
        (lambda: JointGLM(3, BUDGET, "probit"), "reward= with reward's own settings, got 'probit'"),
        (lambda: JointGLM(3, BUDGET, warm_start=(1.0, 2.0)), "warm_start= with warm_start's own settings"),
        (lambda: Experiment(BUDGET, Holdout(action=0)), "an algorithm with sums .JointGLM., got Budget"),
        (lambda: Experiment(joint(features=3, budget=BUDGET).algorithm, 0.1), "to be Holdout.*, got float"),
        (lambda: Spec("joint-glm"), "the class of a bandit, .* got 'joint-glm'"),
        (lambda: simulate(JointGLM, environments.ball(), horizon=9, runs=1, seed=0), "a sequence of Specs"),
        (lambda: simulate([Spec(LinUCB)], "ball", horizon=9, runs=1, seed=0), "environments.ball"),
        (lambda: Shuffler(ShuffleNewton(3, BUDGET).billboard(), budget=1.0), "to be a Budget, .* got float"),
        (lambda: LocalClient(LOCAL.billboard(), epsilon="4"), "None or a number above 0, got str"),
        (lambda: joint(features=3, budget=BUDGET, policy=3), "NumPy Generator, got int"),
        (lambda: joint(features=3, budget=BUDGET, range=1), "pair low < high of finite numbers, got 1"),
        (lambda: Embedded(joint(features=3, budget=BUDGET)), "server of the shuffle or local model, got Bandit"),
        (lambda: LocalClient(LOCAL.billboard()).randomize(0, 1.0), "choose returned, got int"),
        (lambda: LOCAL.observe(1.0), "the bytes of a report, got float"),
        (lambda: LocalIRLS(3, BUDGET, public_arms=True).observe(1.0), "bytes of a report, got float"),
        (lambda: LocalClient(ShuffleNewton(3, BUDGET).billboard()), "billboard of the local model"),
        (lambda: ShuffleClient(LOCAL.billboard()), "billboard of the shuffle model"),
    ],
)
def test_a_mix_up_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_server_says_who_chooses():
    with pytest.raises(AttributeError, match=r"Embedded\(server\).choose"):
        LOCAL.choose(np.eye(3))
    assert not hasattr(LOCAL, "nothing_like_this")


def test_names_that_are_nearly_right_are_guessed():
    with pytest.raises(AttributeError, match="Did you mean JointGLM"):
        reticent.JointGML  # noqa: B018
    with pytest.raises(ValueError, match=r"Expected a fruit, got 'Aple'. Did you mean apple\?"):
        checks.name("a fruit", "Aple", ["apple", "pear"])
    with pytest.raises(ValueError, match="Expected a fruit, got 'stone'. There are apple, pear."):
        checks.name("a fruit", "stone", ["apple", "pear"])


def test_pure_epsilon_is_for_mechanisms_that_have_it():
    for make in (
        lambda: gaussian.mu(PURE),
        lambda: joint(features=3, budget=PURE),
        lambda: ShuffleNewton(3, PURE),
        lambda: LocalIRLS(3, PURE, randomizer="gaussian"),
    ):
        with pytest.raises(ValueError, match="Expected delta above 0"):
            make()
    plan = calibration.calibrate(BUDGET, users=1000, size=5, sensitivity=2.0, norm=1.0)
    assert calibration.epsilon(plan, 1e-6) <= 1.0 < calibration.epsilon(plan, 0.0) == np.inf
    certificate = LocalIRLS(3, PURE).privacy
    assert certificate.epsilon <= 1.0 and certificate.delta == 0.0
    with pytest.raises(ValueError, match=r"Expected delta in \[0, 1\)"):
        Budget(epsilon=1.0, delta=1.0)


@pytest.mark.parametrize("reward", [True, np.True_])
def test_a_click_may_be_a_boolean(reward):
    one, other = (joint(features=2, budget=Budget(np.inf, 0.1), policy=np.random.default_rng(0)) for _ in range(2))
    one.observe(one.choose(np.eye(2)), reward)
    other.observe(other.choose(np.eye(2)), 1.0)
    for bandit in (one, other):
        for _ in range(30):
            bandit.observe(bandit.choose(np.eye(2)), 0.5)
    assert (one.theta == other.theta).all()


def test_arms_scaled_to_one_in_single_precision_are_taken_and_cut():
    arms = np.random.default_rng(0).standard_normal((200, 10, 3)).astype(np.float32)
    arms /= np.linalg.norm(arms, axis=-1, keepdims=True)
    assert (np.linalg.norm(arms.astype(float), axis=-1) > 1 + 1e-9).any()
    bandit = joint(features=3, budget=BUDGET)
    assert not bandit.choose_many(arms).refused
    assert np.linalg.norm(opened(bandit.memory.tickets).features, axis=1).max() <= 1 + 1e-9
    LocalClient(LOCAL.billboard()).choose(arms[0])
    for long in (arms[0] * 1.00001, arms[0] * np.nan):
        with pytest.raises(ValueError, match="Expected"):
            bandit.choose(long)


def test_a_local_server_reads_no_report_that_was_made_for_another():
    for options in ({"budget": Budget(8.0, 0.0)}, {"link": "probit"}, {"range": (-1.0, 1.0)}):
        other = named(LocalIRLS, **{"features": 3, "budget": BUDGET} | options)
        client = LocalClient(other.billboard())
        report = client.randomize(client.choose(np.eye(3)), 1.0)
        with pytest.raises(WrongBatch, match="settings and budget"):
            LOCAL.observe(report)
        other.observe(report)
        assert other.users == 1


@pytest.mark.parametrize("client", [LocalClient, ShuffleClient])
def test_a_device_may_keep_its_choice_over_a_restart(client):
    made = client((LocalIRLS if client is LocalClient else ShuffleNewton)(3, BUDGET).billboard())
    choice = made.choose(np.eye(3))
    kept, restored = pickle.loads(pickle.dumps((made, choice)))
    assert restored.index == choice.index and restored.propensity > 0
    again = pickle.loads(pickle.dumps((kept, restored, kept.randomize(restored, 1.0))))
    assert again[0].randomize(again[1], 1.0) == again[2]  # the same bytes
