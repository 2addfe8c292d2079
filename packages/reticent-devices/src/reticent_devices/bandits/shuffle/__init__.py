"""Bandits under shuffle privacy: servers that see the shuffled sums of a batch."""
