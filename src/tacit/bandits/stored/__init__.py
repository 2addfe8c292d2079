"""Bandits whose state is rows of a database: `face.Stored`; after a restore: `recovery.recover`."""
