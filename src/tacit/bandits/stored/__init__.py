"""Bandits whose state is rows of a database: see `face.Stored`."""

from tacit.bandits.stored.asks import StoredChoice
from tacit.bandits.stored.face import Stored
from tacit.bandits.stored.recovery import recover

__all__ = ["Stored", "StoredChoice", "recover"]
