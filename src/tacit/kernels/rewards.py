"""A reward from its mean and one number drawn in advance, by kind."""

from tacit.kernels.compile import kernel

BERNOULLI, SIGN, GAUSSIAN_REWARD, LOGGED = 0, 1, 2, 3


@kernel
def reward(kind: int, scale: float, mean: float, noise: float) -> float:
    """BERNOULLI: 1 with probability mean (noise uniform). SIGN: +-scale of that mean. GAUSSIAN: mean + scale * noise.
    LOGGED: the mean is the logged reward."""
    if kind == BERNOULLI:
        return 1.0 if noise < mean else 0.0
    if kind == SIGN:
        return scale if noise < 0.5 * (1.0 + mean / scale) else -scale
    if kind == GAUSSIAN_REWARD:
        return mean + scale * noise
    return mean
