"""The contribution of one user to a generalised linear model: one step of iteratively reweighted least squares at a
public estimate, with weights that saturate, so that it is bounded whatever comes in.

The formulas are plain functions, which devices call and kernels compile (kernels.formulas); loops over features are for
kernels, devices have them in numpy."""

import math
from dataclasses import dataclass

from reticent.data import Array, Exact
from reticent.model.links import IDENTITY, TABLE, Code, Link, kind, mean, slope, softness
from reticent.model.vectors import TINY, PairContribution, add_pair, norm, quadratic, shortened

# How much the curvature's noise, seen through theta*, matters beside the moment's: chosen by regret on tuning seeds
# of which no record was kept.
# It is little, because the ridge grows with the noise.
CURVATURE_SHARE = 0.09


def linearize(x: Array, r: float, theta: Array, inverse: Array, link: Code, blend: float) -> tuple[float, float]:
    """(weight, response) of one user with reward r in units of the link: A = weight x x', b = response x, at the public
    estimate theta with covariance `inverse`."""
    v, k = predict(x, theta, inverse, link)
    return line(norm(x), v, k, r, link, blend)


def line(length: float, v: float, k: float, r: float, link: Code, blend: float) -> tuple[float, float]:
    """(weight, response) of x with |x| = length and predictor v = k z (see `softened`); (0, 0) if x is 0, or so near
    that its norm cannot be computed.

    The mean over what is known of theta* is mu(v) to first order. Near v it is replaced by the line c + w t through
    (v, mu(v)), whose slope w lies between the tangent's and that of the chord from (0, 1/2), nearer to the tangent the
    surer the reward is, and u = 1 / (max(|c|, |1 - c|) |x|):
        w = (1 - s) mu'(v) + s (mu(v) - 1/2) / v,   s = blend 4 mu(v) (1 - mu(v)),   c = mu(v) - w v,
        weight = k u w,   response = u (r - c).
    With chords alone rewards that were expected would count as much as those that surprise.
    A link of the user's own has the tangent, whatever the blend: nothing is known of its chords.
    identity: weight = 1 / |x|, response = r / |x|."""
    if length < TINY:
        return 0.0, 0.0
    if kind(link) == IDENTITY:
        return 1.0 / length, r / length
    _, steep, c = tangent(v, link, blend)
    u = 1.0 / (max(abs(c), abs(1.0 - c)) * length)
    return k * u * steep, u * (r - c)


def tangent(v: float, link: Code, blend: float) -> tuple[float, float, float]:
    """(mu(v), w, c) of the line c + w t of `line`. Near v = 0 a chord's slope may round to more than mu'(0), which is
    the steepest there is: it is cut there."""
    expected, steep = mean(link, v), slope(link, v)
    if blend > 0.0 and abs(v) > 1e-6 and kind(link) != TABLE:
        share = blend * 4.0 * expected * (1.0 - expected)
        steep = min((1.0 - share) * steep + share * (expected - 0.5) / v, slope(link, 0.0))
    return expected, steep, expected - steep * v


def predict(x: Array, theta: Array, inverse: Array, link: Code) -> tuple[float, float]:
    """`softened` of z = <x, theta> and s = x' inverse x."""
    z = 0.0
    for i in range(x.size):
        z += x[i] * theta[i]
    return softened(z, quadratic(x, inverse), link)


def softened(z: float, s: float, link: Code) -> tuple[float, float]:
    """(k z, k) with k = 1 / sqrt(1 + softness s): a predictor z of variance s counts less."""
    k = 1.0 / math.sqrt(1.0 + softness(link) * max(s, 0.0))
    return k * z, k


def in_units(y: float, link: Code, low: float, high: float) -> float:
    """A reward, clipped to [low, high], in units of the link: a share of that range, or of the largest |reward| for the
    identity."""
    bounded = min(max(y, low), high)
    if kind(link) == IDENTITY:
        return bounded / max(abs(low), abs(high))
    return (bounded - low) / (high - low)


def unit_reward(y: float, low: float, high: float, link: Code) -> float:
    """A reward in [low, high] as the link's mean has it: a share of that range, or y itself for the identity."""
    return y if kind(link) == IDENTITY else (y - low) / (high - low)


def in_centred_units(y: float, link: Code, low: float, high: float) -> float:
    """The same, but for the identity from -1 to 1 over that range."""
    if kind(link) == IDENTITY:
        return (2.0 * min(max(y, low), high) - low - high) / (high - low)
    return in_units(y, link, low, high)


def add_glm(
    x: Array,
    y: float,
    theta: Array,
    inverse: Array,
    link: Code,
    blend: float,
    scale: float,
    low: float,
    high: float,
    out: Exact,
) -> None:
    """out += (scale svec(A), b), with |x| cut to 1 and y to [low, high]."""
    bounded = shortened(x)
    weight, response = linearize(bounded, in_units(y, link, low, high), theta, inverse, link, blend)
    add_pair(bounded, scale * weight, response, out)


@dataclass(frozen=True, kw_only=True)
class GLMContribution(PairContribution):
    """v = (scale svec(weight x x'), response x): one step of iteratively reweighted least squares at a public iterate,
    with weights that saturate (`linearize` has the formulas). Each user is used once.

    Bounds. With X = x / |x|, v = (scale w svec(X X'), b X) where, for rewards r in [0, 1], s the slope of the line that
    replaces the link, c its value at 0 and m = max(|c|, |1 - c|):
        0 <= w = k s |x| / m <= W = 2 max mu'   (s <= max mu'; c and 1 - c add up to 1, so m >= 1/2; k, |x| <= 1), and
        |b| = |r - c| / m <= 1   (largest at r = 0 or 1), whatever c is.
    s <= max mu' is clear for the tangent, of any increasing link: max mu' is mu'(0) for logistic and probit, and
    declared for a link of the user's own. A chord from (0, 1/2) to (v, mu(v)) has the mean of mu' over [0, v] as its
    slope, which is at most max mu' too, and so is any blend of the two; `line` has no chords for a link of the user's
    own, whose mu(0) may be anything. In floating point s <= max mu' and m >= 1/2 are enforced or exact, and the
    products that follow exceed W by less than a factor 1 + 2^-49.
    W = 2 max mu' is attained where c = 1/2 at the steepest point, as for logistic, probit and every link with mu(-z) =
    1 - mu(z); nothing that is declared of a link of the user's own (`steepest`, means in [0, 1]) excludes it. One
    without that symmetry has w <= max_v mu'(v) / m(v) only, which is .79 W for complementary log-log and .40 W for a
    logistic link moved by 3. D with that in the place of W is attained: at the default scale it is .95 and .92 of the D
    that is paid (radius 3; .98 and .97 for radius 1), and .79 and .40 where a scale is so large that curvature alone
    counts (test_given_link.py).
    identity: w = |x| <= W = 1 and |b| = |y| / Y <= 1.
    Sensitivity (replace one user by another, who has a ~), w and b free in their ranges and unit X, X~ at |cos| = c,
    q = (scale W)^2:
        |v - v~|^2 <= s^2 + s~^2 - 2 s s~ c^2 + 2 + 2 c,   s = scale w and s~ = scale w~ in [0, scale W],
    convex in each of s and s~, so largest at their ends: (W, 0) with c = 1 gives 4 + q, (W, W) with c = 1 / (2 q) gives
    2 + 2 q + 1 / (2 q) (q >= 1/2), which is more if q > 1 + 1 / sqrt 2; (0, 0) gives 4:
        D^2 = 4 + q  for q <= 1 + 1 / sqrt 2,  else  2 + 2 q + 1 / (2 q).
    It is never less than twice the largest |v|^2 = 1 + q, so late rewards are covered.

    Blocks (PairContribution). Two users in the same part are as above with z; for two users in different parts v and v~
    are at right angles, and
        |v - v~|^2 = |v|^2 + |v~|^2 <= 2 (1 + q) <= D^2:   2 + 2 q <= 4 + q for q <= 1 + 1 / sqrt 2 < 2, and else
        2 + 2 q <= 2 + 2 q + 1 / (2 q)."""

    link: Link
    blend: float = 0.0  # between tangent and chord, in [0, 1]

    @property
    def sensitivity(self) -> float:
        return glm_sensitivity(self.scale * largest_weight(self.link))

    @property
    def norm(self) -> float:
        return glm_norm(self.scale * largest_weight(self.link))

    def add(self, x: Array, y: float, theta: Array, inverse: Array, out: Exact) -> None:
        """out += v, linearised at a public estimate: x, theta, inverse and out of one block."""
        add_glm(x, y, theta, inverse, self.link.code, self.blend, self.scale, self.low, self.high, out)


def glm_sensitivity(weight: float) -> float:
    """D for curvatures of norm at most `weight` beside moments of norm at most 1: see GLMContribution."""
    q = weight * weight
    return math.sqrt(4 + q if q <= 1 + 1 / math.sqrt(2) else 2 + 2 * q + 1 / (2 * q))


def glm_norm(weight: float) -> float:
    """The largest |v| for the same."""
    return math.sqrt(1 + weight * weight)


def largest_weight(link: Link) -> float:
    """W: twice the steepest slope, which is mu'(0) for logistic and probit; 1 for identity."""
    return 2 * link.steepest if link.bounded else 1.0


def balanced_curvature(link: Link, radius: float, *, share: float = CURVATURE_SHARE) -> float:
    """The scale of the curvature within a contribution: (4 share)^(1/4) sqrt(radius / W) minimises
    D^2 (1 + share radius^2 / scale^2) for D^2 = 4 + (scale W)^2."""
    return math.sqrt(2.0 * math.sqrt(share) * radius / largest_weight(link))
