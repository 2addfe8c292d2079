"""What stands where nothing has been released."""

import numpy as np

from tacit.data import Released


def nothing_released(size: int | tuple[int, ...]) -> Released:
    """Zeros: what stands where nothing has been released."""
    return Released(np.zeros(size))
