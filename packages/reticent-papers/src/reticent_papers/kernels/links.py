"""Means and slopes of a link, entry by entry."""

from reticent.data import Array
from reticent.kernels.compile import kernel
from reticent.kernels.formulas import link_mean
from reticent.model import links
from reticent.model.links import Code

link_slope = kernel(links.slope)


@kernel
def link_means(link: Code, z: Array, out: Array) -> None:
    """out = mu(z), entry by entry."""
    for i in range(z.size):
        out[i] = link_mean(link, z[i])


@kernel
def link_slopes(link: Code, z: Array, out: Array) -> None:
    """out = mu'(z), entry by entry."""
    for i in range(z.size):
        out[i] = link_slope(link, z[i])
