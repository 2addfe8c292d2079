"""Secure noise is the default of published bandits, too, and has room."""

import pytest

import tests.privacy.test_secure as core
from tacit import Budget
from tacit_papers import JointGLMRare, ShariffLinUCB


@pytest.mark.parametrize("kind", [ShariffLinUCB, JointGLMRare])
def test_secure_is_the_default_and_has_no_seed(kind):
    core.test_secure_is_the_default_and_has_no_seed(kind)


@pytest.mark.parametrize("kind", [ShariffLinUCB, JointGLMRare])
def test_plans_leave_room_for_their_noise(kind):
    core.test_plans_leave_room_for_their_noise(kind, {})
    if kind is JointGLMRare:
        bandit = kind(dim=2, horizon=50, budget=Budget(1.0, 1e-6), max_rounds_per_person=10**8)
        assert 12 * max(bandit._sigma_o, bandit._sigma_tau) / bandit._rule.cell <= 2.0**52
