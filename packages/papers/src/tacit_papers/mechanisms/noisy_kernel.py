"""A sum with its noise, within a compiled loop."""

from tacit.data import Array, Exact, Released
from tacit.kernels.compile import kernel


@kernel
def with_noise(total: Exact, noise: Array, cell: float) -> Released:
    """total + noise, noise drawn by the caller; with cell > 0 both are whole numbers, of cells."""
    if cell > 0.0:
        return Released((total + noise) * cell)
    return Released(total + noise)
