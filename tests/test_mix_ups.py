"""One thing given for another: the error names what was expected and what came."""

import numpy as np
import pytest

import tacit
from tacit import Budget, Embedded, JointGLM, JointLinUCB, LocalIRLS, Secure, ShuffleLinUCB, ShuffleNewton, checks
from tacit.aggregators.shuffle import calibration
from tacit.client.local import Client
from tacit.client.shuffle import Client as ShuffleClient
from tacit.privacy import gaussian
from tacit.regression import ReweightedLinear

BUDGET = Budget(epsilon=1.0, delta=1e-6)
PURE = Budget(epsilon=1.0, delta=0.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: JointGLM(dim=3, budget=1.0), "to be a Budget, .* got float"),
        (lambda: LocalIRLS(dim=3, budget=(1.0, 0.1)), "to be a Budget, .* got tuple"),
        (lambda: ReweightedLinear(budget=1.0), "to be a Budget, .* got float"),
        (lambda: JointLinUCB(dim=3, budget=BUDGET, horizon=9, source=3), r"Secure\(\) or Simulated.*, got int"),
        (lambda: LocalIRLS(dim=3, budget=BUDGET, source=Secure()), "source to be None .* got Secure"),
        (lambda: JointGLM(dim=3, budget=BUDGET, policy=3), "NumPy Generator, got int"),
        (lambda: JointGLM(dim=3, budget=BUDGET, rewards=1), "pair low < high of finite numbers, got 1"),
        (lambda: Embedded(JointGLM(dim=3, budget=BUDGET)), "server of the shuffle or local model, got JointGLM"),
        (lambda: Client(LocalIRLS(dim=3, budget=BUDGET).billboard()).randomize(0, 1.0), "choose returned, got int"),
        (lambda: LocalIRLS(dim=3, budget=BUDGET).observe(1.0), "the bytes of a report, got float"),
        (lambda: LocalIRLS(dim=3, budget=BUDGET, public_arms=True).observe(1.0), "bytes of a report, got float"),
        (lambda: Client(ShuffleNewton(dim=3, budget=BUDGET).billboard()), "billboard of the local model"),
        (lambda: ShuffleClient(LocalIRLS(dim=3, budget=BUDGET).billboard()), "billboard of the shuffle model"),
    ],
)
def test_a_mix_up_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_server_says_who_chooses():
    with pytest.raises(AttributeError, match=r"Embedded\(server\).choose"):
        LocalIRLS(dim=3, budget=BUDGET).choose(np.eye(3))
    assert not hasattr(LocalIRLS(dim=3, budget=BUDGET), "nothing_like_this")


def test_names_that_are_nearly_right_are_guessed():
    with pytest.raises(AttributeError, match="Did you mean JointGLM"):
        tacit.JointGML  # noqa: B018
    with pytest.raises(ValueError, match=r"Expected a fruit named apple, pear, got 'aple'. Did you mean apple\?"):
        checks.name("a fruit", "aple", ["apple", "pear"])


def test_pure_epsilon_is_for_mechanisms_that_have_it():
    for make in (
        lambda: gaussian.mu(PURE),
        lambda: JointGLM(dim=3, budget=PURE),
        lambda: ShuffleNewton(dim=3, budget=PURE),
        lambda: ShuffleLinUCB(dim=3, budget=PURE, horizon=1000),
        lambda: LocalIRLS(dim=3, budget=PURE, randomizer="gaussian"),
    ):
        with pytest.raises(ValueError, match="Expected delta above 0"):
            make()
    plan = calibration.calibrate(BUDGET, users=1000, size=5, sensitivity=2.0, norm=1.0)
    assert calibration.epsilon(plan, 1e-6) <= 1.0 < calibration.epsilon(plan, 0.0) == np.inf
    certificate = LocalIRLS(dim=3, budget=PURE).privacy
    assert certificate.epsilon <= 1.0 and certificate.delta == 0.0
    with pytest.raises(ValueError, match=r"Expected delta in \[0, 1\)"):
        Budget(epsilon=1.0, delta=1.0)


@pytest.mark.parametrize("reward", [True, np.True_])
def test_a_click_may_be_a_boolean(reward):
    one, other = (JointGLM(dim=2, budget=Budget(np.inf, 0.1), policy=np.random.default_rng(0)) for _ in range(2))
    one.observe(one.choose(np.eye(2)), reward)
    other.observe(other.choose(np.eye(2)), 1.0)
    for bandit in (one, other):
        for _ in range(30):
            bandit.observe(bandit.choose(np.eye(2)), 0.5)
    assert (one.theta == other.theta).all()
