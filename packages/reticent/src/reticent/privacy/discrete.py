"""The discrete Gaussian in many dimensions, as private as the continuous one up to a loss that is computed here.

The discrete Gaussian of parameter s on the integers gives k the probability rho(k) / sum rho, rho(k) = exp(-k^2 / (2
s^2)). A mechanism releases n + Z, n a vector of integers that may depend on earlier releases, Z independent draws.

Bound. Fix a width r < s, let s1^2 = s^2 - r^2, and compare with the mechanism that adds *continuous* noise of std s1
and then rounds at random: each coordinate x to the integer k with probability proportional to rho_r(k - x). That
rounding is post-processing, so the Gaussian curve at mu1 = mu s / s1, mu = |shift| / s, holds for the other mechanism,
also where shifts depend on earlier releases (Smith & Thakurta 2022, arXiv:2210.17520). By
Poisson summation the rounding's
normaliser is sum_k rho_r(k - x) = r sqrt(2 pi) (1 + h(x)), |h(x)| <= eta(r) = 2 sum_{k >= 1} exp(-2 pi^2 r^2 k^2), and
two Gaussians convolve to one, so it gives an integer vector y, coordinate by coordinate, the probability
    rho_s(y - n) / (s sqrt(2 pi)) times a factor in [1 / (1 + eta(r)), 1 / (1 - eta(r))],
while the discrete Gaussian gives it rho_s(y - n) / (s sqrt(2 pi)) / (1 + eta(s)). So the two are within the factors
    discrete <= e^up other,        up = N ln(1 + eta(r)),
    other <= e^down discrete,      down = N (ln(1 + eta(s)) - ln(1 - eta(r)))
pointwise, for N numbers released in all, and for every event and shift
    delta_discrete(epsilon) <= e^up delta_Gauss(epsilon - up - down, mu1).
With r = 3 eta is below 1e-76: the factors are 1 in any run, and what remains is mu1 / mu - 1 = r^2 / (2 s^2), which is
nothing for the s of many thousands that are used here.

Reference: the comparison is the convolution lemma of lattice cryptography (Peikert 2010, Theorem 3.1); the discrete
Gaussian for privacy and its sampler: Canonne, Kamath & Steinke 2020, arXiv:2004.00010.
"""

import math

WIDTH = 3.0  # r, in cells of the grid


def eta(r: float) -> float:
    """2 sum_{k >= 1} exp(-2 pi^2 r^2 k^2), by two terms and a geometric bound on the rest."""
    first = math.exp(-2 * (math.pi * r) ** 2)
    return 2 * (first + first**4 / (1 - first**5))


def mu(continuous: float, cells: float, *, width: float = WIDTH) -> float:
    """mu1: what the discrete Gaussian of parameter `cells` is compared with where the continuous one has mu."""
    if cells <= width:
        raise ValueError(f"Expected noise of more than {width:g} cells of its grid, got {cells:g}.")
    return continuous / math.sqrt(1 - (width / cells) ** 2)


def factors(cells: float, numbers: int, *, width: float = WIDTH) -> tuple[float, float]:
    """(up, down) for `numbers` released integers in all."""
    up = numbers * math.log1p(eta(width))
    return up, numbers * (math.log1p(eta(cells)) - math.log1p(-eta(width)))
