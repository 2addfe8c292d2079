"""Pictures of clothes: Fashion-MNIST (Xiao, Rasul & Vollgraf 2017, arXiv:1708.07747)."""

import functools
import gzip
from dataclasses import dataclass

import numpy as np

from reticent_lab.environments.labelled import Labelled, Rows
from reticent_lab.environments.real.encoding import centred
from reticent_lab.environments.real.fetch import files

HEADERS = 16, 8  # bytes before the pictures, and before the labels
SIDE, POOL = 28, 4


@dataclass(frozen=True, kw_only=True)
class fashion(Labelled):
    """60 000 pictures of 10 kinds: 7 x 7 averages of 4 x 4 points, and a constant."""

    def rows(self) -> Rows:
        return _rows()


@functools.cache
def _rows() -> Rows:
    return encode(*files("fashion"))


def encode(pictures: bytes, labels: bytes) -> Rows:
    points = np.frombuffer(gzip.decompress(pictures), np.uint8, offset=HEADERS[0])
    small = SIDE // POOL
    pooled = points.reshape(-1, small, POOL, small, POOL).mean(axis=(2, 4)).reshape(-1, small**2)
    classes = np.frombuffer(gzip.decompress(labels), np.uint8, offset=HEADERS[1]).astype(np.int64)
    return Rows(centred(pooled, 0, 255), classes)
