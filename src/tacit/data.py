"""Two kinds of numbers, told apart by types: what depends on people's data, and what may be shown.

A contribution is Raw. Only a mechanism (tacit.mechanisms) turns Raw into Released, by adding noise; whatever estimates,
chooses or is shown takes Released. A device turns its Raw contribution into Sent, the only thing that leaves it; in the
shuffle model by way of Coded, which is private only as a sum over a batch. At run time all of these are plain arrays
or bytes: mypy keeps them apart, a test over the syntax tree keeps the conversions in mechanisms/, and the replay tests
see what slips through types."""

from typing import Any, NewType

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Booleans = npt.NDArray[np.bool_]
Raw = NewType("Raw", npt.NDArray[Any])  # depends on people's data: floats, or whole cells of a grid
Released = NewType("Released", Array)  # came out of a mechanism
Coded = NewType("Coded", Integers)  # a contribution as whole numbers with coins, or a sum of those: for the shuffler
Sent = NewType("Sent", bytes)  # a report that may leave its device: randomised, or for the shuffler
