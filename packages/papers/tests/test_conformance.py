"""What holds for every bandit, on those of this package: the core's tests, run on what this package registers."""

from tests.bandits.test_defaults import test_defaults_work, test_one_seed_fixes_noise_and_policy
from tests.bandits.test_propensity import (
    test_a_propensity_is_exact_or_states_its_error,
    test_stated_propensities_are_the_frequencies,
)
from tests.bandits.test_warm_up import test_nothing_is_left_to_compile_for_any_bandit

__all__ = [
    "test_a_propensity_is_exact_or_states_its_error",
    "test_defaults_work",
    "test_nothing_is_left_to_compile_for_any_bandit",
    "test_one_seed_fixes_noise_and_policy",
    "test_stated_propensities_are_the_frequencies",
]
