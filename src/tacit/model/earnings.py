"""What one user adds for the average reward (algorithms.earnings). A plain function, which kernels compile."""

from tacit.data import Array, Exact

NOTHING, AVERAGE = 0, 1  # what a choice counts for: also AVERAGE + 1 + a for the average and arm a


def add_earnings(tail: Array, y: float, part: float, low: float, high: float, out: Exact) -> None:
    """out += part (1, q) for the average, and part (u, u q) in the place of the arm; tail: what is kept of the choice,
    what it counts for and u; y counts as the nearest number of [low, high], and q is its place there, from -1 to 1."""
    kind, u = int(tail[0]), min(max(tail[1], 0.0), 1.0)
    if kind == NOTHING:
        return
    q = (2.0 * min(max(y, low), high) - low - high) / (high - low)
    out[0] += part
    out[1] += part * q
    if kind > AVERAGE:
        place = 2 * (kind - AVERAGE)
        out[place] += part * u
        out[place + 1] += part * u * q
