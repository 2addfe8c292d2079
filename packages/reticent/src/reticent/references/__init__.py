"""Non-private bandits, to compare with."""
