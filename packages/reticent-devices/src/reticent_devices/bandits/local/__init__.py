"""Bandits under local privacy: servers that see private reports."""
