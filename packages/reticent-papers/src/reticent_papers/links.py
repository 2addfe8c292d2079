"""Which links papers are about."""

from reticent.model.links import BUILT_IN

BOUNDED = tuple(name for name, link in BUILT_IN.items() if link.bounded)
