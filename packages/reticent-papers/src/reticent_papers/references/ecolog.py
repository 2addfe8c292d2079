"""ECOLog (Faury et al. 2022): logistic bandits, as good as batch regression at constant cost a round."""

from dataclasses import dataclass, field

import numpy as np

from reticent import checks
from reticent.core.choices import Index
from reticent.data import Array
from reticent.kernels.block import Block
from reticent_lab import plain
from reticent_papers.references.ecolog_kernel import ECOSettings, ECOState, eco_learn, eco_rounds, eco_rows


@dataclass(kw_only=True, eq=False)
class ECOLog(plain.Reference):
    """The arm with the largest <x, theta> + width |x|_{W^-1}: theta makes one exact step a round, in the norm of the
    information W = sum of mu'(<x, theta>) x x' + ridge I.

    Guarantee: none of privacy. Regret of order d sqrt(T mu'*) log T with probability 1 - failure: free of kappa. Time
    and memory do not grow with the number of rounds.
    Reference: Faury, Abeille, Jun & Calauzenes 2022, Algorithms 1 and 2, Theorem 3.
    Departure: no warm-up and a width from the data, as in the authors' implementation; its condition (slopes at the two
    steps within a factor 2) is not tested. Unlike there, both steps start at the estimate before the round, their
    distance is squared, and the index is <x, theta> + width, as in the paper. The step is solved exactly, by bisection.
    Logistic links only.
    """

    failure: float | None = None
    ridge: float = 10.0
    _state: ECOState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        link = plain.check(self, horizon=False)
        checks.one_of(("logistic",), link=link.name)
        checks.positive(ridge=self.ridge)
        assert self.failure is not None
        self._link = link
        numbers = self.radius, self.ridge, self.failure, self.width_scale
        self._settings = ECOSettings(*map(float, numbers))
        super().__post_init__()

    def init(self) -> ECOState:
        matrix = self.ridge * np.eye(self.dim)
        return ECOState(np.zeros(2, np.int64), matrix, np.zeros(1), plain.identity_over(self.dim, self.ridge))

    def _pick(self, features: Array) -> Index:
        return plain.choose_rows(eco_rows, features, features, self._state, self._settings)

    def _learn(self, x: Array, reward: float) -> None:
        eco_learn(x, self._in_units(reward), self._settings, self._state)

    def _play(self, block: Block) -> bool:
        eco_rounds(block, self._state, self._range, self._settings)
        return True
