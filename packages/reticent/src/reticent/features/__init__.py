"""From raw fields to vectors of norm at most 1, by public bounds: nothing here is learnt from people."""

from reticent.features.columns import Category, Hashed, Number, Tags
from reticent.features.schema import Schema

__all__ = ["Category", "Hashed", "Number", "Schema", "Tags"]
