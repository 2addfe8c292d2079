"""Worlds made of real data, which is fetched once: `reticent fetch census`."""
