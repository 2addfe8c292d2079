"""The published timing is convicted by what later users see, and the strict one is not."""

import importlib.util
from pathlib import Path

spec = importlib.util.spec_from_file_location("leak", Path(__file__).parents[3] / "examples" / "leak.py")
leak = importlib.util.module_from_spec(spec)
spec.loader.exec_module(leak)


def test_the_attack_convicts_published_timing_and_acquits_strict():
    """150 runs of each world at 99.9 % confidence: published is noticed in about two thirds of world A and never in
    world B, so epsilon >= 2 follows where 1 is claimed (a false conviction of a private bandit: < 1e-3 a run)."""
    a, b, epsilon = leak.attack("published", 150)
    assert epsilon > 1.5 and a > 60 and b <= 2
    assert leak.attack("strict", 150)[2] <= 1.0
