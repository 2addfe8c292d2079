"""What a table that is public says about a field: the one way to learn bounds, and its people are not protected."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from tacit.features.columns import Category, Column, Hashed, Number, Tags, is_none

FEW = 20  # different texts that still are a Category
SLOTS = 32  # of more of them


def learnt(name: str, values: list[Any], bins: int) -> Column:
    """The kind of field that a public column is."""
    known = [value for value in values if not is_none(value)]
    if known and all(isinstance(value, int | float | np.integer | np.floating) for value in known):
        low, high = float(min(known)), float(max(known))
        if low < high:
            return Number(low, high, bins)
    elif known and all(isinstance(value, str) for value in known):
        texts = sorted(set(known))
        return Category(*texts) if len(texts) <= FEW else Hashed(SLOTS)
    elif known and all(isinstance(value, Iterable) for value in known):
        return Tags(*sorted({str(tag) for value in known for tag in value}))
    raise ValueError(f"Expected two different numbers, texts or lists of texts in {name}, got others.")
