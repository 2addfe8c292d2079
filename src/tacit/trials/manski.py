"""What an arm without people of its own would earn if everybody got it: what is certain, and no more (Manski 1990).

Among n people the bandit played the arm for some, whose rewards r in [0, 1] are known, and the others' rewards from
this arm may be anything in [0, 1]. So the average over all n is at least S / n and at most 1 - F / n, with S the sum of
r and F that of 1 - r over those who got it. Both are released (one person moves (S, F) by at most sqrt 2, whatever the
number of arms), so there is no ratio, and the noise of how many got it is in them. With noise of std tau in each,
    [S / n - z tau / n, 1 - F / n + z tau / n],   z the normal quantile of the error for one tail,
holds the average unless one of two normal variables is beyond z: nothing is assumed. The interval is as wide as the
share of people who did not get the arm."""

from tacit import special
from tacit.trials.bounds import Interval


def interval(got: float, missed: float, noise: float, people: int, error: float) -> Interval:
    """got, missed: S and F as they were released. Its value is the middle."""
    half = float(-special.ndtri(error / 2)) * noise / people
    low, high = max(got / people - half, 0.0), min(1 - missed / people + half, 1.0)
    low, high = min(low, 1.0), max(high, 0.0)
    return Interval((low + high) / 2, min(low, high), max(low, high))
