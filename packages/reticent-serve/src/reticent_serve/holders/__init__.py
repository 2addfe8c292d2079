"""Rows, keys and transactions of a bandit on a database: SQLite for one process, PostgreSQL for many."""
