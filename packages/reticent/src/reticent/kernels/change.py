"""Noticing a change from released sums alone: people answer less than the estimate foretold, and what was released
before that is left out from then on. Post-processing: it costs no privacy, and next to nothing where nothing changes.
"""

import math
from typing import NamedTuple

import numpy as np

from reticent.data import Array, Released
from reticent.kernels.compile import kernel
from reticent.kernels.glm import Posterior
from reticent.kernels.linalg import copy, smat, square_norm
from reticent.kernels.rounds import Schedule, boundary_by

# Chosen by regret on tuning seeds, with and without change (docs/measurements/change.md); none of them touches privacy.
SURE = 5.0  # standard deviations of what may be chance, from which on a change is believed in
MISSING = 0.15  # rewards a person that may be missing for another reason
UNSURE = 2.0  # standard deviations of the estimate, by which it may have foretold too much
LAST, WELL, FORGOTTEN = 0, 1, 2  # rows of Watched.sums
STEP, ENTRIES, SHORT, SINCE, TOTAL, PEOPLE, VARIANCE = range(7)  # of Watched.doubt


class Watched(NamedTuple):
    """A Posterior, and what it takes to notice a change; of size 0 where nobody looks for one. PUBLIC: functions of
    what was released. Arrays, changed in place."""

    theta: Array
    centre: Array
    axes: Array
    precision: Array
    spread: Array
    inverse: Array
    sums: Array  # (3, size): released at last, when all was last well, and before all that counts; each fades
    doubt: Array  # (7,): the last release that was looked at, and its entries; what is short since all was well, and of
    # how many people; what is short since what counts began, and of how many; the variance of the noise in what is left
    # out
    rest: Released  # (size,): what was released less what is left out


@kernel
def plain(watched: Watched) -> Posterior:
    """Its posterior: views, so that what changes there changes here."""
    return Posterior(watched.theta, watched.centre, watched.axes, watched.precision, watched.spread, watched.inverse)


@kernel
def notice(
    released: Released,
    step: int,
    schedule: Schedule,
    discount: float,
    scale: float,
    unit: float,
    std: float,
    watched: Watched,
) -> float:
    """watched.rest <- the part of released = (scale svec(A), b / unit) that counts. Returns the std of its noise.
    Nothing else changes if that release was looked at before.

    The people of the last step added v = (scale svec(w x x'), b x) with b - w <x, theta> = u (r - mu), r the reward and
    mu what the estimate of that step foretold (model.glm.line). So the step's own sums, S_t - discount S_(t-1), tell
    how much less than foretold they answered along e = theta / |theta|:
        q = -e' (b_step - A_step theta) / unit, less UNSURE e' A_step e sqrt(e' inverse e) / unit, by which theta may be
        wrong along e, and (MISSING + usual) n, of its n people; usual: q / n since what counts began, if that is more
        than 0: where the model does not fit, people always answer less than foretold.
    The sum of these, never below 0 (Page's CUSUM), is chance up to SURE standard deviations:
        2 std^2 (1 + |theta|^2 / (scale unit)^2) + people / 4,
    the noise in two releases, seen along e, and rewards of 0 or 1. Beyond that people have changed, and what was
    released when the sum was last 0 is left out from now on, as faded as it is in S_t. The noise in the difference of
    two releases has at most the sum of their variances: coefficients of the decoder are positive, so that the two
    correlate."""
    sums, doubt, rest = watched.sums, watched.doubt, watched.rest
    if sums.size == 0:
        return std
    if doubt[STEP] != step:
        doubt[STEP] = step
        for i in range(released.size):
            for row in range(3):
                sums[row, i] *= discount
        doubt[VARIANCE] *= discount * discount
        if step > 0:
            before = int(doubt[ENTRIES])
            people = boundary_by(schedule, before) - before
            doubt[ENTRIES] = before + people
            length = math.sqrt(np.sum(watched.theta**2))
            short = _short(released - sums[LAST], scale, unit, length, watched) if length > 0.0 else 0.0
            usual = max(0.0, doubt[TOTAL] / doubt[PEOPLE]) if doubt[PEOPLE] > 0.0 else 0.0
            doubt[TOTAL] += short
            doubt[PEOPLE] += people
            doubt[SHORT] = max(0.0, doubt[SHORT] + short - (MISSING + usual) * people)
            doubt[SINCE] += people
            chance = 2.0 * std * std * (1.0 + (length / (scale * unit)) ** 2) + doubt[SINCE] / 4.0
            if doubt[SHORT] > SURE * math.sqrt(chance):
                copy(sums[WELL], sums[FORGOTTEN])
                doubt[VARIANCE] = std * std
                doubt[SHORT] = doubt[TOTAL] = doubt[PEOPLE] = 0.0
        if doubt[SHORT] == 0.0:
            doubt[SINCE] = 0.0
            copy(released, sums[WELL])
        copy(released, sums[LAST])
    for i in range(released.size):
        rest[i] = released[i] - sums[FORGOTTEN, i]
    return math.sqrt(std * std + doubt[VARIANCE])


@kernel
def _short(own: Array, scale: float, unit: float, length: float, watched: Watched) -> float:
    """q of `notice`, but for what a number of people may lack: of a step's own sums."""
    d = watched.theta.size
    packed = d * (d + 1) // 2
    curvature = np.empty((d, d))
    smat(own[:packed] / scale, curvature)
    along = watched.theta / length
    bent = square_norm(along, curvature)
    missing = length * bent - unit * np.sum(along * own[packed:])
    wrong = max(bent, 0.0) * math.sqrt(max(square_norm(along, watched.inverse), 0.0))
    return float((missing - UNSURE * wrong) / unit)
