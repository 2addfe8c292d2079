"""Secure noise is the default of published bandits, too, and has room."""

import numpy as np
import pytest

from reticent import Budget, Secure
from reticent.errors import NotSecure
from reticent_papers import JointGLMRare, ShariffLinUCB

ARMS = np.eye(2)


@pytest.mark.parametrize("kind", [ShariffLinUCB, JointGLMRare])
def test_secure_is_the_default(kind):
    bandit = kind(dim=2, horizon=100, budget=Budget(1.0, 1e-6))
    assert isinstance(bandit.source, Secure)
    assert bandit.privacy.private and not bandit.privacy.caveats
    assert "people's data" in str(bandit.privacy) and "grid" in str(bandit.privacy)
    assert "2 rounds: epsilon" in str(bandit.privacy)
    for _ in range(40):
        bandit.observe(bandit.choose(ARMS), 1.0)
    assert 0 < bandit.privacy.spent <= 1 + 1e-9


@pytest.mark.parametrize("kind", [ShariffLinUCB, JointGLMRare])
def test_plans_leave_room_for_their_noise(kind):
    """Tiny budgets: larger cells, accounted for; and a refusal where even those do not do."""
    plan = {"dim": 2, "horizon": 50}
    for budget, rounds in ((Budget(0.01, 1e-9), 10**6), (Budget(1.0, 1e-6), 10**8), (Budget(1e-8, 1e-12), None)):
        bandit = kind(budget=budget, max_rounds_per_person=rounds, **plan)
        grid = bandit.mechanism
        assert 12 * grid.cells <= 2.0**61
        assert bandit.privacy.epsilon == pytest.approx(budget.epsilon, rel=1e-9)
        assert grid.cell * np.sqrt(grid.size) <= bandit.contribution.sensitivity / 16
        if kind is JointGLMRare:
            assert 12 * max(bandit._sigma_o, bandit._sigma_tau) / bandit._rule.cell <= 2.0**52
        for person in range(12):
            bandit.observe(bandit.choose(ARMS, person=person if rounds else None), 1.0)
    with pytest.raises(NotSecure, match="room in 64 bits"):
        kind(budget=Budget(1e-8, 1e-12), max_rounds_per_person=10**9, **plan)
