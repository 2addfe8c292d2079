"""Online LinUCB under local privacy: a confidence set from an online learner's predictions."""

from dataclasses import dataclass

from tacit import checks
from tacit.bandits.local.online import LocalPairs
from tacit.bandits.local.online_kernel import Base


@dataclass(kw_only=True, eq=False)
class LocalOnlineUCB(LocalPairs):
    """Each device sends (x, y) with Gaussian noise; an online learner predicts theta_t on the loss
    (<x, theta> - y)^2 - sigma^2 |theta|^2, whose expectation theta* minimises; optimism over the ellipsoid of
    V = I + sum x x' around V^-1 sum <theta_t, x> x.

    Guarantee: each report is (epsilon, delta)-private by itself, for replacing one user (calibration="exact").
    Reference: "Improved rate for Locally Differentially Private Linear Bandits" (anonymous, under review), Algorithms 1
    and 5 to 8; Maler: Wang, Lu & Zhang 2020.
    Departure: the gradient is taken at theta in the loss (the paper writes theta_t there); the confidence width has
    hidden constants in the paper, and V contains t sigma^2 I, so that the bonus is nearly the same for all arms of one
    norm: width_scale times the lemmas' expression with all constants 1, and 0 by default.

    eigenvalue: lambda_min of E[x x']; at or below threshold (default T^(-1/4)) devices add N(0, threshold) to x.
    learner: "maler" or "ogd" (projected gradient descent with steps 1 / (mu t + G sqrt t / 2 D)).
    """

    eigenvalue: float = 0.1
    threshold: float | None = None

    def __post_init__(self) -> None:
        checks.non_negative(eigenvalue=self.eigenvalue)
        if self.threshold is None:
            self.threshold = 0.0 if self.eigenvalue > 0 else (self.horizon or 10_000) ** -0.25
        checks.non_negative(threshold=self.threshold)
        super().__post_init__()

    def _bases(self) -> tuple[Base, ...]:
        assert self.threshold is not None
        return (self._base(eigenvalue=self.eigenvalue, threshold=self.threshold),)
