"""Algorithms as values: settings in, pure functions out. None holds state, draws noise or keeps anybody's data."""
