"""Numbers of a report that devices, shufflers and servers compute alike. The standard library alone."""

import math

FEWEST = 50  # coins of a batch in one coordinate: with fewer, no guarantee can be shown
TAILS = 40  # Laplace noise, of simulations, is cut at so many times its scale


def reach(grid: float, norm: float, laplace: float = 0.0) -> int:
    """The largest number of a report before its coins, from the plan's grid and norm."""
    return math.ceil(grid * norm) + math.ceil(TAILS * laplace)
