"""Kernels compile on first use, so examples have no deadline."""

from hypothesis import settings

settings.register_profile("tacit", deadline=None)
settings.load_profile("tacit")
