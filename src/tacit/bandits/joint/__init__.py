"""Bandits under joint privacy: a trusted curator holds raw data and shows released sums only."""
