"""Three sets of the KEEL repository: numbers between known bounds, and a class."""

import functools
from dataclasses import dataclass

import numpy as np

from reticent_lab.environments.labelled import Labelled, Rows
from reticent_lab.environments.real.encoding import centred, codes
from reticent_lab.environments.real.fetch import files


@dataclass(frozen=True, kw_only=True)
class letter(Labelled):
    """20 000 printed capitals, 16 measures of their shape from 0 to 15, 26 letters."""

    def rows(self) -> Rows:
        return _rows("letter", 0, 15)


@dataclass(frozen=True, kw_only=True)
class optdigits(Labelled):
    """5620 handwritten digits, 8 x 8 counts of dark points from 0 to 16."""

    def rows(self) -> Rows:
        return _rows("optdigits", 0, 16)


@dataclass(frozen=True, kw_only=True)
class texture(Labelled):
    """5500 patches of photographed surfaces, 40 moments between -1.5 and 1.5, 11 surfaces."""

    def rows(self) -> Rows:
        return _rows("texture", -1.5, 1.5)


@functools.cache
def _rows(name: str, low: float, high: float) -> Rows:
    return encode(files(name)[0], low, high)


def encode(table: bytes, low: float, high: float) -> Rows:
    """Lines of numbers and, last, a class."""
    lines = [line.split(",") for line in table.decode().split()]
    names = [line[-1] for line in lines]
    values = np.array([line[:-1] for line in lines], np.float64)
    return Rows(centred(values, low, high), codes(names, tuple(sorted(set(names)))))
