"""Two kinds of numbers, told apart by types: what depends on people's data, and what may be shown.

A contribution is Raw. Only a mechanism (tacit.mechanisms) turns Raw into Released, by adding noise; whatever estimates,
chooses or is shown takes Released. At run time both are plain arrays: mypy keeps them apart, a test over the syntax
tree keeps the conversions in mechanisms/, and the replay tests see what slips through types."""

from typing import Any, NewType

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Raw = NewType("Raw", npt.NDArray[Any])  # depends on people's data: floats, or whole cells of a grid
Released = NewType("Released", Array)  # came out of a mechanism
