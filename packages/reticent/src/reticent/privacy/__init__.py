"""Budget, ledger, certificate and sources of noise: with the exact Gaussian curve, and composition."""
