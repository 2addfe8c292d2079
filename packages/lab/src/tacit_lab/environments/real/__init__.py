"""Worlds made of real data, which is fetched once: `tacit fetch census`."""
