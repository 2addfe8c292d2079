"""The noise of everything here that draws has the standard deviation that is claimed: the core's tests."""

from papers_tests.draws import DRAWS
from reticent_papers import regression
from tests.mechanisms import test_sigma as core
from tests.mechanisms.test_sigma import families

test_all_together = core.test_all_together
test_each_coordinate_has_the_sigma_that_is_claimed = core.test_each_coordinate_has_the_sigma_that_is_claimed
test_each_family_to_one_percent = core.test_each_family_to_one_percent
test_each_number_of_the_source_is_used_once_and_as_it_is = core.test_each_number_of_the_source_is_used_once_and_as_it_is
test_every_class_that_draws_for_people_is_here = core.test_every_class_that_draws_for_people_is_here
test_no_number_is_like_another = core.test_no_number_is_like_another
FAMILY_CASES = families(DRAWS)
KNOWN_CASES = {name: draw for name, draw in DRAWS.items() if draw.known}
REGRESSORS = [getattr(regression, name) for name in regression.__all__]
