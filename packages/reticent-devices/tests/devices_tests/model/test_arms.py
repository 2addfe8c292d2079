"""One check of arms for everyone: what a bandit refuses a device refuses, in the same words."""

import numpy as np
import pytest

from reticent import Budget, LinUCB
from reticent_devices import LocalIRLS, ShuffleNewton
from serve_tests.bandits.test_misuse import ARMS, BAD_ARMS

BUDGET = Budget(4.0, 1e-6)
CHOOSERS = {
    "bandit": lambda: LinUCB(dim=2),
    "local device": lambda: LocalIRLS(2, BUDGET).device(),
    "shuffle device": lambda: ShuffleNewton(2, BUDGET).device(),
}
BAD_MASKS = [[True], [0, 1, 1], [False] * 3, "yes", np.ones((1, 3), bool)]


def refusal(choose, *arguments, **options):
    with pytest.raises(ValueError, match="^Expected .*[.]$") as error:
        choose(*arguments, **options)
    return str(error.value)


def test_bandits_and_devices_refuse_the_same_arms_in_the_same_words():
    choosers = [make() for make in CHOOSERS.values()]
    for arms in [*BAD_ARMS, [["0.5", "0.1"]]]:
        assert len({refusal(chooser.choose, arms) for chooser in choosers}) == 1, arms
    for mask in BAD_MASKS:
        assert len({refusal(chooser.choose, ARMS, available=mask) for chooser in choosers}) == 1, mask


@pytest.mark.parametrize("make", CHOOSERS.values(), ids=CHOOSERS)
def test_what_is_offered_is_chosen_from(make):
    chooser = make()
    assert chooser.choose(dict(zip("abc", ARMS, strict=True)), available=[False, True, False]).name == "b"
    assert chooser.choose(ARMS.astype(np.float32)).index in range(3) and chooser.choose([[1, 0]]).index == 0
