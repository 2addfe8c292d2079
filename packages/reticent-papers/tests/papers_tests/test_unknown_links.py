"""A link that a formula does not know is an error everywhere: no formula falls back on another link's."""

import numpy as np
import pytest

from reticent.kernels.formulas import link_mean
from reticent.model import links
from reticent.model.links import IDENTITY, LOGISTIC, PROBIT
from reticent_papers.kernels.links import link_slope
from reticent_papers.kernels.mle import loss
from reticent_papers.regression.contribution import link_means, link_slopes

OWN = links.given(
    lambda z: 0.5 + np.arctan(z) / np.pi, lambda z: 1 / (np.pi * (1 + z * z)), steepest=1 / np.pi, reach=4.0
)


@pytest.mark.parametrize("number", [-1, 3, 7])
def test_kernels_refuse_a_number_that_is_no_link(number):
    for formula in (link_mean, link_slope, lambda link, z: loss(link, z, 1.0, True)):
        with pytest.raises(ValueError, match="Expected the number of a link"):
            formula(number, 0.3)


def test_a_link_that_was_given_is_what_it_says():
    z = np.linspace(-3, 3, 7)
    np.testing.assert_allclose(link_means(OWN, z), 0.5 + np.arctan(z) / np.pi, rtol=1e-6)
    np.testing.assert_allclose(link_slopes(OWN, z), 1 / (np.pi * (1 + z * z)), rtol=1e-4)


def test_known_links_agree_between_kernels_and_vectors():
    z = np.linspace(-3, 3, 7)
    for link, number in ((links.identity, IDENTITY), (links.logistic, LOGISTIC), (links.probit, PROBIT)):
        np.testing.assert_allclose(link_means(link, z), [link_mean(number, v) for v in z], rtol=1e-14)
        np.testing.assert_allclose(link_slopes(link, z), [link_slope(number, v) for v in z], rtol=1e-14)
        np.testing.assert_allclose(link_slopes(link, z), link.slope(z), rtol=1e-14)
        for v in z:
            assert loss(number, v, 0.3, False) == pytest.approx(links.integral(number, v) - 0.3 * v, rel=1e-12)
