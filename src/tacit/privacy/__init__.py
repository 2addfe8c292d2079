"""Budgets, the exact Gaussian curve, composition, the ledger, the certificate and the sources of noise."""
